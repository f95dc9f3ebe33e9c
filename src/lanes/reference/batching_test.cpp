// The cases that every lane passes, on the reference lane.
#include "lanes/batching_cases.h"
#include "lanes/reference/test_model.h"

namespace qualia::lanes {

INSTANTIATE_TYPED_TEST_SUITE_P(Reference, Batching, reference::TestModel);

}  // namespace qualia::lanes
