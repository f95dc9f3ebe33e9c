// What a Runtime holds.
#pragma once

#include <memory>
#include <vector>

#include "api/environment.h"
#include "lanes/lane.h"
#include "qualia/runtime.h"

namespace qualia {

struct Runtime::State {
  api::Environment environment;
  size_t default_threads = 1;
  std::vector<std::unique_ptr<lanes::Lane>> lanes;  // in the order they are listed to users
};

}  // namespace qualia
