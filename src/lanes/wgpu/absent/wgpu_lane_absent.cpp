// The wgpu lane of a build without wgpu-native: no circuits, and the reason.
#include "base/error.h"
#include "lanes/wgpu/wgpu_lane.h"

namespace qualia::lanes {
namespace {

constexpr const char* kReason = "This build has no wgpu lane: wgpu-native was not there.";

class AbsentLane final : public Lane {
 public:
  std::string_view name() const override { return "wgpu"; }
  std::vector<CircuitInfo> circuits(size_t) const override { return {}; }
  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec&, const ops::WeightMap&,
                                          const LoadOptions&) const override {
    return unsupported("{}", kReason);
  }
};

}  // namespace

std::unique_ptr<Lane> make_wgpu_lane(const WgpuLaneOptions&) {
  return std::make_unique<AbsentLane>();
}

}  // namespace qualia::lanes
