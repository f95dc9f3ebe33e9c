// Compiling the kernels of a model and binding them to its buffers.
#include "lanes/wgpu/layers.h"

#include <algorithm>
#include <bit>

#include "base/error.h"
#include "lanes/wgpu/layer_sizes.h"

namespace qualia::lanes::wgpu {
namespace {

std::vector<ShaderConstant> plane_constants(const PlaneFormat& format) {
  return {{"CODE", static_cast<uint32_t>(format.code)},
          {"SCALES", format.scale_count},
          {"HAS_MIN", format.has_min},
          {"IS_WIDE", format.is_wide},
          {"HAS_FACTORS", format.has_row_factors}};
}

std::vector<ShaderConstant> kv_constants(const KvShape& shape, uint32_t heads) {
  return {{"HEAD_DIM", shape.head_dim},
          {"PADDED_DIM", shape.padded_dim()},
          {"KV_BITS", shape.bits},
          {"KV_HEADS", shape.kv_heads},
          {"HEADS", heads}};
}

// Bytes of workgroup memory that attend.wgsl takes.
uint32_t attend_bytes(uint32_t tile_heads, const KvShape& shape, uint32_t threads) {
  const uint32_t value_words = shape.padded_dim() * shape.bits / 32;
  const uint32_t splits = std::max(threads / value_words, 1U);
  const uint32_t floats_a_head = (1 + splits) * shape.padded_dim() + threads + 64 + 32;
  const uint32_t newest = 4 * shape.padded_dim() + 128;
  const uint32_t forms = 3 * threads;
  return (tile_heads * floats_a_head + newest + forms) * 4;
}

// Query heads of a kv head that one workgroup of attend.wgsl takes: 16 threads each, and what its
// memory holds.
uint32_t tile_heads_of(uint32_t ratio, const KvShape& shape, uint32_t threads,
                       uint32_t workgroup_bytes) {
  uint32_t tile = std::min(ratio, 8U);
  while (tile > 1 && (ratio % tile != 0 || attend_bytes(tile, shape, threads) > workgroup_bytes)) {
    --tile;
  }
  return tile;
}

uint32_t qkv_columns(const ops::AttentionSpec& attention) {
  return (attention.head_count + 2 * attention.kv_head_count) * attention.head_dim;
}

}  // namespace

Result<std::unique_ptr<Layers>> Layers::create(Device& device, const ops::DecoderSpec& spec,
                                               const Weights& weights, const KvPages& pages,
                                               Precision precision, const Toggles& toggles,
                                               profile::Recorder& ops) {
  std::unique_ptr<Layers> layers(new Layers(device, spec, weights, precision, toggles));
  layers->ops_ = {ops.op("embedding", Phase::embedding),
                  ops.op("attention_norm", Phase::gemm),
                  ops.op("qkv", Phase::gemm),
                  ops.op("rope_store", Phase::attention),
                  ops.op("attend", Phase::attention),
                  ops.op("attend_merge", Phase::attention),
                  ops.op("attention_output", Phase::gemm),
                  ops.op("feed_forward_norm", Phase::gemm),
                  ops.op("gate_up", Phase::gemm),
                  ops.op("activate", Phase::gemm),
                  ops.op("down", Phase::gemm),
                  ops.op("output_norm", Phase::output_topk),
                  ops.op("output", Phase::output_topk),
                  ops.op("argmax", Phase::output_topk),
                  ops.op("top_k", Phase::output_topk)};
  QUALIA_TRY(layers->create_buffers(pages));
  QUALIA_TRY(layers->bind_all(pages));
  return layers;
}

Result<void> Layers::create_buffers(const KvPages& pages) {
  WorkspaceShape shape;
  shape.width = spec_->width;
  shape.vocabulary = spec_->vocabulary_size;
  uint32_t attended_k = 0;
  uint32_t hidden_k = 0;
  bool int8[3] = {};
  bool f32[3] = {};
  for (size_t i = 0; i < spec_->layers.size(); ++i) {
    const ops::AttentionSpec& attention = spec_->layers[i].attention;
    const uint32_t padded = pages.shape(i).padded_dim();
    shape.qkv_columns = std::max(shape.qkv_columns, qkv_columns(attention));
    shape.query_floats = std::max(shape.query_floats, attention.head_count * padded);
    shape.heads = std::max(shape.heads, attention.head_count);
    attended_k = std::max(attended_k, attention.head_count * attention.head_dim);
    hidden_k = std::max(hidden_k, spec_->layers[i].feed_forward.width);
    const LayerWeights& weights = weights_->layers[i];
    const Matrix* const inputs[3][2] = {{&weights.qkv, &weights.gate_up},
                                        {&weights.attention_output, nullptr},
                                        {&weights.down, nullptr}};
    for (size_t form = 0; form < 3; ++form) {
      for (const Matrix* matrix : inputs[form]) {
        if (!matrix) continue;
        int8[form] = int8[form] || matrix->reads_int8(precision_);
        f32[form] = f32[form] || matrix->reads_f32(precision_);
      }
    }
  }
  shape.hidden_columns = 2 * hidden_k;
  const uint32_t parts = precision_ == Precision::precise ? 2 : 1;
  has_blocks_ = can_fuse();
  if (has_blocks_) {
    int8[0] = int8[0] || weights_->output.reads_int8(precision_);
    f32[0] = f32[0] || weights_->output.reads_f32(precision_);
  }
  const uint64_t squares = kBlockRowsMax * uint64_t{divide_up(spec_->width, 32)} * 2;
  QUALIA_ASSIGN(squares_, device_->create_buffer(squares * sizeof(float), BufferUse::storage));
  for (Buffer& nothing : nothing_) {
    QUALIA_ASSIGN(nothing, device_->create_buffer(16, BufferUse::storage));
  }
  QUALIA_ASSIGN(work_, Workspace::create(*device_, shape));
  QUALIA_ASSIGN(normed_, Forms::create(*device_, kRowsMax, spec_->width, int8[0], f32[0], parts));
  QUALIA_ASSIGN(attended_, Forms::create(*device_, kRowsMax, attended_k, int8[1], f32[1], parts));
  QUALIA_ASSIGN(activated_, Forms::create(*device_, kRowsMax, hidden_k, int8[2], f32[2], parts));
  QUALIA_ASSIGN(final_, Forms::create(*device_, kOutputRowsMax, spec_->width,
                                      weights_->output.reads_int8(precision_),
                                      weights_->output.reads_f32(precision_), parts));
  return {};
}

std::vector<ShaderConstant> Layers::forms_constants(const Forms& forms, uint32_t threads) const {
  return {{"THREADS", threads},
          {"WANTS_INT8", forms.wants_int8},
          {"WANTS_F32", forms.wants_f32},
          {"PARTS", forms.parts}};
}

Result<void> Layers::bind_embedding() {
  for (size_t parity = 0; parity < 2; ++parity) {
    for (const MatrixPart& part : embedding_table().parts) {
      BoundKernel bound;
      QUALIA_ASSIGN(bound.kernel,
                    device_->kernel("embedding", plane_constants(part.format), "rrrrrw"));
      const Binding bindings[] = {
          whole(part.codes), whole(part.scales),           whole(part.factors),
          whole(work_.step), whole(work_.results[parity]), whole(work_.x)};
      QUALIA_ASSIGN(bound.group, device_->bind(*bound.kernel, bindings));
      embedding_[parity].push_back(std::move(bound));
    }
  }
  return {};
}

Result<void> Layers::bind_all(const KvPages& pages) {
  QUALIA_TRY(bind_embedding());
  for (size_t i = 0; i < spec_->layers.size(); ++i) {
    QUALIA_ASSIGN(Layer layer, bind_layer(i, pages));
    layers_.push_back(std::move(layer));
  }
  return bind_outputs();
}

Result<BoundKernel> Layers::bind_norm(const Buffer& gain, const Forms& forms, uint32_t k) {
  std::vector<ShaderConstant> constants = forms_constants(forms, kNormThreads);
  constants.push_back({"QUADS", divide_up((k + 31) / 32 * 8, kNormThreads)});
  constants.push_back({"HAS_SUBGROUPS", toggles_.has_subgroups});
  BoundKernel norm;
  QUALIA_ASSIGN(norm.kernel, device_->kernel("norm", constants, "rrrwww"));
  const Binding bindings[] = {whole(work_.x),     whole(gain),       whole(work_.step),
                              whole(forms.codes), whole(forms.meta), whole(forms.floats)};
  QUALIA_ASSIGN(norm.group, device_->bind(*norm.kernel, bindings));
  return norm;
}

Result<Layers::Layer> Layers::bind_layer(size_t index, const KvPages& pages) {
  const LayerWeights& weights = weights_->layers[index];
  const ops::LayerSpec& spec = spec_->layers[index];
  const uint32_t width = spec_->width;
  const uint32_t hidden = spec.feed_forward.width;
  Layer layer;
  QUALIA_ASSIGN(layer.attention_norm, bind_norm(weights.attention_norm, normed_, width));
  QUALIA_ASSIGN(layer.qkv, bind_product(weights.qkv, normed_, work_.qkv,
                                        qkv_columns(spec.attention), Epilogue::store, ops_.qkv));
  QUALIA_TRY(bind_attention(index, pages, layer));
  QUALIA_ASSIGN(layer.attention_output, bind_product(weights.attention_output, attended_, work_.x,
                                                     width, Epilogue::add, ops_.attention_output));
  QUALIA_ASSIGN(layer.feed_forward_norm, bind_norm(weights.feed_forward_norm, normed_, width));
  QUALIA_ASSIGN(layer.gate_up, bind_product(weights.gate_up, normed_, work_.hidden, 2 * hidden,
                                            Epilogue::store, ops_.gate_up));
  QUALIA_ASSIGN(layer.activate, bind_activate(false));
  if (toggles_.ffn_fusion && weights.gate_up.is_interleaved) {
    QUALIA_ASSIGN(layer.gate_up_fused, bind_product(weights.gate_up, normed_, work_.hidden, hidden,
                                                    Epilogue::activate, ops_.gate_up));
    QUALIA_ASSIGN(layer.activate_fused, bind_activate(true));
  }
  QUALIA_ASSIGN(layer.down,
                bind_product(weights.down, activated_, work_.x, width, Epilogue::add, ops_.down));
  if (has_blocks_) QUALIA_TRY(bind_blocks(index, layer));
  return layer;
}

// Blocks of 32 results need parts that begin at whole blocks.
bool Layers::can_fuse() const {
  if (toggles_.block_teams == 0 || !toggles_.ffn_fusion) return false;
  const auto is_whole = [](const Matrix& matrix, uint32_t unit) {
    return std::all_of(matrix.parts.begin(), matrix.parts.end(), [&](const MatrixPart& part) {
      return part.out_step == 1 && part.first_out % unit == 0;
    });
  };
  return std::all_of(weights_->layers.begin(), weights_->layers.end(),
                     [&](const LayerWeights& layer) {
                       return is_whole(layer.attention_output, 32) && is_whole(layer.down, 32) &&
                              layer.gate_up.is_interleaved && is_whole(layer.gate_up, 64);
                     });
}

Result<void> Layers::bind_blocks(size_t index, Layer& layer) {
  const LayerWeights& weights = weights_->layers[index];
  QUALIA_ASSIGN(layer.qkv_pending, bind_product(weights.qkv, normed_, work_.qkv,
                                                qkv_columns(spec_->layers[index].attention),
                                                Epilogue::store, ops_.qkv, InputNorm::pending));
  QUALIA_ASSIGN(layer.attention_output_block,
                bind_block(weights.attention_output, attended_, normed_, &weights.feed_forward_norm,
                           ops_.attention_output));
  QUALIA_ASSIGN(layer.gate_up_block,
                bind_block(weights.gate_up, normed_, activated_, nullptr, ops_.gate_up));
  const bool is_last = index + 1 == weights_->layers.size();
  const Buffer& next_gain =
      is_last ? weights_->output_norm : weights_->layers[index + 1].attention_norm;
  QUALIA_ASSIGN(layer.down_block,
                bind_block(weights.down, activated_, normed_, &next_gain, ops_.down));
  return {};
}

Result<BoundBlock> Layers::bind_block(const Matrix& matrix, const Forms& in, const Forms& out,
                                      const Buffer* gain, uint32_t op) {
  BoundBlock block;
  block.matrix = &matrix;
  block.in = &in;
  block.out = &out;
  block.is_activate = gain == nullptr;
  block.width = block.is_activate ? matrix.n / 2 : matrix.n;
  block.op = op;
  block.parts.resize(matrix.parts.size());
  for (size_t i = 0; i < matrix.parts.size(); ++i) {
    const MatrixPart& part = matrix.parts[i];
    QUALIA_ASSIGN(const Kernel* const kernel, block_kernel(block, i, 1));
    std::vector<Binding> bindings = {whole(part.codes),
                                     whole(part.scales),
                                     whole(part.factors),
                                     whole(in.codes),
                                     whole(in.meta),
                                     whole(in.floats),
                                     whole(block.is_activate ? squares_ : nothing_[0]),
                                     whole(out.codes),
                                     whole(out.meta),
                                     whole(out.floats)};
    if (gain) {
      bindings.push_back(whole(work_.x));
      bindings.push_back(whole(*gain));
      bindings.push_back(whole(squares_));
    }
    QUALIA_ASSIGN(block.parts[i].group, device_->bind(*kernel, bindings));
    block.parts[i].kernels[0] = kernel;
  }
  return block;
}

// Rows of W that a team takes at a time: all of its share, unless registers run short.
uint32_t Layers::block_rows_of(const BoundBlock& block, uint32_t rows) const {
  const uint32_t turns = block.is_activate ? 2 : 1;
  const uint32_t share = toggles_.block_outputs * turns / toggles_.block_teams;
  return rows >= 4 ? std::min(share, 2U) : share;
}

Result<const Kernel*> Layers::block_kernel(const BoundBlock& block, size_t part, uint32_t rows) {
  const PlaneFormat& format = block.matrix->parts[part].format;
  std::vector<ShaderConstant> constants = plane_constants(format);
  const bool is_int8 = format.is_integer() && precision_ != Precision::exact;
  const uint32_t teams = toggles_.block_teams;
  for (const ShaderConstant& constant : forms_constants(*block.out, teams * 32)) {
    constants.push_back(constant);
  }
  constants.push_back({"HALF_STEPS", toggles_.block_outputs == 16});
  constants.push_back({"OUTPUTS", toggles_.block_outputs});
  constants.push_back({"TEAMS", teams});
  constants.push_back({"ROWS", block_rows_of(block, rows)});
  if (block.is_activate) constants.push_back({"WIDTH", spec_->width});
  constants.push_back({"M", rows});
  constants.push_back({"UNROLL", rows == 1 ? toggles_.block_unroll : 1});
  constants.push_back({"IS_INT8", is_int8});
  // Gate and up read the stream before its norm is divided; the others read finished values.
  constants.push_back({"HAS_NORM", block.is_activate});
  constants.push_back({"EPILOGUE", block.is_activate ? 2U : 1U});
  constants.push_back({"IN_PARTS", is_int8 ? block.in->parts : 1});
  constants.push_back({"HAS_SUBGROUPS", toggles_.has_subgroups});
  return device_->kernel("product_block", constants,
                         block.is_activate ? "rrrrrrrwww" : "rrrrrrrwwwwrw");
}

Result<BoundKernel> Layers::bind_activate(bool is_fused) {
  std::vector<ShaderConstant> constants = forms_constants(activated_, kFormThreads);
  constants.push_back({"IS_FUSED", is_fused});
  BoundKernel bound;
  QUALIA_ASSIGN(bound.kernel, device_->kernel("activate", constants, "rwww"));
  const Binding bindings[] = {whole(work_.hidden), whole(activated_.codes), whole(activated_.meta),
                              whole(activated_.floats)};
  QUALIA_ASSIGN(bound.group, device_->bind(*bound.kernel, bindings));
  return bound;
}

Result<void> Layers::bind_attention(size_t index, const KvPages& pages, Layer& layer) {
  const ops::AttentionSpec& attention = spec_->layers[index].attention;
  const KvShape& shape = pages.shape(index);
  if (pages.page_count() == 0) return {};
  const Buffer& buffer = pages.buffer(index);
  std::vector<ShaderConstant> constants = kv_constants(shape, attention.head_count);
  constants.push_back({"ROPE_DIMS", attention.rope.dims});
  constants.push_back({"IS_INTERLEAVED", attention.rope.kind == ops::RopeKind::interleaved});
  QUALIA_ASSIGN(layer.rope_store.kernel, device_->kernel("rope_store", constants, "rrww"));
  const Binding rope[] = {whole(work_.qkv), whole(work_.step), whole(work_.queries), whole(buffer)};
  QUALIA_ASSIGN(layer.rope_store.group, device_->bind(*layer.rope_store.kernel, rope));

  layer.tile_heads =
      tile_heads_of(attention.head_count / attention.kv_head_count, shape, toggles_.attend_threads,
                    device_->facts().limits.maxComputeWorkgroupStorageSize);
  constants.push_back({"TILE_HEADS", layer.tile_heads});
  constants.push_back({"THREADS", toggles_.attend_threads});
  constants.push_back({"CHUNKS_MAX", kChunksMax});
  constants.push_back({"DIRECT_PAGES", kDirectPages});
  QUALIA_ASSIGN(layer.attend.kernel, device_->kernel("attend", constants, "rwwrrr"));
  const Binding attend[] = {whole(work_.step),    whole(work_.partials), whole(work_.stats),
                            whole(work_.queries), whole(buffer),         whole(buffer)};
  QUALIA_ASSIGN(layer.attend.group, device_->bind(*layer.attend.kernel, attend));
  if (has_blocks_) {
    constants.push_back({"FUSED", 1});
    QUALIA_ASSIGN(layer.attend_fused.kernel, device_->kernel("attend", constants, "rwwrw"));
    const Binding fused[] = {whole(work_.step), whole(work_.partials), whole(work_.stats),
                             whole(work_.qkv), whole(buffer)};
    QUALIA_ASSIGN(layer.attend_fused.group, device_->bind(*layer.attend_fused.kernel, fused));
    if (shape.head_dim % 32 == 0) QUALIA_TRY(bind_direct(std::move(constants), buffer, layer));
  }

  constants = forms_constants(attended_, kFormThreads);
  constants.push_back({"HEADS", attention.head_count});
  constants.push_back({"HEAD_DIM", shape.head_dim});
  constants.push_back({"PADDED_DIM", shape.padded_dim()});
  constants.push_back({"CHUNKS_MAX", kChunksMax});
  constants.push_back({"DIRECT_PAGES", kDirectPages});
  QUALIA_ASSIGN(layer.attend_merge.kernel, device_->kernel("attend_merge", constants, "rrrwww"));
  const Binding merge[] = {whole(work_.partials),  whole(work_.stats),    whole(work_.step),
                           whole(attended_.codes), whole(attended_.meta), whole(attended_.floats)};
  QUALIA_ASSIGN(layer.attend_merge.group, device_->bind(*layer.attend_merge.kernel, merge));
  return {};
}

Result<void> Layers::bind_direct(std::vector<ShaderConstant> constants, const Buffer& pages,
                                 Layer& layer) {
  constants.push_back({"IS_DIRECT", 1});
  for (const ShaderConstant& constant : forms_constants(attended_, 0)) {
    if (constant.name != "THREADS") constants.push_back(constant);
  }
  QUALIA_ASSIGN(layer.attend_direct.kernel, device_->kernel("attend", constants, "rwwrwrw"));
  const Binding bindings[] = {whole(work_.step),      whole(attended_.codes), whole(attended_.meta),
                              whole(work_.qkv),       whole(pages),           whole(nothing_[1]),
                              whole(attended_.floats)};
  QUALIA_ASSIGN(layer.attend_direct.group, device_->bind(*layer.attend_direct.kernel, bindings));
  return {};
}

Result<void> Layers::bind_pages(const KvPages& pages) {
  for (size_t i = 0; i < layers_.size(); ++i) QUALIA_TRY(bind_attention(i, pages, layers_[i]));
  return {};
}

Result<void> Layers::bind_outputs() {
  QUALIA_ASSIGN(output_norm_, bind_norm(weights_->output_norm, final_, spec_->width));
  QUALIA_ASSIGN(output_, bind_product(weights_->output, final_, work_.logits,
                                      spec_->vocabulary_size, Epilogue::store, ops_.output));
  if (has_blocks_) {
    QUALIA_ASSIGN(output_pending_,
                  bind_product(weights_->output, normed_, work_.logits, spec_->vocabulary_size,
                               Epilogue::store, ops_.output, InputNorm::pending));
    QUALIA_ASSIGN(prepare_.kernel,
                  device_->kernel("prepare", forms_constants(normed_, kFormThreads), "rrwwww"));
    const Binding bindings[] = {
        whole(work_.x),        whole(weights_->layers.front().attention_norm),
        whole(normed_.codes),  whole(normed_.meta),
        whole(normed_.floats), whole(squares_)};
    QUALIA_ASSIGN(prepare_.group, device_->bind(*prepare_.kernel, bindings));
  }
  for (uint32_t parity = 0; parity < 2; ++parity) {
    for (const bool is_merge : {false, true}) {
      BoundKernel& bound = is_merge ? argmax_merge_[parity] : argmax_[parity];
      const ShaderConstant constants[] = {{"IS_MERGE", is_merge}};
      QUALIA_ASSIGN(bound.kernel, device_->kernel("argmax", constants, "rww"));
      const Binding bindings[] = {whole(work_.logits), whole(work_.slices),
                                  whole(work_.results[parity])};
      QUALIA_ASSIGN(bound.group, device_->bind(*bound.kernel, bindings));
    }
  }
  return {};
}

Result<BoundProduct> Layers::bind_product(const Matrix& matrix, const Forms& forms, const Buffer& y,
                                          uint32_t out_stride, Epilogue epilogue, uint32_t op,
                                          InputNorm norm) {
  BoundProduct product;
  product.matrix = &matrix;
  product.forms = &forms;
  product.epilogue = epilogue;
  product.out_stride = out_stride;
  product.norm = norm;
  product.op = op;
  product.parts.resize(matrix.parts.size());
  for (size_t i = 0; i < matrix.parts.size(); ++i) {
    const MatrixPart& part = matrix.parts[i];
    QUALIA_ASSIGN(const Kernel* const kernel, product_kernel(product, i, 1, false));
    const Binding bindings[] = {whole(part.codes),  whole(part.scales), whole(part.factors),
                                whole(forms.codes), whole(forms.meta),  whole(forms.floats),
                                whole(y),           whole(squares_)};
    QUALIA_ASSIGN(product.parts[i].group, device_->bind(*kernel, bindings));
    product.parts[i].kernels[0] = kernel;
  }
  return product;
}

Result<const Kernel*> Layers::product_kernel(const BoundProduct& product, size_t part,
                                             uint32_t rows, bool is_tile) {
  const PlaneFormat& format = product.matrix->parts[part].format;
  std::vector<ShaderConstant> constants = plane_constants(format);
  const bool is_int8 = format.is_integer() && precision_ != Precision::exact;
  constants.push_back({"IN_PARTS", is_int8 ? product.forms->parts : 1});
  constants.push_back({"EPILOGUE", static_cast<uint32_t>(product.epilogue)});
  if (is_tile) return device_->kernel("product_tile", constants, "rrrrrrwr");
  constants.push_back({"IS_INT8", is_int8});
  // Kernels that divide by no norm are the same for every width.
  const bool has_norm = product.norm == InputNorm::pending;
  constants.push_back({"HAS_NORM", has_norm});
  if (has_norm) constants.push_back({"WIDTH", spec_->width});
  constants.push_back({"THREADS", toggles_.product_threads});
  // Eight rows of x by eight of W would not fit the registers.
  constants.push_back(
      {"ROWS", rows >= 4 ? std::min(toggles_.product_rows, 4U) : toggles_.product_rows});
  constants.push_back({"M", rows});
  constants.push_back({"UNROLL", rows == 1 ? toggles_.product_unroll : 1});
  constants.push_back({"HAS_SUBGROUPS", toggles_.has_subgroups});
  return device_->kernel("product", constants, "rrrrrrwr");
}

// top_k.wgsl: from the logits to best[0], then from one of the two to the other by turns.
Result<void> Layers::bind_top_k() {
  const auto bind = [&](bool is_first, const Buffer& from, const Buffer& to,
                        BoundKernel& bound) -> Result<void> {
    const ShaderConstant constants[] = {{"IS_FIRST", is_first}};
    QUALIA_ASSIGN(bound.kernel, device_->kernel("top_k", constants, "rrw"));
    const Binding bindings[] = {whole(work_.logits), whole(from), whole(to)};
    QUALIA_ASSIGN(bound.group, device_->bind(*bound.kernel, bindings));
    return {};
  };
  QUALIA_TRY(bind(false, work_.best[1], work_.best[0], top_k_next_[0]));
  QUALIA_TRY(bind(false, work_.best[0], work_.best[1], top_k_next_[1]));
  return bind(true, work_.best[1], work_.best[0], top_k_first_);
}

}  // namespace qualia::lanes::wgpu
