#include "lanes/wgpu/wgpu_model.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>

#include "base/error.h"
#include "lanes/step_queue.h"
#include "lanes/wgpu/bandwidth.h"
#include "ops/top_k.h"

namespace qualia::lanes::wgpu {
namespace {

// A step that takes longer than this is a device that hangs.
constexpr std::chrono::seconds kStepLimit{120};
constexpr uint64_t kResultBytes = 16;

float logit_of_key(uint32_t key) {
  return std::bit_cast<float>((key & 0x80000000U) != 0 ? key & 0x7FFFFFFFU : ~key);
}

}  // namespace

WgpuModel::WgpuModel(std::unique_ptr<Device> device, ops::DecoderSpec spec, Weights weights,
                     const WgpuModelOptions& options)
    : device_(std::move(device)),
      spec_(std::move(spec)),
      weights_(std::move(weights)),
      pages_(*device_, spec_, options.kv),
      toggles_(options.toggles),
      precision_(options.precision) {
  resident_.circuit = options.circuit;
  resident_.precision = options.precision;
  resident_.kv = options.kv;
  resident_.weights_bytes = weights_.held_bytes;
  resident_.step_weight_bytes = weights_.step_bytes;
  resident_.kv_page_bytes = pages_.page_bytes();
  // A software device is as slow as the cpu: a cancelled prompt must end soon there too.
  resident_.batch_rows = device_->facts().kind == DeviceClass::cpu ? 64 : kRowsMax;
}

Result<std::unique_ptr<WgpuModel>> WgpuModel::create(std::unique_ptr<Device> device,
                                                     ops::DecoderSpec spec, Weights weights,
                                                     const WgpuModelOptions& options) {
  std::unique_ptr<WgpuModel> model(
      new WgpuModel(std::move(device), std::move(spec), std::move(weights), options));
  QUALIA_ASSIGN(model->layers_,
                Layers::create(*model->device_, model->spec_, model->weights_, model->pages_,
                               model->precision_, model->toggles_, model->recorder_));
  return model;
}

WgpuModel::~WgpuModel() {
  std::ranges::move(failed_, std::back_inserter(pending_));
  // Callbacks write into the pending steps: let them come first.
  for (Pending& pending : pending_) {
    const auto is_done = [&] {
      return pending.map->is_done && (!pending.timer || pending.timer->is_ready());
    };
    while (!is_done() && !device_->errors().is_lost() && !device_->poll()) {
    }
    if (pending.map->is_done && !pending.map->has_failed) {
      device_->api().BufferUnmap(pending.readback.get());
    }
  }
}

Result<void> WgpuModel::reserve_pages(uint32_t page_count) {
  QUALIA_TRY(device_->errors().take());
  QUALIA_ASSIGN(const bool are_new, pages_.reserve(page_count));
  if (are_new) QUALIA_TRY(layers_->bind_pages(pages_));
  return {};
}

Result<void> WgpuModel::copy_page(PageId from, PageId to) {
  QUALIA_CHECK(from < pages_.page_count() && to < pages_.page_count());
  QUALIA_TRY(device_->errors().take());
  if (from == to) return {};
  return pages_.copy(from, to);
}

// The readback buffer: results of all outputs, then what each asked for besides.
Result<void> WgpuModel::plan_outputs(const Batch& batch, Pending& pending) const {
  for (const Row& row : batch.rows) {
    if (row.output != RowOutputKind::none) pending.outputs.push_back({row.output});
  }
  if (pending.outputs.size() > kOutputsMax) {
    return unsupported("A step has {} outputs (at most {} on the wgpu lane).",
                       pending.outputs.size(), kOutputsMax);
  }
  uint64_t end = pending.outputs.size() * kResultBytes;
  const uint32_t k = std::min(batch.top_k, spec_.vocabulary_size);
  for (OutputPlace& output : pending.outputs) {
    const bool is_top = output.kind == RowOutputKind::top_k;
    if (is_top) output.top_count = k;
    if (output.kind == RowOutputKind::logits || (is_top && k > kTopKMax)) {
      output.logits_at = end;
      end += uint64_t{spec_.vocabulary_size} * sizeof(float);
    } else if (is_top) {
      output.top_at = end;
      end += uint64_t{k} * 8;
    }
  }
  pending.readback_bytes = std::max<uint64_t>(end, kResultBytes);
  return {};
}

Result<Buffer> WgpuModel::take_readback(uint64_t size_bytes, uint64_t& capacity) {
  const auto found = std::find_if(free_readbacks_.begin(), free_readbacks_.end(),
                                  [&](const auto& entry) { return entry.first >= size_bytes; });
  if (found != free_readbacks_.end()) {
    capacity = found->first;
    Buffer buffer = std::move(found->second);
    free_readbacks_.erase(found);
    return buffer;
  }
  capacity = std::bit_ceil(std::max<uint64_t>(size_bytes, 256));
  return device_->create_buffer(capacity, BufferUse::readback);
}

// Outputs of one submission, a block of rows at a time; each block's logits are copied out before
// the next one's take their place.
Result<void> WgpuModel::add_outputs(const Batch& batch, const StepInput& input,
                                    uint32_t first_result, const Pending& pending,
                                    std::vector<Command>& commands) {
  const uint64_t row_bytes = uint64_t{spec_.vocabulary_size} * sizeof(float);
  Workspace& work = layers_->work();
  const auto count = static_cast<uint32_t>(input.output_rows.size());
  for (uint32_t first = 0; first < count; first += kOutputRowsMax) {
    const uint32_t rows = std::min(count - first, kOutputRowsMax);
    QUALIA_TRY(layers_->add_outputs(input.shape, first, rows, first_result + first, 1 - parity_,
                                    commands));
    const auto places = std::span(pending.outputs).subspan(first_result + first, rows);
    const bool wants_top = std::any_of(places.begin(), places.end(), [](const OutputPlace& place) {
      return place.kind == RowOutputKind::top_k && place.logits_at == 0;
    });
    const uint32_t k = std::min(batch.top_k, spec_.vocabulary_size);
    uint32_t best = 0;
    if (wants_top && k > 0) {
      QUALIA_ASSIGN(best, layers_->add_top_k(rows, k, commands));
    }
    for (uint32_t i = 0; i < rows; ++i) {
      const OutputPlace& place = places[i];
      if (place.logits_at != 0) {
        commands.emplace_back(Copy{work.logits.get(), i * row_bytes, pending.readback.get(),
                                   place.logits_at, row_bytes});
      } else if (place.kind == RowOutputKind::top_k && k > 0) {
        commands.emplace_back(Copy{work.best[best].get(), uint64_t{i} * k * 8,
                                   pending.readback.get(), place.top_at, uint64_t{k} * 8});
      }
    }
  }
  return {};
}

Result<std::unique_ptr<StepTimer>> WgpuModel::take_timer(size_t command_count) {
  // A stamp before and after each dispatch, where passes are cut two a dispatch.
  const auto stamps = static_cast<uint32_t>(2 * command_count + 2);
  for (auto& timer : free_timers_) {
    if (timer->capacity() < stamps) continue;
    std::unique_ptr<StepTimer> taken = std::move(timer);
    std::erase(free_timers_, nullptr);
    taken->clear();
    return taken;
  }
  return StepTimer::create(*device_, stamps);
}

void WgpuModel::encode(const std::vector<Command>& commands, WGPUCommandEncoder encoder,
                       StepTimer* timer) {
  const Api& api = device_->api();
  const bool inside = device_->facts().features.timestamps_inside_passes;
  ComputePass pass;
  uint32_t pass_op = 0;
  uint32_t pass_begin = 0;
  const auto end_pass = [&] {
    if (!pass) return;
    api.ComputePassEncoderEnd(pass.get());
    pass.reset();
  };
  for (const Command& command : commands) {
    if (const Copy* const copy = std::get_if<Copy>(&command)) {
      end_pass();
      api.CommandEncoderCopyBufferToBuffer(encoder, copy->from, copy->from_offset, copy->to,
                                           copy->to_offset, copy->size_bytes);
      continue;
    }
    const Dispatch& dispatch = std::get<Dispatch>(command);
    // Without stamps inside passes, each op of a profiled step is a pass of its own.
    if (timer && !inside && pass && pass_op != dispatch.op) end_pass();
    const bool is_new = !pass;
    if (is_new) {
      WGPUComputePassDescriptor descriptor = WGPU_COMPUTE_PASS_DESCRIPTOR_INIT;
      if (timer && !inside) {
        pass_begin = timer->stamp_count();
        descriptor.timestampWrites = timer->pass_writes();
      }
      pass = ComputePass(api, api.CommandEncoderBeginComputePass(encoder, &descriptor));
      pass_op = dispatch.op;
      ++calls_.passes;
      if (timer && inside) timer->stamp(pass.get());
      if (timer && !inside) timer->add_call(dispatch.op, dispatch.cost, pass_begin, pass_begin + 1);
    }
    api.ComputePassEncoderSetPipeline(pass.get(), dispatch.kernel->pipeline.get());
    api.ComputePassEncoderSetBindGroup(pass.get(), 0, dispatch.group, 0, nullptr);
    api.ComputePassEncoderSetImmediates(pass.get(), 0, dispatch.immediates.data(),
                                        sizeof(dispatch.immediates));
    api.ComputePassEncoderDispatchWorkgroups(pass.get(), dispatch.x, dispatch.y, dispatch.z);
    ++calls_.dispatches;
    if (timer && !inside && !is_new) timer->add_cost(dispatch.cost);
    if (timer && inside) {
      const uint32_t begin = timer->stamp_count() - 1;
      timer->stamp(pass.get());
      timer->add_call(dispatch.op, dispatch.cost, begin, begin + 1);
    }
  }
  end_pass();
}

Result<void> WgpuModel::run(const std::vector<Command>& commands, StepTimer* timer) {
  const Api& api = device_->api();
  const CommandEncoder encoder(api, api.DeviceCreateCommandEncoder(device_->raw(), nullptr));
  encode(commands, encoder.get(), timer);
  if (timer) timer->resolve(encoder.get());
  const CommandBuffer finished(api, api.CommandEncoderFinish(encoder.get(), nullptr));
  // Submitting what an error spoilt would end the process.
  QUALIA_TRY(device_->errors().take());
  const WGPUCommandBuffer raw = finished.get();
  api.QueueSubmit(device_->queue(), 1, &raw);
  ++calls_.submits;
  return device_->errors().take();
}

Result<StepTicket> WgpuModel::submit(const Batch& batch) {
  QUALIA_TRY(device_->errors().take());
  check_batch(batch, pages_.page_count(), spec_.vocabulary_size, last_output_count_);
  Pending pending;
  QUALIA_TRY(plan_outputs(batch, pending));
  QUALIA_ASSIGN(pending.readback, take_readback(pending.readback_bytes, pending.readback_capacity));
  const bool is_profiled = profiling_.is_on && step_count_++ % profiling_.every == 0;
  uint32_t first_result = 0;
  for (size_t begin = 0; begin < batch.rows.size(); begin += kRowsMax) {
    const size_t end = std::min<size_t>(batch.rows.size(), begin + kRowsMax);
    QUALIA_ASSIGN(const StepInput input, make_step_input(batch, begin, end, spec_));
    device_->write(layers_->work().step, 0, input.words.data(),
                   input.words.size() * sizeof(uint32_t));
    ++calls_.writes;
    std::vector<Command> commands;
    QUALIA_TRY(layers_->add_layers(input.shape, parity_, commands));
    QUALIA_TRY(add_outputs(batch, input, first_result, pending, commands));
    first_result += static_cast<uint32_t>(input.output_rows.size());
    const bool is_last = end == batch.rows.size();
    if (is_last) {
      // A step without outputs copies something too: its readback tells when it is done.
      commands.emplace_back(Copy{layers_->work().results[1 - parity_].get(), 0,
                                 pending.readback.get(), 0,
                                 std::max(1U, first_result) * kResultBytes});
    }
    std::unique_ptr<StepTimer> timer;
    if (is_profiled && is_last) {
      QUALIA_ASSIGN(timer, take_timer(commands.size()));
    }
    QUALIA_TRY(run(commands, timer.get()));
    if (timer) pending.timer = std::move(timer);
  }
  pending.map = device_->map(pending.readback, pending.readback_bytes);
  ++calls_.maps;
  if (pending.timer) pending.timer->map();
  parity_ = 1 - parity_;
  last_output_count_ = pending.outputs.size();
  pending.ticket = next_ticket_++;
  pending_.push_back(std::move(pending));
  return pending_.back().ticket;
}

StepOutput WgpuModel::read(const Pending& pending) const {
  const auto* const bytes = static_cast<const std::byte*>(device_->api().BufferGetConstMappedRange(
      pending.readback.get(), 0, static_cast<size_t>(pending.readback_bytes)));
  StepOutput output;
  output.rows.resize(pending.outputs.size());
  for (size_t i = 0; i < pending.outputs.size(); ++i) {
    const OutputPlace& place = pending.outputs[i];
    RowOutput& row = output.rows[i];
    uint32_t result[4];
    std::memcpy(result, bytes + i * kResultBytes, sizeof(result));
    row.argmax = static_cast<TokenId>(result[0]);
    row.is_finite = result[1] != 0;
    const auto* const logits = reinterpret_cast<const float*>(bytes + place.logits_at);
    if (place.kind == RowOutputKind::logits) {
      row.logits.assign(logits, logits + spec_.vocabulary_size);
    }
    if (place.kind != RowOutputKind::top_k || !row.is_finite) continue;
    row.top.resize(place.top_count);
    std::vector<uint32_t> ids(place.top_count);
    if (place.logits_at != 0) {
      ops::top_k_f32(logits, spec_.vocabulary_size, ids.size(), ids.data());
      for (size_t j = 0; j < ids.size(); ++j) {
        row.top[j] = {static_cast<TokenId>(ids[j]), logits[ids[j]]};
      }
      continue;
    }
    for (size_t j = 0; j < row.top.size(); ++j) {
      uint32_t pair[2];
      std::memcpy(pair, bytes + place.top_at + j * sizeof(pair), sizeof(pair));
      row.top[j] = {static_cast<TokenId>(pair[1]), logit_of_key(pair[0])};
    }
  }
  return output;
}

Result<StepOutput> WgpuModel::collect(StepTicket ticket) {
  QUALIA_CHECK(!pending_.empty() && pending_.front().ticket == ticket);
  const Result<void> waited = device_->wait(*pending_.front().map, kStepLimit);
  Pending pending = std::move(pending_.front());
  pending_.pop_front();
  if (!waited) {
    failed_.push_back(std::move(pending));
    return tl::unexpected<Error>(waited.error());
  }
  StepOutput output = read(pending);
  device_->api().BufferUnmap(pending.readback.get());
  free_readbacks_.emplace_back(pending.readback_capacity, std::move(pending.readback));
  if (pending.timer) {
    // It was mapped right behind the results: a poll later at most.
    while (!pending.timer->is_ready()) {
      device_->poll();
      QUALIA_TRY(device_->errors().take());
    }
    pending.timer->read(recorder_);
    free_timers_.push_back(std::move(pending.timer));
  }
  return output;
}

Result<void> WgpuModel::set_profiling(const ProfileOptions& options) {
  GpuProfiler probe(*device_, options.is_on);
  if (options.is_on && !probe.enabled()) {
    return unsupported("'{}' can't be profiled: {}.", resident_.circuit.label(),
                       probe.unavailable_reason());
  }
  profiling_ = options;
  profiling_.every = std::max(1U, options.every);
  step_count_ = 0;
  recorder_.reset();
  return {};
}

Result<double> WgpuModel::measure_read_bandwidth() {
  return wgpu::measure_read_bandwidth(*device_);
}

Result<ProfileReading> WgpuModel::profile() {
  ProfileReading reading;
  reading.totals = recorder_.snapshot();
  reading.granularity =
      device_->facts().features.timestamps_inside_passes ? "each dispatch" : "passes of one op";
  return reading;
}

}  // namespace qualia::lanes::wgpu
