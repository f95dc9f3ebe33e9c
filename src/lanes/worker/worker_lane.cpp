#include "lanes/worker/worker_lane.h"

#include <array>
#include <utility>

#include "base/error.h"
#include "base/log.h"
#include "lanes/worker/link.h"
#include "lanes/worker/worker_model.h"

namespace qualia::lanes {
namespace {

using namespace worker;

LogLevel current_log_level() {
  for (const LogLevel level :
       {LogLevel::trace, LogLevel::debug, LogLevel::info, LogLevel::warn, LogLevel::error}) {
    if (log_enabled(level)) return level;
  }
  return LogLevel::off;
}

class WorkerLane final : public Lane {
 public:
  explicit WorkerLane(WorkerOptions options) : options_(std::move(options)) {}

  std::string_view name() const override { return options_.lane_name; }

  // Asks a worker, which ends right after: looking at a device can end a process too.
  std::vector<CircuitInfo> circuits(size_t thread_count) const override {
    Result<std::vector<CircuitInfo>> found = ask_circuits(thread_count);
    if (found) return std::move(*found);
    log(LogLevel::warn, "The circuits of lane '{}' are unknown: {}", options_.lane_name,
        found.error().message);
    return {};
  }

  Result<std::unique_ptr<LaneModel>> load(const ops::DecoderSpec& spec,
                                          const ops::WeightMap& weights,
                                          const LoadOptions& options) const override {
    QUALIA_ASSIGN(std::unique_ptr<Link> link, Link::start(options_));
    const LoadRequest request{.lane = options_.lane_name,
                              .circuit = options.circuit,
                              .log_level = current_log_level(),
                              .spec = spec,
                              .weights = weights,
                              .precision = options.precision,
                              .kv = options.kv,
                              .thread_count = options.thread_count};
    const auto on_progress = [&](const Frame& frame) -> Result<void> {
      Result<ProgressReport> progress = decode<ProgressReport>(frame.payload);
      if (!progress || frame.kind != MessageKind::progress) {
        return link->lose_damaged({ErrorCode::internal, "A message does not belong to loading."});
      }
      if (options.progress) options.progress(progress->done, progress->total);
      return {};
    };
    QUALIA_ASSIGN(const Bytes reply,
                  link->request(request, options_.load_silence_max, on_progress));
    Result<ResidentReport> resident = decode<ResidentReport>(reply);
    if (!resident) return link->lose_damaged(resident.error());
    return std::make_unique<WorkerModel>(std::move(link), std::move(*resident),
                                         spec.vocabulary_size);
  }

 private:
  Result<std::vector<CircuitInfo>> ask_circuits(size_t thread_count) const {
    QUALIA_ASSIGN(const std::unique_ptr<Link> link, Link::start(options_));
    const auto refuse = [&](const Frame&) -> Result<void> {
      return link->lose_damaged({ErrorCode::internal, "A message was not asked for."});
    };
    QUALIA_ASSIGN(const Bytes reply,
                  link->request(CircuitsRequest{options_.lane_name, thread_count},
                                options_.load_silence_max, refuse));
    return decode<std::vector<CircuitInfo>>(reply);
  }

  WorkerOptions options_;
};

}  // namespace

std::unique_ptr<Lane> make_worker_lane(WorkerOptions options) {
  return std::make_unique<WorkerLane>(std::move(options));
}

}  // namespace qualia::lanes
