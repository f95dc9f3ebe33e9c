// A random decoder for lane tests: its spec, its weights as a file on disk, and their float values.
// Thread-safety: one owner. The files live as long as the object.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "lanes/lane.h"
#include "tensor/float16.h"

namespace qualia::lanes {

struct TestShape {
  uint32_t width = 24;
  uint32_t heads = 2;
  uint32_t kv_heads = 1;
  uint32_t head_dim = 8;
  uint32_t feed_forward = 20;
  uint32_t vocabulary = 37;
  uint32_t layers = 2;
  bool tied = false;
};

// What of a shape quantised matrices can hold: rows of whole blocks of 32.
inline TestShape whole_blocks(TestShape shape) {
  const auto up = [](uint32_t value, uint32_t unit) { return (value + unit - 1) / unit * unit; };
  shape.width = up(shape.width, 32);
  shape.feed_forward = up(shape.feed_forward, 32);
  shape.head_dim = up(shape.head_dim, shape.heads % 2 == 0 ? 16 : 32);
  return shape;
}

class TestModel {
 public:
  // How far rows may differ from batch to batch: 0 says bit for bit. A lane whose kernels go by the
  // number of rows hides this by what row N04 allows.
  static constexpr float kBatchTolerance = 0.0F;
  // Of rows N12; where a load takes long, fewer.
  static std::vector<uint32_t> odd_vocabularies() { return {257, 32001, 49153, 50257}; }
  // Lanes that this machine lacks hide this.
  static std::optional<std::string> absent_reason() { return std::nullopt; }

  using Key = std::pair<uint32_t, ops::WeightRole>;

  explicit TestModel(const TestShape& shape = {}) {
    spec.architecture = "llama";
    spec.vocabulary_size = shape.vocabulary;
    spec.width = shape.width;
    spec.context_length = 512;
    spec.norm_epsilon = 1e-5F;
    spec.output_is_tied = shape.tied;
    ops::LayerSpec layer;
    layer.attention.head_count = shape.heads;
    layer.attention.kv_head_count = shape.kv_heads;
    layer.attention.head_dim = shape.head_dim;
    layer.attention.score_scale = 1.0F / std::sqrt(static_cast<float>(shape.head_dim));
    layer.attention.rope.dims = shape.head_dim;
    layer.feed_forward.width = shape.feed_forward;
    spec.layers.assign(shape.layers, layer);
    fill_values();
  }
  ~TestModel() {
    for (const std::filesystem::path& file : files_) std::filesystem::remove(file);
  }
  TestModel(const TestModel&) = delete;
  TestModel& operator=(const TestModel&) = delete;

  // Draws every weight anew, of the shapes that the spec needs.
  void fill_values() {
    using ops::WeightRole;
    values.clear();
    draw(ops::kNoLayer, WeightRole::token_embedding, spec.width, spec.vocabulary_size);
    draw(ops::kNoLayer, WeightRole::output_norm, spec.width, 1);
    if (!spec.output_is_tied) {
      draw(ops::kNoLayer, WeightRole::output, spec.width, spec.vocabulary_size);
    }
    for (uint32_t i = 0; i < spec.layers.size(); ++i) {
      const ops::AttentionSpec& attention = spec.layers[i].attention;
      const uint64_t q = uint64_t{attention.head_count} * attention.head_dim;
      const uint64_t kv = uint64_t{attention.kv_head_count} * attention.head_dim;
      const uint64_t ff = spec.layers[i].feed_forward.width;
      draw(i, WeightRole::attention_norm, spec.width, 1);
      draw(i, WeightRole::query, spec.width, q);
      draw(i, WeightRole::key, spec.width, kv);
      draw(i, WeightRole::value, spec.width, kv);
      draw(i, WeightRole::attention_output, q, spec.width);
      draw(i, WeightRole::feed_forward_norm, spec.width, 1);
      draw(i, WeightRole::gate, spec.width, ff);
      draw(i, WeightRole::up, spec.width, ff);
      draw(i, WeightRole::down, ff, spec.width);
    }
  }

  std::vector<float>& at(ops::WeightRole role, uint32_t layer = ops::kNoLayer) {
    return values.at({layer, role}).floats;
  }

  // How matrices are written: float32, float16, Q8_0 or Q4_0 (rounded to it).
  DType matrix_dtype = DType::f32;

  // Writes the values into `file_count` files, by turns, at odd offsets.
  ops::WeightMap write(size_t file_count = 1) {
    ops::WeightMap map;
    std::vector<std::ofstream> streams;
    for (size_t i = 0; i < file_count; ++i) {
      files_.push_back(new_path());
      streams.emplace_back(files_.back(), std::ios::binary);
      streams.back().put('x');
    }
    size_t turn = 0;
    for (const auto& [key, value] : values) {
      std::ofstream& stream = streams[turn % file_count];
      const DType dtype = value.shape.rows() == 1 ? DType::f32 : matrix_dtype;
      const std::string bytes = encode(value.floats, dtype);
      map.set(key.second, key.first,
              {name(key), files_[files_.size() - file_count + turn % file_count],
               static_cast<uint64_t>(stream.tellp()), bytes.size(), dtype, value.shape});
      stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
      ++turn;
    }
    return map;
  }

  std::unique_ptr<LaneModel> load_on(const Lane& lane, const LoadOptions& options,
                                     uint32_t page_count = 16) {
    Result<std::unique_ptr<LaneModel>> model = lane.load(spec, write(), options);
    EXPECT_TRUE(model.has_value()) << model.error().message;
    const Result<void> reserved = (*model)->reserve_pages(page_count);
    EXPECT_TRUE(reserved.has_value()) << reserved.error().message;
    return std::move(*model);
  }

  static std::string name(const Key& key) {
    return "weight " + std::to_string(static_cast<int>(key.second)) + " of layer " +
           std::to_string(static_cast<int32_t>(key.first));
  }

  struct Value {
    Shape shape;
    std::vector<float> floats;
  };
  ops::DecoderSpec spec;
  std::map<Key, Value> values;

 private:
  void draw(uint32_t layer, ops::WeightRole role, uint64_t columns, uint64_t rows) {
    // Keeps the variance of activations near 1 through the layers.
    const float spread = rows == 1 ? 1.0F : 1.5F / std::sqrt(static_cast<float>(columns));
    std::normal_distribution<float> value(0.0F, spread);
    Value& drawn = values[{layer, role}];
    drawn.shape = {{columns, rows, 1, 1}, rows == 1 ? 1U : 2U};
    drawn.floats.resize(columns * rows);
    for (float& entry : drawn.floats) entry = value(random_);
  }

  template <typename T>
  static void append(std::string& bytes, T value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  }

  // Blocks of 32: a binary16 step that spans the block, then codes of 8 or 4 bits.
  static void append_block(std::string& bytes, const float* x, DType dtype) {
    float largest = 0.0F;
    for (size_t i = 0; i < 32; ++i) largest = std::max(largest, std::abs(x[i]));
    const uint16_t step = f32_to_f16(largest / (dtype == DType::q8_0 ? 127.0F : 7.0F));
    append(bytes, step);
    int codes[32];
    for (size_t i = 0; i < 32; ++i) {
      codes[i] = largest > 0.0F ? static_cast<int>(std::lround(x[i] / f16_to_f32(step))) : 0;
    }
    if (dtype == DType::q8_0) {
      for (const int code : codes) append(bytes, static_cast<int8_t>(code));
      return;
    }
    for (size_t i = 0; i < 16; ++i) {
      append(bytes, static_cast<uint8_t>((codes[i] + 8) | (codes[i + 16] + 8) << 4));
    }
  }

  static std::string encode(const std::vector<float>& floats, DType dtype) {
    std::string bytes;
    if (dtype == DType::f32) {
      bytes.assign(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
    } else if (dtype == DType::f16) {
      for (const float value : floats) append(bytes, f32_to_f16(value));
    } else {
      for (size_t i = 0; i < floats.size(); i += 32) append_block(bytes, &floats[i], dtype);
    }
    return bytes;
  }

  std::filesystem::path new_path() const {
    static int count = 0;
    return std::filesystem::path(testing::TempDir()) /
           ("qualia_lane_" + std::to_string(getpid()) + "_" + std::to_string(count++) + ".bin");
  }

  std::mt19937 random_{20261130};
  std::vector<std::filesystem::path> files_;
};

// One sequence under test: its pages and how far it is filled.
struct TestSequence {
  std::vector<PageId> pages;
  uint32_t position = 0;
};

// Feeds `tokens` to one sequence in one step; every row's logits.
inline std::vector<std::vector<float>> feed(LaneModel& model, TestSequence& sequence,
                                            const std::vector<TokenId>& tokens) {
  std::vector<Row> rows;
  for (const TokenId token : tokens) {
    rows.push_back({token, 0, sequence.position++, RowOutputKind::logits});
  }
  const SequenceView view{sequence.pages};
  const Result<StepOutput> output = model.forward({rows, {&view, 1}});
  EXPECT_TRUE(output.has_value()) << output.error().message;
  std::vector<std::vector<float>> logits;
  for (const RowOutput& row : output->rows) logits.push_back(row.logits);
  return logits;
}

// `tolerance` 0: bit for bit. Else the largest logit is the same one too.
inline void expect_same(const std::vector<float>& actual, const std::vector<float>& expected,
                        float tolerance) {
  if (tolerance == 0.0F) {
    EXPECT_EQ(actual, expected);
    return;
  }
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(actual[i], expected[i], tolerance) << i;
  const auto best = [](const std::vector<float>& logits) {
    return std::max_element(logits.begin(), logits.end()) - logits.begin();
  };
  EXPECT_EQ(best(actual), best(expected));
}

inline std::vector<TokenId> random_tokens(size_t count, uint32_t vocabulary, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenId> tokens(count);
  for (TokenId& token : tokens) token = static_cast<TokenId>(random() % vocabulary);
  return tokens;
}

}  // namespace qualia::lanes
