#include "lanes/cpu/weights.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/checked.h"
#include "base/error.h"
#include "hardware/memory.h"
#include "lanes/weight_source.h"

namespace qualia::lanes::cpu {
namespace {

using ops::WeightRole;

// A matrix that is found but not yet packed.
struct Found {
  ops::MatmulWeight source;
  PackedMatrix* target = nullptr;
};

// Everything a model needs, before any memory is taken.
struct Plan {
  std::vector<std::vector<Found>> stages;  // packed one after the other: a layer each, the output
};

Result<void> find_layer(WeightSource& source, uint32_t layer, LayerWeights& weights,
                        std::vector<Found>& found) {
  const std::pair<WeightRole, PackedMatrix*> all[] = {
      {WeightRole::query, &weights.query},
      {WeightRole::key, &weights.key},
      {WeightRole::value, &weights.value},
      {WeightRole::attention_output, &weights.attention_output},
      {WeightRole::gate, &weights.gate},
      {WeightRole::up, &weights.up},
      {WeightRole::down, &weights.down}};
  QUALIA_ASSIGN(weights.attention_norm, source.vector(WeightRole::attention_norm, layer));
  for (const auto& [role, target] : all) {
    QUALIA_ASSIGN(const ops::MatmulWeight matrix, source.matrix(role, layer));
    found.push_back({matrix, target});
  }
  QUALIA_ASSIGN(weights.feed_forward_norm, source.vector(WeightRole::feed_forward_norm, layer));
  return {};
}

Result<Plan> find_all(WeightSource& source, const ops::DecoderSpec& spec, Weights& weights) {
  Plan plan;
  QUALIA_ASSIGN(const ops::MatmulWeight embedding, source.matrix(WeightRole::token_embedding));
  weights.embedding = {embedding.data, embedding.dtype, embedding.k, embedding.row_bytes};
  weights.layers.resize(spec.layers.size());
  for (uint32_t layer = 0; layer < spec.layers.size(); ++layer) {
    plan.stages.emplace_back();
    QUALIA_TRY(find_layer(source, layer, weights.layers[layer], plan.stages.back()));
  }
  QUALIA_ASSIGN(weights.output_norm, source.vector(WeightRole::output_norm));
  ops::MatmulWeight output = embedding;
  if (!spec.output_is_tied) {
    QUALIA_ASSIGN(output, source.matrix(WeightRole::output));
  }
  plan.stages.push_back({{output, &weights.output}});
  return plan;
}

// Takes the memory of all matrices at once (small ones get huge pages too) and lays them out in the
// order in which a step reads them.
Result<void> make_matrices(const Plan& plan, Precision precision, Isa isa, Weights& weights) {
  constexpr size_t kAlignment = 64;
  std::vector<size_t> offsets;
  std::optional<size_t> total = 0;
  unsigned forms = 0;
  for (const std::vector<Found>& stage : plan.stages) {
    for (const Found& found : stage) {
      const ops::MatmulWeight& source = found.source;
      QUALIA_ASSIGN(const size_t size_bytes,
                    PackedMatrix::packed_bytes(source.dtype, source.n, source.k, precision));
      offsets.push_back(*total);
      total = checked_add(*total, size_bytes);
      if (total) total = checked_align(*total, kAlignment);
      if (!total) return out_of_memory("The packed weights have more bytes than addresses.");
      forms |= static_cast<unsigned>(PackedMatrix::reads(source.dtype, precision));
    }
  }
  weights.forms = static_cast<ActivationForms>(forms);
  const std::optional<uint64_t> available = hardware::available_memory_bytes();
  if (available && *total > *available) {
    return out_of_memory("The packed weights take {} bytes ({} are available).", *total,
                         *available);
  }
  QUALIA_ASSIGN(weights.packed, AlignedMemory::allocate(*total));
  size_t next = 0;
  for (const std::vector<Found>& stage : plan.stages) {
    for (const Found& found : stage) {
      const ops::MatmulWeight& source = found.source;
      QUALIA_ASSIGN(*found.target,
                    PackedMatrix::create_in(weights.packed.data() + offsets[next++], source.dtype,
                                            source.n, source.k, precision, isa));
    }
  }
  return {};
}

TensorView view_of(const ops::MatmulWeight& source) {
  return {
      source.dtype, {{source.k, source.n, 1, 1}, 2}, {source.data, source.row_bytes * source.n}};
}

// Packs some panels and gives their source back, a piece at a time: the peak of memory is what is
// packed and a piece a thread.
void pack_panels(const Found& found, const WeightSource& source, const Range& panels) {
  constexpr size_t kPieceBytes = size_t{1} << 20;
  const size_t panel_bytes = kPanelRows * found.source.row_bytes;
  const size_t piece = std::max<size_t>(1, kPieceBytes / panel_bytes);
  for (size_t begin = panels.begin; begin < panels.end; begin += piece) {
    const Range packed{begin, std::min(panels.end, begin + piece)};
    found.target->pack(view_of(found.source), packed.begin, packed.end);
    const Range rows = columns_of(*found.target, packed);
    source.release(found.source, rows.begin, rows.end);
  }
}

// Packs the stages in order. Each thread packs the panels that it will read in a step of one row.
void pack_all(const Plan& plan, const WeightSource& source, uint64_t total_bytes, Team& team,
              const Progress& progress) {
  uint64_t done = 0;
  for (const std::vector<Found>& stage : plan.stages) {
    team.run([&](size_t thread) {
      for (const Found& found : stage) {
        const Range panels = part_of(found.target->panel_count(), thread, team.size());
        pack_panels(found, source, panels);
      }
    });
    for (const Found& found : stage) {
      done += found.source.row_bytes * found.source.n;
    }
    if (progress) progress(std::min(done, total_bytes), total_bytes);
  }
  if (progress) progress(total_bytes, total_bytes);
}

}  // namespace

Result<Weights> load_weights(const ops::DecoderSpec& spec, const ops::WeightMap& map,
                             Precision precision, Isa isa, Team& team, const Progress& progress) {
  WeightSource source(spec, map, "cpu", PackedMatrix::can_pack);
  Weights weights;
  QUALIA_ASSIGN(const Plan plan, find_all(source, spec, weights));
  QUALIA_TRY(make_matrices(plan, precision, isa, weights));
  pack_all(plan, source, map.size_bytes(), team, progress);
  weights.held_bytes = weights.packed.size_bytes() + source.held_bytes();
  const uint64_t norm_bytes = (2 * spec.layers.size() + 1) * spec.width * sizeof(float);
  weights.step_bytes = weights.packed.size_bytes() + norm_bytes + weights.embedding.row_bytes;
  for (const std::vector<Found>& stage : plan.stages) {
    for (const Found& found : stage) {
      if (found.target == &weights.output) continue;
      weights.step_multiply_adds += uint64_t{found.source.n} * found.source.k;
    }
  }
  // The targets lie in `weights`, whose vector keeps its place when it is moved.
  weights.files = std::move(source).take_files();
  return weights;
}

}  // namespace qualia::lanes::cpu
