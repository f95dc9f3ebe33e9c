// Device timestamps to nanoseconds: exact on ticks, no float before the subtraction.
// Thread-safety: pure.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace qualia::profile {

// How a device counts time.
struct TickClock {
  double period_ns = 0.0;    // a tick's length
  uint32_t valid_bits = 64;  // counters wrap beyond them

  // False: nothing can be measured (drivers report periods of 0 and counters of 0 bits).
  bool is_usable() const {
    return std::isfinite(period_ns) && period_ns > 0.0 && valid_bits > 0 && valid_bits <= 64;
  }
};

// Ticks from begin to end of a counter that may have wrapped once. nullopt: missing (0, what an
// unwritten query reads) or backwards, which is more than half the counter's range.
inline std::optional<uint64_t> ticks_between(const TickClock& clock, uint64_t begin, uint64_t end) {
  if (!clock.is_usable() || begin == 0 || end == 0) return std::nullopt;
  const uint64_t mask =
      clock.valid_bits == 64 ? ~uint64_t{0} : (uint64_t{1} << clock.valid_bits) - 1;
  const uint64_t ticks = (end - begin) & mask;
  if (ticks > mask / 2) return std::nullopt;
  return ticks;
}

inline uint64_t ticks_to_ns(const TickClock& clock, uint64_t ticks) {
  if (clock.period_ns == 1.0) return ticks;  // exact beyond 2^53 too
  return static_cast<uint64_t>(static_cast<double>(ticks) * clock.period_ns + 0.5);
}

}  // namespace qualia::profile
