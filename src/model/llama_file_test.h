// Tiny llama files for tests, sound unless a test changes a key or a tensor.
// Thread-safety: one owner. Weights are f32 and the same every time.
// As it starts: width 8, 2 heads of 4 over 1 KV head, feed-forward 12, 1 layer, vocabulary 10.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "support/gguf_writer.h"
#include "tokenizer/byte_letters.h"

namespace qualia::model {

class LlamaFile {
 public:
  using Dims = std::vector<uint64_t>;

  LlamaFile() {
    string("general.architecture", "llama");
    for (const auto& [name, value] : std::initializer_list<std::pair<const char*, uint32_t>>{
             {"llama.block_count", 1},
             {"llama.embedding_length", 8},
             {"llama.context_length", 256},
             {"llama.feed_forward_length", 12},
             {"llama.attention.head_count", 2},
             {"llama.attention.head_count_kv", 1}})
      u32(name, value);
    f32("llama.attention.layer_norm_rms_epsilon", 1e-5F);
    for (const auto& [name, dims] :
         std::initializer_list<std::pair<const char*, Dims>>{{"token_embd.weight", {8, 10}},
                                                             {"output.weight", {8, 10}},
                                                             {"output_norm.weight", {8}},
                                                             {"blk.0.attn_norm.weight", {8}},
                                                             {"blk.0.attn_q.weight", {8, 8}},
                                                             {"blk.0.attn_k.weight", {8, 4}},
                                                             {"blk.0.attn_v.weight", {8, 4}},
                                                             {"blk.0.attn_output.weight", {8, 8}},
                                                             {"blk.0.ffn_norm.weight", {8}},
                                                             {"blk.0.ffn_gate.weight", {8, 12}},
                                                             {"blk.0.ffn_up.weight", {8, 12}},
                                                             {"blk.0.ffn_down.weight", {12, 8}}})
      tensor(name, dims);
  }

  LlamaFile& u32(const std::string& key, uint32_t value) {
    return set(key, [=](test::GgufWriter& to) { to.kv_u32(key, value); });
  }
  LlamaFile& f32(const std::string& key, float value) {
    return set(key, [=](test::GgufWriter& to) { to.kv_f32(key, value); });
  }
  LlamaFile& string(const std::string& key, const std::string& value) {
    return set(key, [=](test::GgufWriter& to) { to.kv_string(key, value); });
  }
  LlamaFile& set(const std::string& key, std::function<void(test::GgufWriter&)> write) {
    pairs_[key] = std::move(write);
    return *this;
  }
  LlamaFile& without(const std::string& key_or_tensor) {
    pairs_.erase(key_or_tensor);
    tensors_.erase(key_or_tensor);
    return *this;
  }
  LlamaFile& tensor(const std::string& name, Dims dims) {
    tensors_[name] = std::move(dims);
    return *this;
  }
  // Factor on all weights but the norms', 1 at the start.
  LlamaFile& weight_scale(float scale) {
    scale_ = scale;
    return *this;
  }

  // The 256 bytes, then <|im_start|> and <|im_end|>, which ends a turn; 258 tokens.
  LlamaFile& byte_tokenizer() {
    std::vector<std::string> tokens;
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back(tokenizer::letters_of_bytes(std::string(1, static_cast<char>(byte))));
    tokens.insert(tokens.end(), {"<|im_start|>", "<|im_end|>"});
    std::vector<int32_t> types(256, 1);
    types.insert(types.end(), {3, 3});
    string("tokenizer.ggml.model", "gpt2");
    string("tokenizer.ggml.pre", "gpt-2");
    set("tokenizer.ggml.tokens",
        [=](test::GgufWriter& to) { to.kv_strings("tokenizer.ggml.tokens", tokens); });
    set("tokenizer.ggml.token_type",
        [=](test::GgufWriter& to) { to.kv_i32s("tokenizer.ggml.token_type", types); });
    u32("tokenizer.ggml.eos_token_id", 257);
    tensor("token_embd.weight", {8, 258});
    return tensor("output.weight", {8, 258});
  }

  std::string bytes() const { return writer().bytes(); }
  void write(const std::filesystem::path& path) const { writer().write(path); }

 private:
  test::GgufWriter writer() const {
    test::GgufWriter to;
    for (const auto& [key, write] : pairs_) write(to);
    uint32_t random = 12345;
    for (const auto& [name, dims] : tensors_) to.tensor(name, dims, 0, values(name, dims, random));
    return to;
  }

  // Numbers of a linear congruential generator (Numerical Recipes), in [-scale, scale).
  std::string values(const std::string& name, const Dims& dims, uint32_t& random) const {
    const bool is_norm = name.find("norm") != std::string::npos;
    uint64_t count = 1;
    for (const uint64_t dim : dims) count *= dim;
    test::GgufBytes data;
    for (uint64_t i = 0; i < count; ++i) {
      random = random * 1664525U + 1013904223U;
      const float value = static_cast<float>(random >> 8) * 0x1p-23F - 1.0F;
      data.number(is_norm ? 1.0F : value * scale_);
    }
    return data.str();
  }

  float scale_ = 1.0F;
  std::map<std::string, std::function<void(test::GgufWriter&)>> pairs_;
  std::map<std::string, Dims> tensors_;
};

}  // namespace qualia::model
