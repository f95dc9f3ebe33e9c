// The kernels of a model's layers and outputs, bound to its weights and workspace, and the commands
// of a step made of them.
// Thread-safety: one owner.
// Errors: internal where a kernel does not compile; out_of_memory from the device.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "lanes/lane.h"
#include "lanes/wgpu/commands.h"
#include "lanes/wgpu/kv_pages.h"
#include "lanes/wgpu/matrix.h"
#include "lanes/wgpu/toggles.h"
#include "lanes/wgpu/workspace.h"

namespace qualia::lanes::wgpu {

struct BoundKernel {
  const Kernel* kernel = nullptr;
  BindGroup group;
};

// Rows that products of few rows take at a time.
inline constexpr uint32_t kBlockRowsMax = 8;

enum class Epilogue : uint32_t { store = 0, add = 1, activate = 2 };
// Whether a product divides by the root mean square that lies beside its input (prepare.wgsl).
enum class InputNorm { done, pending };

// A product bound to its operands. Kernels are compiled when a number of rows is first met.
struct BoundProduct {
  const Matrix* matrix = nullptr;
  const Forms* forms = nullptr;
  Epilogue epilogue = Epilogue::store;
  uint32_t out_stride = 0;
  InputNorm norm = InputNorm::done;
  uint32_t op = 0;
  struct Part {
    BindGroup group;
    std::array<const Kernel*, 5> kernels{};  // for 1, 2, 4, 8 rows, and the tile
  };
  std::vector<Part> parts;
};

// A product whose results come in the forms that the next one reads (product_block.wgsl).
struct BoundBlock {
  const Matrix* matrix = nullptr;
  const Forms* in = nullptr;
  const Forms* out = nullptr;
  bool is_activate = false;  // else it adds to the residual stream
  uint32_t width = 0;        // columns of the result
  uint32_t op = 0;
  struct Part {
    BindGroup group;
    std::array<const Kernel*, 4> kernels{};  // for 1, 2, 4, 8 rows
  };
  std::vector<Part> parts;
};

// What the commands of a step are made for.
struct StepShape {
  uint32_t rows = 0;
  uint32_t max_position = 0;
  std::vector<uint32_t> positions;  // of the rows
  uint32_t map_at = 0;              // in the step buffer: rows that want outputs
  uint32_t outputs = 0;
  bool has_one_row_a_sequence = false;
  uint32_t first_table = 0;           // in the step buffer: the page table of row 0
  std::vector<uint32_t> angles_at{};  // per layer: where its angles begin
};

struct LayerWeights {
  Buffer attention_norm;
  Matrix qkv;
  Matrix attention_output;
  Buffer feed_forward_norm;
  Matrix gate_up;
  Matrix down;
};

struct Weights {
  Matrix embedding;  // without parts where it is tied: then `output` serves
  std::vector<LayerWeights> layers;
  Buffer output_norm;
  Matrix output;
  uint64_t held_bytes = 0;
  uint64_t step_bytes = 0;
};

class Layers {
 public:
  // On the heap: products point to the forms that they read.
  static Result<std::unique_ptr<Layers>> create(Device& device, const ops::DecoderSpec& spec,
                                                const Weights& weights, const KvPages& pages,
                                                Precision precision, const Toggles& toggles,
                                                profile::Recorder& ops);

  // Binds the layers to the KV pages' present buffers.
  Result<void> bind_pages(const KvPages& pages);

  // All layers of a step; `parity` says which of the two results buffers holds the last step's.
  Result<void> add_layers(const StepShape& shape, uint32_t parity, std::vector<Command>& commands);
  // Logits and chosen ids of output rows [first, first + count) of the step's map.
  Result<void> add_outputs(const StepShape& shape, uint32_t first, uint32_t count,
                           uint32_t first_result, uint32_t parity, std::vector<Command>& commands);
  // The k best of the rows whose logits are held; the index of the buffer of `best` they end in.
  Result<uint32_t> add_top_k(uint32_t count, uint32_t k, std::vector<Command>& commands);

  Workspace& work() { return work_; }

 private:
  struct Layer {
    BoundKernel attention_norm;
    BoundProduct qkv;
    BoundKernel rope_store;
    BoundKernel attend;
    BoundKernel attend_merge;
    BoundProduct attention_output;
    BoundKernel feed_forward_norm;
    // Few rows: the product applies the activation itself, where it can. Many: it stores both.
    BoundProduct gate_up_fused;
    BoundKernel activate_fused;
    BoundProduct gate_up;
    BoundKernel activate;
    BoundProduct down;
    uint32_t tile_heads = 1;
    // For few rows, where the device runs product_block.wgsl.
    BoundProduct qkv_pending;
    BoundKernel attend_fused;
    BoundKernel attend_direct;  // fused, and each row one chunk
    BoundBlock attention_output_block;
    BoundBlock gate_up_block;
    BoundBlock down_block;
  };
  struct Ops {
    uint32_t embedding, attention_norm, qkv, rope_store, attend, attend_merge, attention_output,
        feed_forward_norm, gate_up, activate, down, output_norm, output, argmax, top_k;
  };

  Layers(Device& device, const ops::DecoderSpec& spec, const Weights& weights, Precision precision,
         const Toggles& toggles)
      : device_(&device),
        spec_(&spec),
        weights_(&weights),
        precision_(precision),
        toggles_(toggles) {}

  Result<void> create_buffers(const KvPages& pages);
  Result<void> bind_all(const KvPages& pages);
  Result<void> bind_embedding();
  const Matrix& embedding_table() const {
    return weights_->embedding.parts.empty() ? weights_->output : weights_->embedding;
  }
  Result<Layer> bind_layer(size_t index, const KvPages& pages);
  Result<void> bind_attention(size_t index, const KvPages& pages, Layer& layer);
  Result<void> bind_outputs();
  Result<void> bind_top_k();
  Result<BoundKernel> bind_norm(const Buffer& gain, const Forms& forms, uint32_t k);
  Result<BoundProduct> bind_product(const Matrix& matrix, const Forms& forms, const Buffer& y,
                                    uint32_t out_stride, Epilogue epilogue, uint32_t op,
                                    InputNorm norm = InputNorm::done);
  Result<const Kernel*> product_kernel(const BoundProduct& product, size_t part, uint32_t rows,
                                       bool is_tile);
  Result<void> add_product(BoundProduct& product, uint32_t rows, std::vector<Command>& commands);
  Result<void> add_product_part(BoundProduct& product, size_t part, uint32_t first_x, uint32_t rows,
                                bool is_tile, std::vector<Command>& commands);
  void add_norm(const BoundKernel& norm, uint32_t op, uint32_t rows, uint32_t map,
                std::vector<Command>& commands) const;
  Result<BoundKernel> bind_activate(bool is_fused);
  Result<void> add_feed_forward(Layer& layer, uint32_t hidden, uint32_t rows,
                                std::vector<Command>& commands);
  bool uses_tile(uint32_t rows) const {
    return toggles_.tile_from_rows != 0 && rows >= toggles_.tile_from_rows;
  }
  void add_attention(const Layer& layer, size_t index, const StepShape& shape,
                     std::vector<Command>& commands) const;
  bool can_fuse() const;
  bool is_fused(const StepShape& shape) const { return has_blocks_ && shape.rows <= kBlockRowsMax; }
  Result<void> bind_blocks(size_t index, Layer& layer);
  Result<BoundBlock> bind_block(const Matrix& matrix, const Forms& in, const Forms& out,
                                const Buffer* gain, uint32_t op);
  uint32_t block_rows_of(const BoundBlock& block, uint32_t rows) const;
  Result<void> bind_direct(std::vector<ShaderConstant> constants, const Buffer& pages,
                           Layer& layer);
  Result<const Kernel*> block_kernel(const BoundBlock& block, size_t part, uint32_t rows);
  Result<void> add_block(BoundBlock& block, uint32_t rows, std::vector<Command>& commands);
  Result<void> add_fused_layer(size_t index, const StepShape& shape,
                               std::vector<Command>& commands);
  Result<void> add_layer(size_t index, const StepShape& shape, std::vector<Command>& commands);
  std::vector<ShaderConstant> forms_constants(const Forms& forms, uint32_t threads) const;

  Device* device_;
  const ops::DecoderSpec* spec_;
  const Weights* weights_;
  Precision precision_;
  Toggles toggles_;
  Ops ops_{};
  Workspace work_;
  Forms normed_;       // input of qkv and gate_up, and of the output matrix for few rows
  Buffer squares_;     // [kBlockRowsMax][groups * 2]: of the residual stream, beside normed_
  Buffer nothing_[4];  // what a kernel binds and does not use
  bool has_blocks_ = false;
  Forms attended_;   // input of the attention's output
  Forms activated_;  // input of down
  Forms final_;      // input of the output matrix
  std::vector<Layer> layers_;
  std::vector<BoundKernel> embedding_[2];  // a part of the table each
  BoundKernel output_norm_;
  BoundProduct output_;
  BoundKernel prepare_;
  BoundProduct output_pending_;
  BoundKernel argmax_[2];
  BoundKernel argmax_merge_[2];
  BoundKernel top_k_first_;
  BoundKernel top_k_next_[2];
};

}  // namespace qualia::lanes::wgpu
