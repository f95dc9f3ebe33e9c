// The helper program of these tests: hosts the reference lane, and a lane "trouble" whose models do
// what their architecture is called.
#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <thread>

#include "base/error.h"
#include "base/log.h"
#include "lanes/reference/reference_lane.h"
#include "lanes/worker/worker_main.h"

namespace qualia::lanes {
namespace {

constexpr int kSocket = 3;

[[noreturn]] void hang() {
  while (true) pause();
}

class TroubleModel final : public LaneModel {
 public:
  explicit TroubleModel(std::string trouble) : trouble_(std::move(trouble)) {}

  const ResidentReport& resident() const override { return resident_; }
  Result<void> reserve_pages(uint32_t) override {
    if (trouble_ == "refuses pages") return out_of_memory("There are no pages.");
    return {};
  }
  Result<void> copy_page(PageId, PageId) override { return {}; }

  Result<StepTicket> submit(const Batch& batch) override {
    if (trouble_ == "fails once" && steps_++ == 0) return out_of_memory("The first step fails.");
    outputs_ = batch.rows.size();
    return ++ticket_;
  }

  Result<StepOutput> collect(StepTicket) override {
    if (trouble_ == "hangs in a step") hang();
    if (trouble_ == "aborts in a step") {
      std::fputs("first words\nlast words\n\n", stderr);
      std::abort();
    }
    if (trouble_ == "closes its socket") {
      ::close(kSocket);
      hang();
    }
    if (trouble_ == "talks nonsense") {
      const std::string nonsense(64, '\x5A');
      if (::write(kSocket, nonsense.data(), nonsense.size()) < 0) std::abort();
    }
    if (trouble_ == "talks much") {
      for (int i = 0; i < 20'000; ++i) std::fprintf(stderr, "a line of a talkative driver\n");
      std::puts("and one on standard output");
      std::fflush(stdout);
    }
    StepOutput output;
    output.rows.resize(trouble_ == "forgets outputs" ? 0 : outputs_);
    if (trouble_ == "chooses what is not there")
      for (RowOutput& row : output.rows) row.argmax = 1'000'000;
    return output;
  }

 private:
  std::string trouble_;
  ResidentReport resident_;
  StepTicket ticket_ = 0;
  size_t steps_ = 0;
  size_t outputs_ = 0;
};

class TroubleLane final : public Lane {
 public:
  std::string_view name() const override { return "trouble"; }

  // What the process was given: descriptors, and variables.
  std::vector<CircuitInfo> circuits(size_t thread_count) const override {
    std::string open;
    for (int fd = 0; fd < 256; ++fd)
      if (::fcntl(fd, F_GETFD) >= 0) open += std::to_string(fd) + " ";
    const char* const pin = std::getenv("QUALIA_WGPU_BACKEND");
    const char* const mask = std::getenv("QUALIA_CPU_MASK");
    return {{std::to_string(thread_count), open,
             std::string(pin ? pin : "none") + " " + (mask ? mask : "none")}};
  }

  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec, const ops::WeightMap&,
                                          const LoadOptions& options) const override {
    const std::string& trouble = spec.architecture;
    if (trouble == "hangs in load") hang();
    if (trouble == "exits in load") std::_Exit(3);
    if (trouble == "is refused") return unsupported("The trouble lane lacks it.");
    if (trouble == "loads slowly") {
      for (uint64_t i = 1; i <= 60; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(25));
        options.progress(i, 60);
      }
    }
    log(LogLevel::warn, "The trouble lane {}.", trouble);
    return std::make_unique<TroubleModel>(trouble);
  }
};

}  // namespace
}  // namespace qualia::lanes

int main(int argc, char** argv) {
  using namespace qualia;
  if (argc != 2) return 2;
  std::vector<std::unique_ptr<lanes::Lane>> all;
  all.push_back(lanes::make_reference_lane());
  all.push_back(std::make_unique<lanes::TroubleLane>());
  const auto served = lanes::worker_main(std::atoi(argv[1]), all, "test build");
  if (served) return 0;
  log(LogLevel::error, "{}", served.error().message);
  return 1;
}
