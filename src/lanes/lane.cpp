#include "lanes/lane.h"

#include "base/error.h"

namespace qualia::lanes {

Result<StepOutput> LaneModel::forward(const Batch& batch) {
  QUALIA_ASSIGN(const StepTicket ticket, submit(batch));
  return collect(ticket);
}

}  // namespace qualia::lanes
