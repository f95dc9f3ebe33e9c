#include "lanes/wgpu/wgpu_lane.h"

#include <algorithm>
#include <mutex>
#include <new>
#include <system_error>

#include "base/error.h"
#include "base/log.h"
#include "hardware/memory.h"
#include "lanes/spec_check.h"
#include "lanes/wgpu/weights_loader.h"
#include "lanes/wgpu/wgpu_model.h"

namespace qualia::lanes {
namespace {

using namespace wgpu;

// attend.wgsl keeps a head's share in its workgroup's memory.
constexpr uint32_t kGpuHeadDimMax = 512;

#if defined(_WIN32)
constexpr Backend kBackends[] = {Backend::dx12, Backend::vulkan};
#elif defined(__APPLE__)
constexpr Backend kBackends[] = {Backend::metal};
#else
constexpr Backend kBackends[] = {Backend::vulkan, Backend::gl};
#endif

CircuitInfo circuit_of(const AdapterFacts& facts) {
  return {"wgpu", facts.name, std::string(to_string(facts.backend))};
}

class WgpuLane final : public Lane {
 public:
  explicit WgpuLane(const WgpuLaneOptions& options) : options_(options) {}

  std::string_view name() const override { return "wgpu"; }

  std::vector<CircuitInfo> circuits(size_t) const override {
    const std::lock_guard lock(mutex_);
    if (circuits_) return *circuits_;
    circuits_.emplace();
    if (!api()) return *circuits_;
    for (const Backend backend : kBackends) {
      for (const AdapterEntry& entry : adapters(backend)) {
        circuits_->push_back(circuit_of(entry.facts));
      }
    }
    return *circuits_;
  }

  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec,
                                          const ops::WeightMap& weights,
                                          const LoadOptions& options) const override {
    if (!api()) return tl::unexpected<Error>(api().error());
    QUALIA_TRY(check_spec(spec, "wgpu", kGpuHeadDimMax));
    QUALIA_ASSIGN(AdapterEntry entry, find(options.circuit));
    if (const std::string reason = entry.facts.unusable_reason(); !reason.empty()) {
      return unsupported("'{}' runs no model: {}.", circuit_of(entry.facts).label(), reason);
    }
    QUALIA_TRY(check_room(entry.facts, weights));
    try {
      return load_on(std::move(entry), spec, weights, options);
    } catch (const std::bad_alloc&) {
      return out_of_memory("The norms of {} layers do not fit in memory.", spec.layers.size());
    }
  }

 private:
  // wgpu-native, opened when it is first asked for: most runs need none of it.
  const Result<std::shared_ptr<const Api>>& api() const {
    std::call_once(opened_, [this] {
      api_ = load_api();
      if (!api_) log(LogLevel::info, "No wgpu lane: {}", api_.error().message);
    });
    return api_;
  }

  std::vector<AdapterEntry> adapters(Backend backend) const {
    return list_adapters(**api(), backend, options_.validation ? Checks::validation : Checks::off);
  }

  Result<AdapterEntry> find(const CircuitInfo& wanted) const {
    std::string there;
    for (const Backend backend : kBackends) {
      if (!wanted.backend.empty() && wanted.backend != to_string(backend)) continue;
      for (AdapterEntry& entry : adapters(backend)) {
        if (wanted.device.empty() || wanted.device == entry.facts.name) return std::move(entry);
        there += (there.empty() ? "" : "; ") + circuit_of(entry.facts).label();
      }
    }
    if (there.empty()) return not_found("The wgpu lane sees no GPU.");
    return not_found("'{}' is not there any more (the wgpu lane sees: {}).", wanted.label(), there);
  }

  // A software device takes the host's memory; others tell when it is taken.
  static Result<void> check_room(const AdapterFacts& facts, const ops::WeightMap& weights) {
    if (facts.kind != DeviceClass::cpu) return {};
    const std::optional<uint64_t> available = hardware::available_memory_bytes();
    if (!available || weights.size_bytes() <= *available) return {};
    return out_of_memory("The weights take {} bytes ({} are available).", weights.size_bytes(),
                         *available);
  }

  Result<std::unique_ptr<LaneModel>> load_on(AdapterEntry entry, const ops::DecoderSpec& spec,
                                             const ops::WeightMap& weights,
                                             const LoadOptions& options) const {
    if (options_.no_subgroups) entry.facts.features.subgroups = false;
    WgpuModelOptions made;
    made.circuit = circuit_of(entry.facts);
    made.precision = options.precision;
    made.kv = kv_of(options);
    AdapterFacts tuned_for = entry.facts;
    if (options_.gpu_kernels) tuned_for.kind = DeviceClass::discrete;
    made.toggles = Toggles::for_adapter(tuned_for);
    made.toggles.ffn_fusion = options_.ffn_fusion;
    uint64_t binding_max = entry.facts.limits.maxStorageBufferBindingSize;
    if (options_.binding_bytes_max != 0) {
      binding_max = std::min(binding_max, options_.binding_bytes_max);
    }
    QUALIA_ASSIGN(std::unique_ptr<Device> device, Device::open(*api(), std::move(entry)));
    QUALIA_ASSIGN(Weights loaded, load_weights(*device, spec, weights, options, binding_max));
    return WgpuModel::create(std::move(device), spec, std::move(loaded), made);
  }

  WgpuLaneOptions options_;
  mutable std::once_flag opened_;
  mutable Result<std::shared_ptr<const Api>> api_;
  mutable std::mutex mutex_;
  mutable std::optional<std::vector<CircuitInfo>> circuits_;
};

}  // namespace

std::unique_ptr<Lane> make_wgpu_lane(const WgpuLaneOptions& options) {
  return std::make_unique<WgpuLane>(options);
}

}  // namespace qualia::lanes
