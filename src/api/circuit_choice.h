// Which circuit a model runs on, by what was asked for and what there is.
// Thread-safety: pure.
// Errors: not_found lists the circuits there are; never a silent other one.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "lanes/lane.h"
#include "qualia/path.h"
#include "qualia/result.h"

namespace qualia::api {

struct CircuitWish {
  std::string lane{};            // empty: any
  std::string backend{};         // empty: any
  std::string backend_origin{};  // who asked for the backend: "--backend" or "QUALIA_WGPU_BACKEND"
  size_t thread_count = 1;
};

struct CircuitChoice {
  const lanes::Lane* lane = nullptr;  // outlives the choice: the runtime's
  CircuitInfo circuit;
  PathReport path;
};

Result<CircuitChoice> choose_circuit(std::span<const std::unique_ptr<lanes::Lane>> lanes,
                                     const CircuitWish& wish);

}  // namespace qualia::api
