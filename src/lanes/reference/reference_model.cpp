#include "lanes/reference/reference_model.h"

#include <algorithm>
#include <new>

#include "base/error.h"
#include "lanes/reference/batch_rows.h"
#include "lanes/reference/step.h"
#include "ops/embedding.h"

namespace qualia::lanes::reference {

ReferenceModel::ReferenceModel(ops::DecoderSpec spec, Weights weights, CircuitInfo circuit,
                               size_t thread_count)
    : spec_(std::move(spec)), weights_(std::move(weights)), pages_(spec_), pool_(thread_count) {
  resident_.circuit = std::move(circuit);
  resident_.precision = Precision::exact;
  resident_.kv = KvType::f32;
  resident_.weights_bytes = weights_.held_bytes;
  resident_.step_weight_bytes = weights_.step_bytes;
  resident_.kv_page_bytes = pages_.page_bytes();
  resident_.computes_in_submit = true;
  resident_.batch_rows = batch_rows(weights_, pool_.thread_count());
}

Result<void> ReferenceModel::copy_page(PageId from, PageId to) {
  QUALIA_CHECK(from < pages_.page_count() && to < pages_.page_count());
  if (from != to) pages_.copy(from, to);
  return {};
}

void ReferenceModel::resolve_tokens(const Batch& batch) {
  for (size_t i = 0; i < batch.rows.size(); ++i) {
    const Row& row = batch.rows[i];
    work_.tokens[i] = steps_.token_of(row);
  }
}

void ReferenceModel::resolve_pages(const Batch& batch) {
  work_.pages.clear();
  work_.first_page.clear();
  for (const SequenceView& sequence : batch.sequences) {
    work_.first_page.push_back(work_.pages.size());
    for (const PageId page : sequence.pages) work_.pages.push_back(pages_.page(page));
  }
}

StepOutput ReferenceModel::run(const Batch& batch) {
  const size_t outputs = output_count(batch.rows);
  work_.fit(spec_, batch.rows.size(), outputs, pool_.thread_count());
  resolve_tokens(batch);
  resolve_pages(batch);
  Step step{spec_, weights_, pages_, pool_, work_, batch};
  const size_t output_parts = (outputs + kOutputRowsAtOnce - 1) / kOutputRowsAtOnce;
  if (clock_.begin_step(stage_count(spec_.layers.size(), output_parts))) step.clock = &clock_;
  ops::embedding_f32(weights_.embedding, work_.tokens.data(), batch.rows.size(), work_.x.data());
  step.end_stage(Stage::embedding, 0);
  for (size_t layer = 0; layer < spec_.layers.size(); ++layer) run_layer(step, layer);
  StepOutput output = compute_outputs(step);
  if (step.clock != nullptr) {
    clock_.end_step([&](Stage stage, uint32_t index) { return cost_of(step, stage, index); });
  }
  return output;
}

Result<StepTicket> ReferenceModel::submit(const Batch& batch) {
  steps_.check(batch, pages_.page_count(), spec_.vocabulary_size);
  try {
    return steps_.push(run(batch));
  } catch (const std::bad_alloc&) {
    return no_room_for_step(batch);
  }
}

Result<void> ReferenceModel::set_profiling(const ProfileOptions& options) {
  clock_.set(options);
  return {};
}

Result<StepOutput> ReferenceModel::collect(StepTicket ticket) { return steps_.take(ticket); }

}  // namespace qualia::lanes::reference
