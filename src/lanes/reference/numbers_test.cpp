// The cases that every lane passes, on the reference lane.
#include "lanes/numbers_cases.h"
#include "lanes/reference/test_model.h"

namespace qualia::lanes {

INSTANTIATE_TYPED_TEST_SUITE_P(Reference, Numbers, reference::TestModel);

}  // namespace qualia::lanes
