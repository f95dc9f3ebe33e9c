// Profiling by clocks of the host, on the reference lane.
#include "lanes/profile_cases.h"
#include "lanes/reference/test_model.h"

namespace qualia::lanes {

INSTANTIATE_TYPED_TEST_SUITE_P(Reference, HostProfile, reference::TestModel);

}  // namespace qualia::lanes
