// Whole forward passes against an independent computation in double that knows no pages or batches.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "lanes/reference/test_model.h"

namespace qualia::lanes::reference {
namespace {

using ops::WeightRole;
using Vector = std::vector<double>;

Vector norm(const Vector& x, const std::vector<float>& gain, float epsilon) {
  double squares = 0.0;
  for (const double value : x) squares += value * value;
  const double root =
      std::sqrt(squares / static_cast<double>(x.size()) + static_cast<double>(epsilon));
  Vector out(x.size());
  for (size_t i = 0; i < x.size(); ++i) out[i] = x[i] / root * static_cast<double>(gain[i]);
  return out;
}

Vector times(const std::vector<float>& matrix, const Vector& x) {
  Vector y(matrix.size() / x.size());
  for (size_t n = 0; n < y.size(); ++n) {
    for (size_t k = 0; k < x.size(); ++k) {
      y[n] += static_cast<double>(matrix[n * x.size() + k]) * x[k];
    }
  }
  return y;
}

void rotate(const ops::RopeSpec& rope, size_t position, double* head) {
  for (uint32_t i = 0; i < rope.dims / 2; ++i) {
    const bool interleaved = rope.kind == ops::RopeKind::interleaved;
    double& u = head[interleaved ? 2 * i : i];
    double& v = head[interleaved ? 2 * i + 1 : i + rope.dims / 2];
    const double angle = static_cast<double>(position) * static_cast<double>(rope.position_scale) *
                         std::pow(static_cast<double>(rope.frequency_base), -2.0 * i / rope.dims);
    const double old_u = u;
    u = old_u * std::cos(angle) - v * std::sin(angle);
    v = old_u * std::sin(angle) + v * std::cos(angle);
  }
}

// Everything the sequence has seen in one layer.
struct History {
  std::vector<Vector> keys;
  std::vector<Vector> values;
};

Vector attend(const ops::AttentionSpec& spec, const Vector& query, const History& history) {
  const size_t dim = spec.head_dim;
  Vector out(query.size());
  for (size_t head = 0; head < spec.head_count; ++head) {
    const size_t kv = head / (spec.head_count / spec.kv_head_count) * dim;
    Vector weights;
    double total = 0.0;
    for (const Vector& key : history.keys) {
      double score = 0.0;
      for (size_t d = 0; d < dim; ++d) score += query[head * dim + d] * key[kv + d];
      weights.push_back(std::exp(score * static_cast<double>(spec.score_scale)));
      total += weights.back();
    }
    for (size_t p = 0; p < weights.size(); ++p) {
      for (size_t d = 0; d < dim; ++d) {
        out[head * dim + d] += weights[p] / total * history.values[p][kv + d];
      }
    }
  }
  return out;
}

void add(Vector& x, const Vector& y) {
  for (size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

Vector forward_one(TestModel& model, std::vector<History>& histories, TokenId token,
                   size_t position) {
  const ops::DecoderSpec& spec = model.spec;
  const std::vector<float>& embedding = model.at(WeightRole::token_embedding);
  const auto row = embedding.begin() + token * static_cast<std::ptrdiff_t>(spec.width);
  Vector x(row, row + spec.width);
  for (uint32_t i = 0; i < spec.layers.size(); ++i) {
    const ops::AttentionSpec& attention = spec.layers[i].attention;
    const Vector h = norm(x, model.at(WeightRole::attention_norm, i), spec.norm_epsilon);
    Vector query = times(model.at(WeightRole::query, i), h);
    Vector key = times(model.at(WeightRole::key, i), h);
    for (size_t d = 0; d < query.size(); d += attention.head_dim) {
      rotate(attention.rope, position, &query[d]);
    }
    for (size_t d = 0; d < key.size(); d += attention.head_dim) {
      rotate(attention.rope, position, &key[d]);
    }
    histories[i].keys.push_back(key);
    histories[i].values.push_back(times(model.at(WeightRole::value, i), h));
    add(x,
        times(model.at(WeightRole::attention_output, i), attend(attention, query, histories[i])));
    const Vector g = norm(x, model.at(WeightRole::feed_forward_norm, i), spec.norm_epsilon);
    Vector gate = times(model.at(WeightRole::gate, i), g);
    const Vector up = times(model.at(WeightRole::up, i), g);
    for (size_t k = 0; k < gate.size(); ++k) gate[k] *= up[k] / (1.0 + std::exp(-gate[k]));
    add(x, times(model.at(WeightRole::down, i), gate));
  }
  const WeightRole output = spec.output_is_tied ? WeightRole::token_embedding : WeightRole::output;
  return times(model.at(output), norm(x, model.at(WeightRole::output_norm), spec.norm_epsilon));
}

void expect_forward_in_double(TestModel& model, size_t token_count) {
  const std::vector<TokenId> tokens = random_tokens(token_count, model.spec.vocabulary_size, 99);
  const std::unique_ptr<LaneModel> lane = model.load(2);
  TestSequence sequence{{3, 1, 2}};
  const std::vector<std::vector<float>> logits = feed(*lane, sequence, tokens);
  std::vector<History> histories(model.spec.layers.size());
  for (size_t p = 0; p < tokens.size(); ++p) {
    const Vector exact = forward_one(model, histories, tokens[p], p);
    for (size_t i = 0; i < exact.size(); ++i) {
      ASSERT_NEAR(logits[p][i], exact[i], 1e-4) << "position " << p << ", id " << i;
    }
  }
}

class Forward : public testing::TestWithParam<TestShape> {};

TEST_P(Forward, MatchesDoubleArithmetic) {
  TestModel model(GetParam());
  expect_forward_in_double(model, 70);  // two pages
}

INSTANTIATE_TEST_SUITE_P(
    HeadRatiosAndSizes, Forward,
    testing::Values(TestShape{24, 2, 2, 64, 20, 37, 1, false},   // ratio 1
                    TestShape{36, 3, 1, 80, 84, 41, 2, true},    // ratio 3
                    TestShape{33, 4, 1, 96, 31, 29, 1, false},   // ratio 4
                    TestShape{20, 14, 2, 128, 40, 33, 1, true},  // ratio 7
                    TestShape{576, 9, 3, 64, 96, 65, 1, true},   // row N13's width
                    TestShape{16, 2, 1, 112, 8, 17, 1, false},   // row N10's sizes
                    TestShape{16, 2, 1, 160, 8, 17, 1, false},
                    TestShape{16, 1, 1, 192, 8, 17, 1, false},
                    TestShape{16, 8, 1, 256, 8, 17, 1, false},
                    TestShape{1, 1, 1, 2, 1, 1, 3, false}),
    [](const auto& test) {
      return "Heads" + std::to_string(test.param.heads) + "Of" +
             std::to_string(test.param.head_dim) + "Width" + std::to_string(test.param.width);
    });

TEST(ForwardPerLayer, FollowsEachLayersOwnShapeAndRope) {
  TestModel model(TestShape{24, 2, 1, 8, 20, 37, 3, false});
  ops::LayerSpec& middle = model.spec.layers[1];
  middle.attention.head_count = 6;
  middle.attention.kv_head_count = 2;
  middle.attention.head_dim = 12;
  middle.attention.rope = {ops::RopeKind::halves, 8, 500000.0F, 0.25F};
  middle.feed_forward.width = 7;
  model.spec.layers[2].attention.rope.dims = 0;
  model.fill_values();
  expect_forward_in_double(model, 20);
}

}  // namespace
}  // namespace qualia::lanes::reference
