// The worker's end: hosts one lane and one model for the process at the other end of a socket.
// Thread-safety: one owner.
// Errors: internal for a message that is damaged or out of place; the connection is of no use then.
// Errors of the lane are answers, not ends.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "lanes/lane.h"
#include "lanes/worker/channel.h"
#include "lanes/worker/shared_block.h"

namespace qualia::lanes::worker {

class Server {
 public:
  Server(FileDescriptor socket, std::span<const std::unique_ptr<Lane>> lanes,
         std::string_view build_id)
      : channel_(std::move(socket)), lanes_(lanes), build_id_(build_id) {}

  // Serves until the other end closes.
  Result<void> run();

 private:
  struct Queued {  // a step that was handed to the lane, or refused
    StepTicket ticket;
    Result<StepTicket> lane_ticket;
    uint32_t block;
  };

  Result<std::optional<Frame>> next_frame();
  bool wait_for_bytes() const;
  Result<void> handle(const Frame& frame);
  Result<void> on_circuits(const Frame& frame);
  Result<void> on_load(const Frame& frame);
  Result<void> on_reserve_pages(const Frame& frame);
  Result<void> on_copy_page(const Frame& frame);
  Result<void> on_set_profiling(const Frame& frame);
  Result<void> on_read_profile(const Frame& frame);
  Result<void> on_measure_bandwidth(const Frame& frame);
  Result<void> on_share_block(const Frame& frame);
  Result<void> on_step(const Frame& frame);

  Result<const Lane*> find_lane(std::string_view name) const;
  Result<void> change_tables(const Step& step);
  Result<void> check_rows(const Step& step) const;
  Result<StepTicket> submit(const Step& step);
  Result<void> answer_oldest();
  Result<Output> collect(const Queued& step);

  template <typename T>
  void send(const T& message) {
    send(T::kKind, encode(message));
  }
  void send(MessageKind kind, const Bytes& payload);
  void reply(Result<Bytes> value);

  Channel channel_;
  bool is_closed_ = false;
  std::span<const std::unique_ptr<Lane>> lanes_;
  std::string_view build_id_;

  std::unique_ptr<LaneModel> model_;
  uint32_t vocabulary_size_ = 0;
  uint32_t page_count_ = 0;
  std::vector<SharedBlock> blocks_;
  std::vector<std::vector<PageId>> tables_;  // by place in the batch
  std::deque<Queued> steps_;
  bool has_just_answered_ = false;
  size_t previous_output_count_ = 0;       // of the latest step, which feedback refers to
  std::optional<Error> previous_failure_;  // of the latest step
};

}  // namespace qualia::lanes::worker
