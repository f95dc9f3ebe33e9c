#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "hardware/cpu.h"
#include "hardware/memory.h"

namespace qualia::hardware {
namespace {

class CgroupFolder : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) /
              testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void write(const char* name, const char* text) const { std::ofstream(folder_ / name) << text; }

  std::filesystem::path folder_;
};

// Row U06 of the bug list: siblings of one core must not count twice.
TEST(CpuCount, CountsEachSmtCoreOnce) {
  const auto cpus = count_cpus_of("core:8 pu:2");
  ASSERT_TRUE(cpus.has_value());
  EXPECT_EQ(cpus->logical, 16U);
  EXPECT_EQ(cpus->physical, 8U);
  EXPECT_EQ(default_thread_count(*cpus), 8U);
}

// Row U05: a machine without SMT uses all its cores, not a fraction of them.
TEST(CpuCount, UsesEveryCoreOfAMachineWithoutSmt) {
  const auto cpus = count_cpus_of("core:20 pu:1");
  ASSERT_TRUE(cpus.has_value());
  EXPECT_EQ(default_thread_count(*cpus), 20U);
}

// Row U07: more than 64 logical CPUs.
TEST(CpuCount, CountsBothSocketsOfALargeHost) {
  const auto cpus = count_cpus_of("package:2 core:64 pu:2");
  ASSERT_TRUE(cpus.has_value());
  EXPECT_EQ(cpus->logical, 256U);
  EXPECT_EQ(default_thread_count(*cpus), 128U);
}

TEST(CpuCount, RefusesATopologyThatHwlocCannotRead) {
  EXPECT_EQ(count_cpus_of("core:nonsense").error().code, ErrorCode::invalid_argument);
}

TEST(CpuCount, KeepsThreadsWithinTheQuota) {
  EXPECT_EQ(default_thread_count({.logical = 16, .physical = 8, .performance = 8, .quota = 2.5}),
            2U);
  EXPECT_EQ(default_thread_count({.logical = 16, .physical = 8, .performance = 8, .quota = 0.3}),
            1U);
}

TEST(CpuCount, SeesThisHost) {
  const CpuCount cpus = count_cpus();
  EXPECT_GE(cpus.physical, 1U);
  EXPECT_GE(cpus.logical, cpus.physical);
}

TEST_F(CgroupFolder, ReadsVersionTwoCpuQuota) {
  write("cpu.max", "150000 100000\n");
  EXPECT_EQ(read_cpu_quota(folder_), 1.5);
  write("cpu.max", "max 100000\n");
  EXPECT_EQ(read_cpu_quota(folder_), std::nullopt);
}

TEST_F(CgroupFolder, ReadsVersionOneCpuQuota) {
  write("cpu.cfs_quota_us", "400000\n");
  write("cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(read_cpu_quota(folder_), 4.0);
  write("cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(read_cpu_quota(folder_), std::nullopt);
}

TEST_F(CgroupFolder, CountsReclaimablePageCacheAsFreeMemory) {
  write("memory.max", "1000\n");
  write("memory.current", "700\n");
  write("memory.stat", "anon 100\ninactive_file 200\nactive_file 50\n");
  EXPECT_EQ(read_memory_left(folder_), 1000U - (700U - 250U));
}

TEST_F(CgroupFolder, HasNoMemoryLimitWhereItSaysMax) {
  write("memory.max", "max\n");
  write("memory.current", "700\n");
  EXPECT_EQ(read_memory_left(folder_), std::nullopt);
}

TEST(Memory, SomeIsAvailableHere) {
  const auto bytes = available_memory_bytes();
  ASSERT_TRUE(bytes.has_value());
  EXPECT_GT(*bytes, uint64_t{1} << 20);
}

TEST(Memory, BandwidthIsPositiveAndFinite) {
  ThreadPool pool(2);
  const double bytes_per_second = measure_read_bandwidth(pool);
  EXPECT_GT(bytes_per_second, 1e8);   // slower than a disk: the measurement is broken
  EXPECT_LT(bytes_per_second, 1e13);  // faster than any memory: the loop was optimised away
}

}  // namespace
}  // namespace qualia::hardware
