#include "api/circuit_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "lanes/reference/reference_lane.h"

namespace qualia::api {
namespace {

using testing::HasSubstr;

// Offers two circuits; no test loads a model on them.
class TwoBackends : public lanes::Lane {
 public:
  std::string_view name() const override { return "wgpu"; }
  std::vector<CircuitInfo> circuits(size_t) const override {
    return {{"wgpu", "Card A", "vulkan"}, {"wgpu", "Card A", "gl"}};
  }
  Result<std::unique_ptr<lanes::LaneModel>> load(const ops::DecoderSpec&, const ops::WeightMap&,
                                                 const lanes::LoadOptions&) const override {
    return unsupported("No model is loaded here.");
  }
};

std::vector<std::unique_ptr<lanes::Lane>> two_lanes() {
  std::vector<std::unique_ptr<lanes::Lane>> lanes;
  lanes.push_back(lanes::make_reference_lane());
  lanes.push_back(std::make_unique<TwoBackends>());
  return lanes;
}

TEST(CircuitChoice, TakesTheFirstCircuitWhereNothingIsAskedFor) {
  const auto lanes = two_lanes();
  const auto choice = choose_circuit(lanes, {.thread_count = 3});
  ASSERT_TRUE(choice.has_value()) << choice.error().message;
  EXPECT_EQ(choice->lane, lanes[0].get());
  EXPECT_EQ(choice->path.lane, "reference");
  EXPECT_EQ(choice->path.device, "CPU, 3 threads");
  EXPECT_EQ(choice->path.winning_circuit, "reference / CPU, 3 threads / scalar");
  ASSERT_EQ(choice->path.rationale.size(), 1U);
}

TEST(CircuitChoice, TakesTheLaneAndTheBackendThatAreAskedForAndSaysWhy) {
  const auto lanes = two_lanes();
  const auto by_lane = choose_circuit(lanes, {.lane = "wgpu"});
  ASSERT_TRUE(by_lane.has_value());
  EXPECT_EQ(by_lane->lane, lanes[1].get());
  EXPECT_EQ(by_lane->path.backend, "vulkan");
  EXPECT_THAT(by_lane->path.rationale[0], HasSubstr("'wgpu'"));
  const auto by_backend =
      choose_circuit(lanes, {.backend = "gl", .backend_origin = "QUALIA_WGPU_BACKEND"});
  ASSERT_TRUE(by_backend.has_value());
  EXPECT_EQ(by_backend->path.winning_circuit, "wgpu / Card A / gl");
  EXPECT_THAT(by_backend->path.rationale[0], HasSubstr("QUALIA_WGPU_BACKEND asked for"));
}

TEST(CircuitChoice, RefusesWhatIsNotThereAndListsWhatIs) {
  const auto lanes = two_lanes();
  for (const CircuitWish& wish :
       {CircuitWish{.lane = "cuda"}, CircuitWish{.lane = "WGPU"},
        CircuitWish{.backend = "metal", .backend_origin = "--backend"},
        CircuitWish{.lane = "reference", .backend = "vulkan", .backend_origin = "--backend"}}) {
    const auto choice = choose_circuit(lanes, wish);
    ASSERT_FALSE(choice.has_value()) << wish.lane << wish.backend;
    EXPECT_EQ(choice.error().code, ErrorCode::not_found);
    const std::string& refused = wish.backend.empty() ? wish.lane : wish.backend;
    EXPECT_THAT(choice.error().message, HasSubstr("'" + refused + "'"));
    EXPECT_THAT(choice.error().message,
                HasSubstr("reference / CPU, 1 thread / scalar; wgpu / Card A / vulkan; "
                          "wgpu / Card A / gl"));
  }
}

TEST(CircuitChoice, SaysThatABuildWithoutLanesHasNone) {
  const auto choice = choose_circuit({}, {});
  ASSERT_FALSE(choice.has_value());
  EXPECT_THAT(choice.error().message, HasSubstr("circuits here: none"));
}

}  // namespace
}  // namespace qualia::api
