#include "lanes/cpu/cpu_model.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "hardware/memory.h"
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
  resident_.batch_rows =
      batch_rows(weights_.step_multiply_adds, options.isa, options.precision, team_->size());
}

Result<void> CpuModel::copy_page(PageId from, PageId to) {
  QUALIA_CHECK(from < pages_.page_count() && to < pages_.page_count());
  if (from != to) pages_.copy(from, to);
  return {};
}

void CpuModel::check_batch(const Batch& batch) const {
  for (const Row& row : batch.rows) {
    QUALIA_CHECK(row.sequence < batch.sequences.size());
    const std::span<const PageId> pages = batch.sequences[row.sequence].pages;
    QUALIA_CHECK(row.position / kPagePositions < pages.size());
    if (row.feedback == kNoFeedback) {
      QUALIA_CHECK(row.token >= 0 && static_cast<uint32_t>(row.token) < spec_.vocabulary_size);
    } else {
      QUALIA_CHECK(row.feedback < previous_argmax_.size());
    }
  }
  for (const SequenceView& sequence : batch.sequences) {
    for (const PageId page : sequence.pages) QUALIA_CHECK(page < pages_.page_count());
  }
}

void CpuModel::resolve_tokens(const Batch& batch) {
  work_.output_rows.clear();
  for (uint32_t i = 0; i < batch.rows.size(); ++i) {
    const Row& row = batch.rows[i];
    work_.tokens[i] = row.feedback == kNoFeedback ? row.token : previous_argmax_[row.feedback];
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
  const auto wants_output = [](const Row& row) { return row.output != RowOutputKind::none; };
  const auto output_count = std::count_if(batch.rows.begin(), batch.rows.end(), wants_output);
  QUALIA_TRY(work_.fit(batch, static_cast<size_t>(output_count)));
  resolve_tokens(batch);
  resolve_pages(batch);
  StepOutput output = make_output(batch);
  Step step{spec_, weights_, *kernels_, pages_, *team_, work_, batch, output};
  team_->run([&step](size_t thread) { run_step(step, thread); });
  return output;
}

Result<StepTicket> CpuModel::submit(const Batch& batch) {
  check_batch(batch);
  try {
    QUALIA_ASSIGN(StepOutput output, run(batch));
    std::vector<TokenId> argmax(output.rows.size());
    for (size_t i = 0; i < argmax.size(); ++i) argmax[i] = output.rows[i].argmax;
    done_.emplace_back(next_ticket_, std::move(output));
    previous_argmax_ = std::move(argmax);
  } catch (const std::bad_alloc&) {
    return out_of_memory("A step of {} rows does not fit in memory ({} bytes are available).",
                         batch.rows.size(), hardware::available_memory_bytes().value_or(0));
  }
  return next_ticket_++;
}

Result<StepOutput> CpuModel::collect(StepTicket ticket) {
  QUALIA_CHECK(!done_.empty() && done_.front().first == ticket);
  StepOutput output = std::move(done_.front().second);
  done_.pop_front();
  return output;
}

}  // namespace qualia::lanes::cpu
