#include "lanes/reference/reference_lane.h"

#include <new>
#include <system_error>

#include "base/error.h"
#include "lanes/reference/reference_model.h"
#include "lanes/reference/weights.h"
#include "lanes/spec_check.h"
#include "ops/attention.h"

namespace qualia::lanes {
namespace {

static_assert(kPagePositions <= ops::kAttentionPagePositionsMax);

// Every precision is served by exact arithmetic; KV is f32 only.
Result<void> check_options(const LoadOptions& options) {
  if (options.kv != KvType::automatic && options.kv != KvType::f32) {
    return unsupported("KV type {} is not available on the reference lane (f32 is).",
                       kv_name(options.kv));
  }
  return {};
}

class ReferenceLane final : public Lane {
 public:
  std::string_view name() const override { return "reference"; }

  std::vector<CircuitInfo> circuits(size_t thread_count) const override {
    const std::string_view plural = thread_count == 1 ? "" : "s";
    return {{"reference", fmt::format("CPU, {} thread{}", thread_count, plural), "scalar"}};
  }

  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec,
                                          const ops::WeightMap& weights,
                                          const LoadOptions& options) const override {
    QUALIA_CHECK(options.thread_count >= 1);
    QUALIA_TRY(check_options(options));
    QUALIA_TRY(check_spec(spec, "reference", ops::kAttentionHeadDimMax));
    try {
      QUALIA_ASSIGN(reference::Weights loaded,
                    reference::load_weights(spec, weights, options.progress));
      return std::make_unique<reference::ReferenceModel>(
          spec, std::move(loaded), circuits(options.thread_count).front(), options.thread_count);
    } catch (const std::bad_alloc&) {
      return out_of_memory("The norms of {} layers do not fit in memory.", spec.layers.size());
    } catch (const std::system_error& error) {
      return io("{} threads can't be started: {}.", options.thread_count, error.what());
    }
  }
};

}  // namespace

std::unique_ptr<Lane> make_reference_lane() { return std::make_unique<ReferenceLane>(); }

}  // namespace qualia::lanes
