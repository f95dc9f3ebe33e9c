#include "lanes/lane.h"

#include <algorithm>

#include "base/error.h"

namespace qualia::lanes {

size_t output_count(std::span<const Row> rows) {
  return static_cast<size_t>(std::ranges::count_if(
      rows, [](const Row& row) { return row.output != RowOutputKind::none; }));
}

Result<StepOutput> LaneModel::forward(const Batch& batch) {
  QUALIA_ASSIGN(const StepTicket ticket, submit(batch));
  return collect(ticket);
}

Result<void> LaneModel::set_profiling(const ProfileOptions& options) {
  if (!options.is_on) return {};
  return unsupported("The {} lane reads no clock within a step.", resident().circuit.lane);
}

Result<ProfileReading> LaneModel::profile() { return ProfileReading{}; }

Result<double> LaneModel::measure_read_bandwidth() {
  return unsupported("The {} lane measures no bandwidth of its own.", resident().circuit.lane);
}

}  // namespace qualia::lanes
