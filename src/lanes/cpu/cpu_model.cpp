#include "lanes/cpu/cpu_model.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "lanes/cpu/step.h"

namespace qualia::lanes::cpu {

uint32_t batch_rows(uint64_t multiply_adds, Isa isa, Precision precision, size_t thread_count) {
  constexpr double kBatchSeconds = 0.25;
  // Fewer rows read the weights too often, more gain nothing.
  constexpr double kRowsMin = 32;
  constexpr double kRowsMax = 512;
  // Half of what one core was seen to do, in order of Isa: integer products, float products.
  constexpr double kInteger[] = {1e9, 30e9, 50e9, 100e9, 120e9, 20e9};
  constexpr double kFloat[] = {1e9, 12e9, 12e9, 20e9, 20e9, 2e9};
  const double* const speeds = precision == Precision::exact ? kFloat : kInteger;
  const double part = precision == Precision::precise ? 0.5 : 1.0;  // two rows of INT8 for one
  const double a_second =
      part * speeds[static_cast<size_t>(isa)] * static_cast<double>(thread_count);
  const double rows = kBatchSeconds * a_second / static_cast<double>(multiply_adds);
  return static_cast<uint32_t>(std::clamp(rows, kRowsMin, kRowsMax));
}

CpuModel::CpuModel(ops::DecoderSpec spec, Weights weights, std::unique_ptr<Team> team,
                   const CpuModelOptions& options)
    : spec_(std::move(spec)),
      weights_(std::move(weights)),
      team_(std::move(team)),
      kernels_(options.kernels),
      pages_(spec_, options.kv),
      work_(spec_, weights_.forms, options.isa, team_->size()) {
  resident_.circuit = options.circuit;
  resident_.precision = options.precision;
  resident_.kv = options.kv;
  resident_.weights_bytes = weights_.held_bytes;
  resident_.step_weight_bytes = weights_.step_bytes;
  resident_.kv_page_bytes = pages_.page_bytes();
  resident_.computes_in_submit = true;
  resident_.batch_rows =
      batch_rows(weights_.step_multiply_adds, options.isa, options.precision, team_->size());
}

Result<void> CpuModel::copy_page(PageId from, PageId to) {
  QUALIA_CHECK(from < pages_.page_count() && to < pages_.page_count());
  if (from != to) pages_.copy(from, to);
  return {};
}

void CpuModel::resolve_tokens(const Batch& batch) {
  work_.output_rows.clear();
  for (uint32_t i = 0; i < batch.rows.size(); ++i) {
    const Row& row = batch.rows[i];
    work_.tokens[i] = steps_.token_of(row);
    if (row.output != RowOutputKind::none) work_.output_rows.push_back(i);
  }
}

void CpuModel::resolve_pages(const Batch& batch) {
  work_.pages.clear();
  work_.first_page.clear();
  for (const SequenceView& sequence : batch.sequences) {
    work_.first_page.push_back(work_.pages.size());
    for (const PageId page : sequence.pages) work_.pages.push_back(pages_.page(page));
  }
}

// Makes room for what each row asked for, so that the threads that fill it allocate nothing.
StepOutput CpuModel::make_output(const Batch& batch) {
  StepOutput output;
  output.rows.resize(work_.output_rows.size());
  for (size_t i = 0; i < output.rows.size(); ++i) {
    const RowOutputKind kind = batch.rows[work_.output_rows[i]].output;
    if (kind == RowOutputKind::logits) output.rows[i].logits.resize(spec_.vocabulary_size);
    if (kind == RowOutputKind::top_k) {
      output.rows[i].top.resize(std::min(batch.top_k, spec_.vocabulary_size));
    }
  }
  return output;
}

Result<StepOutput> CpuModel::run(const Batch& batch) {
  if (batch.rows.empty()) return StepOutput{};
  QUALIA_TRY(work_.fit(batch, output_count(batch.rows)));
  resolve_tokens(batch);
  resolve_pages(batch);
  StepOutput output = make_output(batch);
  Step step{spec_, weights_, *kernels_, pages_, *team_, work_, batch, output};
  const size_t output_parts =
      (work_.output_rows.size() + kOutputRowsAtOnce - 1) / kOutputRowsAtOnce;
  if (clock_.begin_step(stage_count(spec_.layers.size(), output_parts))) step.clock = &clock_;
  team_->run([&step](size_t thread) { run_step(step, thread); });
  if (step.clock != nullptr) {
    clock_.end_step([&](Stage stage, uint32_t index) { return cost_of(step, stage, index); });
  }
  return output;
}

Result<StepTicket> CpuModel::submit(const Batch& batch) {
  steps_.check(batch, pages_.page_count(), spec_.vocabulary_size);
  try {
    QUALIA_ASSIGN(StepOutput output, run(batch));
    return steps_.push(std::move(output));
  } catch (const std::bad_alloc&) {
    return no_room_for_step(batch);
  }
}

Result<StepOutput> CpuModel::collect(StepTicket ticket) { return steps_.take(ticket); }

Result<void> CpuModel::set_profiling(const ProfileOptions& options) {
  clock_.set(options);
  return {};
}

}  // namespace qualia::lanes::cpu
