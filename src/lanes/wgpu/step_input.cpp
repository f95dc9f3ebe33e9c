#include "lanes/wgpu/step_input.h"

#include <algorithm>
#include <bit>
#include <map>

#include "base/error.h"
#include "ops/rope.h"

namespace qualia::lanes::wgpu {
namespace {

constexpr uint32_t kRowWords = 8;

bool same_angles(const ops::RopeSpec& a, const ops::RopeSpec& b) {
  return a.dims == b.dims && a.frequency_base == b.frequency_base &&
         a.position_scale == b.position_scale;
}

void append_angles(const ops::RopeSpec& rope, const std::vector<uint32_t>& positions,
                   std::vector<uint32_t>& words) {
  std::vector<float> cosines(rope.dims / 2);
  std::vector<float> sines(rope.dims / 2);
  for (const uint32_t position : positions) {
    ops::rope_angles_f32(rope, position, cosines.data(), sines.data());
    for (size_t i = 0; i < cosines.size(); ++i) {
      words.push_back(std::bit_cast<uint32_t>(cosines[i]));
      words.push_back(std::bit_cast<uint32_t>(sines[i]));
    }
  }
}

void append_all_angles(const ops::DecoderSpec& spec, StepInput& input) {
  for (size_t layer = 0; layer < spec.layers.size(); ++layer) {
    const ops::RopeSpec& rope = spec.layers[layer].attention.rope;
    size_t same = 0;
    while (same < layer && !same_angles(spec.layers[same].attention.rope, rope)) ++same;
    if (same < layer) {
      input.shape.angles_at.push_back(input.shape.angles_at[same]);
      continue;
    }
    input.shape.angles_at.push_back(static_cast<uint32_t>(input.words.size()));
    append_angles(rope, input.shape.positions, input.words);
  }
}

}  // namespace

Result<StepInput> make_step_input(const Batch& batch, size_t begin, size_t end,
                                  const ops::DecoderSpec& spec) {
  StepInput input;
  const auto count = static_cast<uint32_t>(end - begin);
  input.shape.rows = count;
  input.words.resize(size_t{count} * kRowWords);
  for (size_t i = begin; i < end; ++i) {
    if (batch.rows[i].output == RowOutputKind::none) continue;
    input.output_rows.push_back(static_cast<uint32_t>(i));
  }
  input.shape.outputs = static_cast<uint32_t>(input.output_rows.size());
  input.shape.map_at = static_cast<uint32_t>(input.words.size());
  for (const uint32_t row : input.output_rows) {
    input.words.push_back(row - static_cast<uint32_t>(begin));
  }
  std::map<uint32_t, uint32_t> tables;  // by sequence
  for (size_t i = begin; i < end; ++i) {
    const Row& row = batch.rows[i];
    const auto [table, is_new] =
        tables.try_emplace(row.sequence, static_cast<uint32_t>(input.words.size()));
    if (is_new) {
      const std::span<const PageId> pages = batch.sequences[row.sequence].pages;
      input.words.insert(input.words.end(), pages.begin(), pages.end());
    }
    uint32_t* const words = &input.words[(i - begin) * kRowWords];
    words[0] = static_cast<uint32_t>(row.token);
    words[1] = row.feedback;
    words[2] = row.position;
    words[3] = table->second;
    input.shape.positions.push_back(row.position);
  }
  input.shape.first_table = input.words[3];
  input.shape.has_one_row_a_sequence = tables.size() == count;
  append_all_angles(spec, input);
  if (input.words.size() > kStepWords) {
    return unsupported("A step of {} rows has {} words of page tables and angles (at most {}).",
                       count, input.words.size(), kStepWords);
  }
  return input;
}

}  // namespace qualia::lanes::wgpu
