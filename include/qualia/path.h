// PathReport: where a model runs and why.
// Thread-safety: value.
#pragma once

#include <string>
#include <vector>

namespace qualia {

struct PathReport {
  std::string lane;                    // "reference"
  std::string device;                  // "CPU, 2 threads"
  std::string backend;                 // "scalar"
  std::string winning_circuit;         // "reference / CPU, 2 threads / scalar"
  std::vector<std::string> rationale;  // the chain of reasons, first cause first
};

}  // namespace qualia
