#include "api/circuit_choice.h"

#include <utility>
#include <vector>

#include "base/error.h"

namespace qualia::api {
namespace {

struct Candidate {
  const lanes::Lane* lane;
  CircuitInfo circuit;
};

std::string list(const std::vector<Candidate>& candidates) {
  std::string text;
  for (const Candidate& candidate : candidates) {
    if (!text.empty()) text += "; ";
    text += candidate.circuit.label();
  }
  return text.empty() ? "none" : text;
}

std::string reason(const CircuitWish& wish, size_t candidate_count) {
  if (!wish.lane.empty()) return fmt::format("lane '{}' was asked for", wish.lane);
  if (!wish.backend.empty())
    return fmt::format("{} asked for backend '{}'", wish.backend_origin, wish.backend);
  if (candidate_count == 1) return "it is the only circuit of this build";
  return "it is the first circuit of this build";
}

}  // namespace

Result<CircuitChoice> choose_circuit(std::span<const std::unique_ptr<lanes::Lane>> lanes,
                                     const CircuitWish& wish) {
  std::vector<Candidate> all;
  for (const auto& lane : lanes)
    for (CircuitInfo& circuit : lane->circuits(wish.thread_count))
      all.push_back({lane.get(), std::move(circuit)});
  std::vector<Candidate> fitting = all;
  std::erase_if(fitting, [&](const Candidate& candidate) {
    return !wish.lane.empty() && candidate.circuit.lane != wish.lane;
  });
  if (fitting.empty())
    return not_found("Lane '{}' is not in this build (circuits here: {}).", wish.lane, list(all));
  std::erase_if(fitting, [&](const Candidate& candidate) {
    return !wish.backend.empty() && candidate.circuit.backend != wish.backend;
  });
  if (fitting.empty())
    return not_found("Backend '{}' ({}) has no circuit here (circuits here: {}).", wish.backend,
                     wish.backend_origin, list(all));
  CircuitChoice choice{
      .lane = fitting.front().lane, .circuit = fitting.front().circuit, .path = {}};
  choice.path = {.lane = choice.circuit.lane,
                 .device = choice.circuit.device,
                 .backend = choice.circuit.backend,
                 .winning_circuit = choice.circuit.label(),
                 .rationale = {reason(wish, all.size())}};
  return choice;
}

}  // namespace qualia::api
