// Report: what a recorder saw, beside what is known of the run as a whole.
// Thread-safety: pure. The text of a report is qualia::to_text (qualia/profile.h), its trace
// qualia::to_chrome_trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "profile/recorder.h"
#include "qualia/profile.h"

namespace qualia::profile {

// The run around the recorded steps.
struct RunFacts {
  std::string circuit{};
  ProfileOptions options{};
  uint64_t steps = 0;  // recorded or not
  uint64_t wall_ns = 0;
  std::optional<double> read_bytes_per_s{};
  std::string granularity{};
};

ProfileReport make_report(const Snapshot& snapshot, const RunFacts& run);

}  // namespace qualia::profile
