#include "lanes/worker/worker_model.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "lanes/worker/row_values.h"

namespace qualia::lanes::worker {
namespace {

// Values up to this size travel in the message: sharing them costs as much as copying 4 KiB.
constexpr uint64_t kInlineBytesMax = 4096;

}  // namespace

WorkerModel::WorkerModel(std::unique_ptr<Link> link, ResidentReport resident,
                         uint32_t vocabulary_size)
    : link_(std::move(link)), resident_(std::move(resident)), vocabulary_size_(vocabulary_size) {
  resident_.computes_in_submit = false;  // the worker computes, whatever lane it hosts
}

Result<void> WorkerModel::reserve_pages(uint32_t page_count) {
  QUALIA_TRY(request(ReservePages{page_count}));
  return {};
}

Result<void> WorkerModel::copy_page(PageId from, PageId to) {
  QUALIA_TRY(request(CopyPage{from, to}));
  return {};
}

Result<StepTicket> WorkerModel::submit(const Batch& batch) {
  QUALIA_ASSIGN(const uint32_t block, take_block(batch));
  const Step step{.ticket = next_ticket_,
                  .top_k = batch.top_k,
                  .block = block,
                  .rows = {batch.rows.begin(), batch.rows.end()},
                  .tables = change_tables(batch)};
  QUALIA_TRY(link_->send(step));
  pending_.push_back({next_ticket_, output_count(batch.rows), block});
  return next_ticket_++;
}

Result<uint32_t> WorkerModel::take_block(const Batch& batch) {
  const uint64_t size_bytes = row_values_bytes_max(batch, vocabulary_size_);
  if (size_bytes <= kInlineBytesMax) return kNoBlock;
  QUALIA_ASSIGN(const BlockPool::Taken taken, blocks_.take(size_bytes));
  if (taken.is_new) {
    const SharedBlock& block = blocks_.block(taken.id);
    QUALIA_TRY(link_->send(ShareBlock{taken.id, block.bytes().size()}, block.descriptor()));
  }
  return taken.id;
}

std::vector<TableChange> WorkerModel::change_tables(const Batch& batch) {
  if (tables_.size() < batch.sequences.size()) tables_.resize(batch.sequences.size());
  std::vector<TableChange> changes(batch.sequences.size());
  for (size_t i = 0; i < changes.size(); ++i) {
    const std::span<const PageId> pages = batch.sequences[i].pages;
    std::vector<PageId>& known = tables_[i];
    const auto first_new = std::ranges::mismatch(pages, known).in1;
    changes[i].kept = static_cast<uint32_t>(first_new - pages.begin());
    changes[i].added.assign(first_new, pages.end());
    known.resize(changes[i].kept);
    known.insert(known.end(), first_new, pages.end());
  }
  return changes;
}

Result<StepOutput> WorkerModel::collect(StepTicket ticket) {
  while (outputs_.empty()) {
    QUALIA_ASSIGN(const Frame frame, link_->await(link_->options().step_silence_max));
    QUALIA_TRY(take_output(frame));
  }
  QUALIA_CHECK(outputs_.front().first == ticket);
  Result<StepOutput> output = std::move(outputs_.front().second);
  outputs_.pop_front();
  return output;
}

Result<void> WorkerModel::set_profiling(const ProfileOptions& options) {
  QUALIA_TRY(request(SetProfiling{options}));
  return {};
}

Result<ProfileReading> WorkerModel::profile() {
  QUALIA_ASSIGN(const Bytes reply, request(ReadProfile{}));
  Result<OwnedReading> reading = decode<OwnedReading>(reply);
  if (!reading) return link_->lose_damaged(reading.error());
  granularity_ = std::move(reading->granularity);
  return ProfileReading{std::move(reading->totals), granularity_};
}

Result<double> WorkerModel::measure_read_bandwidth() {
  QUALIA_ASSIGN(const Bytes reply, request(MeasureBandwidth{}));
  const Result<Bandwidth> bandwidth = decode<Bandwidth>(reply);
  if (!bandwidth) return link_->lose_damaged(bandwidth.error());
  return bandwidth->bytes_per_s;
}

Result<void> WorkerModel::take_output(const Frame& frame) {
  Result<Output> output = decode<Output>(frame.payload);
  if (!output) return link_->lose_damaged(output.error());
  if (frame.kind != MessageKind::output || pending_.empty() ||
      pending_.front().ticket != output->ticket) {
    return link_->lose_damaged({ErrorCode::internal, "A message was not asked for."});
  }
  const Pending step = pending_.front();
  pending_.pop_front();
  Result<StepOutput> read = tl::unexpected<Error>(Error{});
  if (output->error) {
    read = tl::unexpected<Error>(std::move(*output->error));
  } else {
    read = read_output(step, *output);
    if (!read) return link_->lose_damaged(read.error());
  }
  if (step.block != kNoBlock) blocks_.give_back(step.block);
  outputs_.emplace_back(step.ticket, std::move(read));
  return {};
}

Result<StepOutput> WorkerModel::read_output(const Pending& step, const Output& output) const {
  if (output.rows.size() != step.output_count) {
    return internal("A step has {} outputs ({} were asked for).", output.rows.size(),
                    step.output_count);
  }
  std::span<const std::byte> values = output.values;
  if (step.block != kNoBlock) values = blocks_.block(step.block).bytes();
  return read_row_values(output.rows, values, vocabulary_size_);
}

}  // namespace qualia::lanes::worker
