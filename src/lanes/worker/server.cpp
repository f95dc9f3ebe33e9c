#include "lanes/worker/server.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "lanes/worker/row_values.h"

namespace qualia::lanes::worker {
namespace {

// Once an output is sent, the parent's next step is worth this wait before the next output is
// waited for, since the lane could not be given it meanwhile. A parent answers within 20 to 60 us
// (measured); one that wants no more steps costs this once.
constexpr timespec kFollowUpWait{0, 200'000};

constexpr Bytes kNothing{};

tl::unexpected<Error> out_of_place(const Frame& frame) {
  return internal("A message of kind {} is out of place.", static_cast<uint32_t>(frame.kind));
}

}  // namespace

Result<void> Server::run() {
  send(Hello{std::string(build_id_)});
  while (!is_closed_) {
    QUALIA_ASSIGN(const std::optional<Frame> frame, next_frame());
    if (!frame) {
      if (!steps_.empty()) QUALIA_TRY(answer_oldest());
      continue;
    }
    has_just_answered_ = false;
    QUALIA_TRY(handle(*frame));
    // What is computed is sent before the next step is taken up.
    while (model_ && model_->resident().computes_in_submit && !steps_.empty()) {
      QUALIA_TRY(answer_oldest());
    }
  }
  return {};
}

// nullopt: the other end has closed, or says nothing for now and an output is due.
Result<std::optional<Frame>> Server::next_frame() {
  while (true) {
    QUALIA_ASSIGN(std::optional<Frame> frame, channel_.next());
    if (frame) return frame;
    switch (channel_.fill()) {
      case Flow::done:
        break;
      case Flow::closed:
        is_closed_ = true;
        steps_.clear();
        return std::nullopt;
      case Flow::must_wait:
        if (!wait_for_bytes()) return std::nullopt;
    }
  }
}

bool Server::wait_for_bytes() const {
  if (!steps_.empty() && !has_just_answered_) return false;
  pollfd wanted{channel_.descriptor(), POLLIN, 0};
  const timespec* const patience = steps_.empty() ? nullptr : &kFollowUpWait;
  return ::ppoll(&wanted, 1, patience, nullptr) != 0;
}

Result<void> Server::handle(const Frame& frame) {
  if (frame.kind == MessageKind::circuits) return on_circuits(frame);
  if (frame.kind == MessageKind::load && !model_) return on_load(frame);
  if (!model_) return out_of_place(frame);
  switch (frame.kind) {
    case MessageKind::reserve_pages:
      return on_reserve_pages(frame);
    case MessageKind::copy_page:
      return on_copy_page(frame);
    case MessageKind::set_profiling:
      return on_set_profiling(frame);
    case MessageKind::read_profile:
      return on_read_profile(frame);
    case MessageKind::measure_bandwidth:
      return on_measure_bandwidth(frame);
    case MessageKind::share_block:
      return on_share_block(frame);
    case MessageKind::step:
      return on_step(frame);
    default:
      return out_of_place(frame);
  }
}

Result<const Lane*> Server::find_lane(std::string_view name) const {
  for (const std::unique_ptr<Lane>& lane : lanes_) {
    if (lane->name() == name) return lane.get();
  }
  return not_found("Lane '{}' is not in this build.", name);
}

Result<void> Server::on_circuits(const Frame& frame) {
  QUALIA_ASSIGN(const CircuitsRequest request, decode<CircuitsRequest>(frame.payload));
  reply(find_lane(request.lane).map([&](const Lane* lane) {
    return encode(lane->circuits(static_cast<size_t>(request.thread_count)));
  }));
  return {};
}

Result<void> Server::on_load(const Frame& frame) {
  QUALIA_ASSIGN(const LoadRequest request, decode<LoadRequest>(frame.payload));
  if (request.thread_count == 0) return internal("A model is to be loaded with 0 threads.");
  set_log_level(request.log_level);
  const Result<const Lane*> lane = find_lane(request.lane);
  if (!lane) {
    reply(tl::unexpected<Error>(lane.error()));
    return {};
  }
  LoadOptions options;
  options.circuit = request.circuit;
  options.precision = request.precision;
  options.kv = request.kv;
  options.thread_count = static_cast<size_t>(request.thread_count);
  // Also where nobody looks at it: it is the sign of life.
  options.progress = [this](uint64_t done, uint64_t total) { send(ProgressReport{done, total}); };
  Result<std::unique_ptr<LaneModel>> model = (*lane)->load(request.spec, request.weights, options);
  if (!model) {
    reply(tl::unexpected<Error>(std::move(model).error()));
    return {};
  }
  model_ = std::move(*model);
  vocabulary_size_ = request.spec.vocabulary_size;
  reply(encode(model_->resident()));
  return {};
}

Result<void> Server::on_reserve_pages(const Frame& frame) {
  QUALIA_ASSIGN(const ReservePages request, decode<ReservePages>(frame.payload));
  Result<void> reserved = model_->reserve_pages(request.page_count);
  if (reserved) page_count_ = std::max(page_count_, request.page_count);
  reply(std::move(reserved).map([] { return kNothing; }));
  return {};
}

Result<void> Server::on_copy_page(const Frame& frame) {
  QUALIA_ASSIGN(const CopyPage request, decode<CopyPage>(frame.payload));
  if (std::max(request.from, request.to) >= page_count_) {
    return internal("Page {} is to be copied to page {} (there are {}).", request.from, request.to,
                    page_count_);
  }
  reply(model_->copy_page(request.from, request.to).map([] { return kNothing; }));
  return {};
}

Result<void> Server::on_set_profiling(const Frame& frame) {
  QUALIA_ASSIGN(const SetProfiling request, decode<SetProfiling>(frame.payload));
  reply(model_->set_profiling(request.options).map([] { return kNothing; }));
  return {};
}

Result<void> Server::on_read_profile(const Frame& frame) {
  QUALIA_TRY(decode<ReadProfile>(frame.payload));
  reply(model_->profile().map([](const ProfileReading& reading) {
    return encode(OwnedReading{reading.totals, std::string(reading.granularity)});
  }));
  return {};
}

Result<void> Server::on_measure_bandwidth(const Frame& frame) {
  QUALIA_TRY(decode<MeasureBandwidth>(frame.payload));
  reply(model_->measure_read_bandwidth().map(
      [](double bytes_per_s) { return encode(Bandwidth{bytes_per_s}); }));
  return {};
}

Result<void> Server::on_share_block(const Frame& frame) {
  QUALIA_ASSIGN(const ShareBlock request, decode<ShareBlock>(frame.payload));
  QUALIA_ASSIGN(SharedBlock block,
                SharedBlock::open(channel_.take_descriptor(), request.size_bytes));
  if (request.id > blocks_.size()) return internal("Block {} is out of place.", request.id);
  if (request.id == blocks_.size()) {
    blocks_.push_back(std::move(block));
  } else {
    blocks_[request.id] = std::move(block);
  }
  return {};
}

Result<void> Server::on_step(const Frame& frame) {
  QUALIA_ASSIGN(const Step step, decode<Step>(frame.payload));
  if (step.block != kNoBlock && step.block >= blocks_.size()) {
    return internal("Block {} is unknown.", step.block);
  }
  QUALIA_TRY(change_tables(step));
  QUALIA_TRY(check_rows(step));
  Result<StepTicket> ticket = submit(step);
  previous_failure_.reset();
  if (!ticket) previous_failure_ = ticket.error();
  previous_output_count_ = output_count(step.rows);
  steps_.push_back({step.ticket, std::move(ticket), step.block});
  return {};
}

Result<void> Server::change_tables(const Step& step) {
  if (tables_.size() < step.tables.size()) tables_.resize(step.tables.size());
  for (size_t i = 0; i < step.tables.size(); ++i) {
    const TableChange& change = step.tables[i];
    std::vector<PageId>& table = tables_[i];
    const auto is_unknown = [this](PageId page) { return page >= page_count_; };
    if (change.kept > table.size() || std::ranges::any_of(change.added, is_unknown)) {
      return internal("The page table of sequence {} is damaged.", i);
    }
    table.resize(change.kept);
    table.insert(table.end(), change.added.begin(), change.added.end());
  }
  return {};
}

Result<void> Server::check_rows(const Step& step) const {
  for (const Row& row : step.rows) {
    const bool is_placed = row.sequence < step.tables.size() &&
                           row.position / kPagePositions < tables_[row.sequence].size();
    const bool has_token =
        row.feedback == kNoFeedback
            ? row.token >= 0 && static_cast<uint32_t>(row.token) < vocabulary_size_
            : row.feedback < previous_output_count_;
    if (!is_placed || !has_token) {
      return internal("A row of token {} at position {} of sequence {} is damaged.", row.token,
                      row.position, row.sequence);
    }
  }
  return {};
}

Result<StepTicket> Server::submit(const Step& step) {
  const auto has_feedback = [](const Row& row) { return row.feedback != kNoFeedback; };
  // The token that was to be fed was never computed.
  if (previous_failure_ && std::ranges::any_of(step.rows, has_feedback)) {
    return tl::unexpected<Error>(*previous_failure_);
  }
  std::vector<SequenceView> sequences(step.tables.size());
  for (size_t i = 0; i < sequences.size(); ++i) sequences[i].pages = tables_[i];
  return model_->submit({.rows = step.rows, .sequences = sequences, .top_k = step.top_k});
}

Result<void> Server::answer_oldest() {
  const Queued step = std::move(steps_.front());
  steps_.pop_front();
  QUALIA_ASSIGN(const Output output, collect(step));
  send(output);
  has_just_answered_ = true;
  return {};
}

Result<Output> Server::collect(const Queued& step) {
  Output output{.ticket = step.ticket};
  const Result<StepOutput> result =
      step.lane_ticket.and_then([this](StepTicket ticket) { return model_->collect(ticket); });
  if (!result) {
    if (steps_.empty()) previous_failure_ = result.error();
    output.error = result.error();
    return output;
  }
  output.rows = heads_of(*result);
  const uint64_t size_bytes = row_values_bytes(output.rows);
  if (step.block == kNoBlock) {
    output.values.resize(size_bytes);
    write_row_values(*result, output.values);
    return output;
  }
  const std::span<std::byte> shared = blocks_[step.block].bytes();
  if (size_bytes > shared.size()) {
    return internal("Outputs have {} bytes (the shared block has {}).", size_bytes, shared.size());
  }
  write_row_values(*result, shared);
  return output;
}

// An other end that is gone is noticed when it is read from.
void Server::send(MessageKind kind, const Bytes& payload) {
  if (is_closed_) return;
  channel_.put(kind, payload);
  while (true) {
    const Flow flow = channel_.flush();
    if (flow == Flow::done) return;
    if (flow == Flow::closed) {
      is_closed_ = true;
      steps_.clear();
      return;
    }
    pollfd wanted{channel_.descriptor(), POLLOUT, 0};
    ::poll(&wanted, 1, -1);
  }
}

void Server::reply(Result<Bytes> value) {
  Reply message;
  if (value) {
    message.value = std::move(*value);
  } else {
    message.error = std::move(value).error();
  }
  send(message);
}

}  // namespace qualia::lanes::worker
