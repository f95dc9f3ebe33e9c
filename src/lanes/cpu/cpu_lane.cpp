#include "lanes/cpu/cpu_lane.h"

#include <new>

#include "base/error.h"
#include "lanes/cpu/cpu_model.h"
#include "lanes/cpu/kernel_variants.h"
#include "lanes/cpu/weights.h"
#include "lanes/spec_check.h"

namespace qualia::lanes {
namespace {

using namespace cpu;

class CpuLane final : public Lane {
 public:
  explicit CpuLane(const CpuFeatures& features) : features_(features) {}

  std::string_view name() const override { return "cpu"; }

  std::vector<CircuitInfo> circuits(size_t thread_count) const override {
    const std::string_view plural = thread_count == 1 ? "" : "s";
    return {{"cpu", fmt::format("CPU, {} thread{}", thread_count, plural),
             std::string(isa_name(best_isa(features_)))}};
  }

  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec,
                                          const ops::WeightMap& weights,
                                          const LoadOptions& options) const override {
    QUALIA_CHECK(options.thread_count >= 1);
    QUALIA_TRY(check_spec(spec, "cpu", kHeadDimMax));
    try {
      auto team = std::make_unique<Team>(options.thread_count);
      const Isa isa = best_isa(features_);
      QUALIA_ASSIGN(Weights loaded,
                    load_weights(spec, weights, options.precision, isa, *team, options.progress));
      CpuModelOptions made;
      made.circuit = circuits(team->size()).front();
      made.precision = options.precision;
      made.kv = kv_of(options);
      made.isa = isa;
      made.kernels = usable_kernels(features_).front();
      return std::make_unique<CpuModel>(spec, std::move(loaded), std::move(team), made);
    } catch (const std::bad_alloc&) {
      return out_of_memory("The norms of {} layers do not fit in memory.", spec.layers.size());
    }
  }

 private:
  CpuFeatures features_;
};

}  // namespace

std::unique_ptr<Lane> make_cpu_lane(const cpu::CpuFeatures& features) {
  return std::make_unique<CpuLane>(features);
}

}  // namespace qualia::lanes
