// The reference lane: the scalar ops run over all cores, float32 throughout, weights read in place
// from the mapped file. It defines what is right; every other lane is tested against it.
// Thread-safety: see lanes/lane.h.
#pragma once

#include <memory>

#include "lanes/lane.h"

namespace qualia::lanes {

std::unique_ptr<Lane> make_reference_lane();

}  // namespace qualia::lanes
