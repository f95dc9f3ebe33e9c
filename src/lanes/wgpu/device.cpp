#include "lanes/wgpu/device.h"

#include <thread>

#include "base/error.h"
#include "base/log.h"

namespace qualia::lanes::wgpu {
namespace {

void on_error(WGPUDevice const*, WGPUErrorType type, WGPUStringView message, void* log, void*) {
  static_cast<ErrorLog*>(log)->add(type, text(message));
}

void on_lost(WGPUDevice const*, WGPUDeviceLostReason reason, WGPUStringView message, void* log,
             void*) {
  // Its own release is no loss.
  if (reason == WGPUDeviceLostReason_Destroyed) return;
  static_cast<ErrorLog*>(log)->lose(text(message));
}

void on_device(WGPURequestDeviceStatus status, WGPUDevice device, WGPUStringView message,
               void* result, void* reason) {
  if (status == WGPURequestDeviceStatus_Success) {
    *static_cast<WGPUDevice*>(result) = device;
  } else {
    *static_cast<std::string*>(reason) = text(message);
  }
}

void on_map(WGPUMapAsyncStatus status, WGPUStringView, void* state, void*) {
  const std::unique_ptr<std::shared_ptr<MapState>> held(
      static_cast<std::shared_ptr<MapState>*>(state));
  MapState* const map = held->get();
  map->has_failed = status != WGPUMapAsyncStatus_Success;
  map->is_done = true;
}

std::vector<WGPUFeatureName> wanted_features(const AdapterFeatures& has) {
  std::vector<WGPUFeatureName> names;
  const auto add = [&](bool is_there, int name) {
    if (is_there) names.push_back(static_cast<WGPUFeatureName>(name));
  };
  add(has.timestamps, WGPUFeatureName_TimestampQuery);
  add(has.timestamps_inside_passes, WGPUNativeFeature_TimestampQueryInsideEncoders);
  add(has.timestamps_inside_passes, WGPUNativeFeature_TimestampQueryInsidePasses);
  add(has.f16, WGPUFeatureName_ShaderF16);
  add(has.subgroups, WGPUNativeFeature_Subgroup);
  add(has.immediates, WGPUNativeFeature_Immediates);
  return names;
}

std::string kernel_key(std::string_view shader, std::span<const ShaderConstant> constants) {
  std::string key(shader);
  for (const ShaderConstant& constant : constants) {
    key += fmt::format(" {}={}", constant.name, constant.value);
  }
  return key;
}

}  // namespace

void ErrorLog::add(WGPUErrorType type, std::string message) {
  const std::lock_guard lock(mutex_);
  if (!has_error_) {
    // wgpu reports some memory that ran out as a validation error.
    is_memory_ =
        type == WGPUErrorType_OutOfMemory || message.find("ot enough memory") != std::string::npos;
    first_ = std::move(message);
  }
  has_error_ = true;
}

void ErrorLog::lose(std::string message) {
  const std::lock_guard lock(mutex_);
  if (!is_lost_) loss_ = std::move(message);
  is_lost_ = true;
}

bool ErrorLog::is_lost() const {
  const std::lock_guard lock(mutex_);
  return is_lost_;
}

Result<void> ErrorLog::take() {
  const std::lock_guard lock(mutex_);
  if (is_lost_) return device_lost("The GPU is lost: {}.", loss_.empty() ? "no reason" : loss_);
  if (!has_error_) return {};
  has_error_ = false;
  if (is_memory_) return out_of_memory("The GPU has no memory left: {}", first_);
  return internal("The GPU refuses a call: {}", first_);
}

Result<std::unique_ptr<Device>> Device::open(std::shared_ptr<const Api> api, AdapterEntry entry) {
  std::unique_ptr<Device> device(new Device(std::move(api)));
  const Api& calls = *device->api_;
  const std::vector<WGPUFeatureName> features = wanted_features(entry.facts.features);
  WGPUDeviceDescriptor descriptor = WGPU_DEVICE_DESCRIPTOR_INIT;
  descriptor.requiredFeatureCount = features.size();
  descriptor.requiredFeatures = features.data();
  descriptor.requiredLimits = &entry.facts.limits;
  descriptor.deviceLostCallbackInfo = {nullptr, WGPUCallbackMode_AllowSpontaneous, on_lost,
                                       device->errors_.get(), nullptr};
  descriptor.uncapturedErrorCallbackInfo = {nullptr, on_error, device->errors_.get(), nullptr};
  WGPUDevice raw = nullptr;
  std::string reason;
  calls.AdapterRequestDevice(
      entry.adapter.get(), &descriptor,
      {nullptr, WGPUCallbackMode_AllowProcessEvents, on_device, &raw, &reason});
  for (int i = 0; i < 1000 && !raw && reason.empty(); ++i) {
    calls.InstanceProcessEvents(entry.instance->get());
  }
  if (!raw) {
    return device_lost("'{}' can't be opened through {}: {}.", entry.facts.name,
                       to_string(entry.facts.backend), reason.empty() ? "no answer" : reason);
  }
  device->facts_ = std::move(entry.facts);
  device->instance_ = std::move(entry.instance);
  device->adapter_ = std::move(entry.adapter);
  device->device_ = DeviceHandle(calls, raw);
  device->queue_ = Queue(calls, calls.DeviceGetQueue(raw));
  if (device->facts_.features.timestamps) {
    device->timestamp_period_ns_ =
        static_cast<double>(calls.QueueGetTimestampPeriod(device->queue()));
  }
  QUALIA_TRY(device->errors_->take());
  return device;
}

Device::~Device() = default;

Result<Buffer> Device::create(uint64_t size_bytes, BufferUse use, Mapping mapping) {
  if (size_bytes > facts_.limits.maxBufferSize) {
    return out_of_memory("A buffer of {} bytes is larger than the GPU allows ({}).", size_bytes,
                         facts_.limits.maxBufferSize);
  }
  WGPUBufferDescriptor descriptor = WGPU_BUFFER_DESCRIPTOR_INIT;
  descriptor.size = (size_bytes + 15) / 16 * 16;
  descriptor.usage = static_cast<WGPUBufferUsage>(use);
  descriptor.mappedAtCreation = mapping == Mapping::at_creation;
  Buffer buffer(*api_, api_->DeviceCreateBuffer(raw(), &descriptor));
  QUALIA_TRY(errors_->take());
  if (!buffer) return out_of_memory("The GPU gives no buffer of {} bytes.", size_bytes);
  return buffer;
}

void Device::write(const Buffer& buffer, uint64_t offset, const void* data, size_t size_bytes) {
  api_->QueueWriteBuffer(queue(), buffer.get(), offset, data, size_bytes);
}

Result<WGPUBindGroupLayout> Device::layout(std::string_view bindings) {
  if (const auto found = layouts_.find(bindings); found != layouts_.end()) {
    return found->second.group.get();
  }
  std::vector<WGPUBindGroupLayoutEntry> entries;
  for (const char kind : bindings) {
    WGPUBindGroupLayoutEntry entry = WGPU_BIND_GROUP_LAYOUT_ENTRY_INIT;
    entry.binding = static_cast<uint32_t>(entries.size());
    entry.visibility = WGPUShaderStage_Compute;
    entry.buffer.type =
        kind == 'w' ? WGPUBufferBindingType_Storage : WGPUBufferBindingType_ReadOnlyStorage;
    entries.push_back(entry);
  }
  WGPUBindGroupLayoutDescriptor group = WGPU_BIND_GROUP_LAYOUT_DESCRIPTOR_INIT;
  group.entryCount = entries.size();
  group.entries = entries.data();
  Layout made;
  made.group = BindGroupLayout(*api_, api_->DeviceCreateBindGroupLayout(raw(), &group));
  QUALIA_TRY(errors_->take());
  const WGPUBindGroupLayout raw_group = made.group.get();
  WGPUPipelineLayoutDescriptor pipeline = WGPU_PIPELINE_LAYOUT_DESCRIPTOR_INIT;
  pipeline.bindGroupLayoutCount = 1;
  pipeline.bindGroupLayouts = &raw_group;
  pipeline.immediateSize = kImmediateWords * sizeof(uint32_t);
  made.pipeline = PipelineLayout(*api_, api_->DeviceCreatePipelineLayout(raw(), &pipeline));
  QUALIA_TRY(errors_->take());
  layouts_.emplace(bindings, std::move(made));
  return raw_group;
}

Result<const Kernel*> Device::kernel(std::string_view shader,
                                     std::span<const ShaderConstant> constants,
                                     std::string_view bindings) {
  const std::string key = kernel_key(shader, constants);
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second.get();
  QUALIA_ASSIGN(const std::string source, shader_variant(shader, constants));
  return compile(key, source, bindings);
}

Result<const Kernel*> Device::compile(const std::string& key, const std::string& source,
                                      std::string_view bindings) {
  if (const auto found = kernels_.find(key); found != kernels_.end()) return found->second.get();
  const auto start = std::chrono::steady_clock::now();
  WGPUShaderSourceWGSL wgsl = WGPU_SHADER_SOURCE_WGSL_INIT;
  wgsl.code = view(source);
  WGPUShaderModuleDescriptor module_descriptor = WGPU_SHADER_MODULE_DESCRIPTOR_INIT;
  module_descriptor.nextInChain = &wgsl.chain;
  // Our shaders have bounded loops, and stay inside their arrays as the parity tests show.
  const ShaderModule module(*api_, api_->DeviceCreateShaderModuleTrusted(
                                       raw(), &module_descriptor, WGPUShaderRuntimeChecks_None));
  if (const auto compiled = errors_->take(); !compiled) {
    log(LogLevel::debug, "Shader '{}':\n{}", key, source);
    return tl::unexpected<Error>(compiled.error());
  }
  auto made = std::make_unique<Kernel>();
  QUALIA_ASSIGN(made->layout, layout(bindings));
  made->bindings = bindings;
  WGPUComputePipelineDescriptor descriptor = WGPU_COMPUTE_PIPELINE_DESCRIPTOR_INIT;
  descriptor.layout = layouts_.find(bindings)->second.pipeline.get();
  descriptor.compute.module = module.get();
  descriptor.compute.entryPoint = view("main");
  descriptor.label = view(key);
  made->pipeline = ComputePipeline(*api_, api_->DeviceCreateComputePipeline(raw(), &descriptor));
  QUALIA_TRY(errors_->take());
  log(LogLevel::debug, "Kernel '{}' is compiled in {:.1f} ms.", key,
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count());
  return kernels_.emplace(key, std::move(made)).first->second.get();
}

Result<BindGroup> Device::bind(const Kernel& kernel, std::span<const Binding> bindings) {
  QUALIA_CHECK(bindings.size() == kernel.bindings.size());
  std::vector<WGPUBindGroupEntry> entries;
  for (const Binding& binding : bindings) {
    WGPUBindGroupEntry entry = WGPU_BIND_GROUP_ENTRY_INIT;
    entry.binding = static_cast<uint32_t>(entries.size());
    entry.buffer = binding.buffer;
    entry.size = WGPU_WHOLE_SIZE;
    entries.push_back(entry);
  }
  WGPUBindGroupDescriptor descriptor = WGPU_BIND_GROUP_DESCRIPTOR_INIT;
  descriptor.layout = kernel.layout;
  descriptor.entryCount = entries.size();
  descriptor.entries = entries.data();
  BindGroup group(*api_, api_->DeviceCreateBindGroup(raw(), &descriptor));
  QUALIA_TRY(errors_->take());
  return group;
}

Result<QuerySet> Device::create_timestamps(uint32_t count) {
  WGPUQuerySetDescriptor descriptor = WGPU_QUERY_SET_DESCRIPTOR_INIT;
  descriptor.type = WGPUQueryType_Timestamp;
  descriptor.count = count;
  QuerySet set(*api_, api_->DeviceCreateQuerySet(raw(), &descriptor));
  QUALIA_TRY(errors_->take());
  if (!set) return out_of_memory("The GPU gives no set of {} timestamps.", count);
  return set;
}

std::shared_ptr<const MapState> Device::map(const Buffer& buffer, uint64_t size_bytes) {
  auto state = std::make_shared<MapState>();
  auto held = std::make_unique<std::shared_ptr<MapState>>(state);
  api_->BufferMapAsync(
      buffer.get(), WGPUMapMode_Read, 0, static_cast<size_t>(size_bytes),
      {nullptr, WGPUCallbackMode_AllowProcessEvents, on_map, held.release(), nullptr});
  return state;
}

bool Device::poll() { return api_->DevicePoll(raw(), 0, nullptr) != 0; }

Result<void> Device::wait(const MapState& state, std::chrono::seconds limit) {
  const auto start = std::chrono::steady_clock::now();
  // Spinning notices a result within a microsecond; a step that takes longer than this is not in a
  // hurry, and a software GPU needs the core.
  constexpr std::chrono::milliseconds kSpin{5};
  while (!state.is_done) {
    poll();
    if (state.is_done) break;
    QUALIA_TRY(errors_->take());
    const auto waited = std::chrono::steady_clock::now() - start;
    if (waited > limit) {
      return device_lost("The GPU has not answered for {} seconds.", limit.count());
    }
    if (waited > kSpin) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (state.has_failed) {
    QUALIA_TRY(errors_->take());
    return device_lost("The GPU gives no result back.");
  }
  return errors_->take();
}

}  // namespace qualia::lanes::wgpu
