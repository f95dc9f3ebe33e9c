#include "api/circuit_choice.h"

#include <utility>

#include "base/error.h"

namespace qualia::api {
namespace {

using Lanes = std::span<const std::unique_ptr<lanes::Lane>>;

std::string list_all(Lanes lanes, size_t thread_count) {
  std::string text;
  for (const auto& lane : lanes) {
    for (const CircuitInfo& circuit : lane->circuits(thread_count)) {
      if (!text.empty()) text += "; ";
      text += circuit.label();
    }
  }
  return text.empty() ? "none" : text;
}

std::string reason(const CircuitWish& wish) {
  if (!wish.lane.empty()) return fmt::format("lane '{}' was asked for", wish.lane);
  if (!wish.backend.empty())
    return fmt::format("{} asked for backend '{}'", wish.backend_origin, wish.backend);
  return "it is the first circuit of this build";
}

CircuitChoice make_choice(const lanes::Lane& lane, CircuitInfo circuit, const CircuitWish& wish) {
  CircuitChoice choice{.lane = &lane, .circuit = std::move(circuit), .path = {}};
  choice.path = {.lane = choice.circuit.lane,
                 .device = choice.circuit.device,
                 .backend = choice.circuit.backend,
                 .winning_circuit = choice.circuit.label(),
                 .rationale = {reason(wish)}};
  return choice;
}

}  // namespace

// Lanes are asked for their circuits in order and no further than needed: listing GPUs takes time.
Result<CircuitChoice> choose_circuit(Lanes lanes, const CircuitWish& wish) {
  bool has_lane = false;
  for (const auto& lane : lanes) {
    if (!wish.lane.empty() && lane->name() != wish.lane) continue;
    for (CircuitInfo& circuit : lane->circuits(wish.thread_count)) {
      has_lane = true;
      if (!wish.backend.empty() && circuit.backend != wish.backend) continue;
      return make_choice(*lane, std::move(circuit), wish);
    }
  }
  const std::string there = list_all(lanes, wish.thread_count);
  if (!wish.lane.empty() && !has_lane)
    return not_found("Lane '{}' has no circuit here (circuits here: {}).", wish.lane, there);
  return not_found("Backend '{}' ({}) has no circuit here (circuits here: {}).", wish.backend,
                   wish.backend_origin, there);
}

}  // namespace qualia::api
