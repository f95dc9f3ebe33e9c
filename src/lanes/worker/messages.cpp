#include "lanes/worker/messages.h"

#include <algorithm>

#include "base/error.h"

// Fields are taken apart by structured bindings, and values of enums are listed in switches: a new
// field or value does not compile until it is carried.
namespace qualia::lanes::worker {
namespace {

constexpr bool is_known(ErrorCode code) {
  switch (code) {
    case ErrorCode::invalid_argument:
    case ErrorCode::not_found:
    case ErrorCode::corrupt_file:
    case ErrorCode::unsupported:
    case ErrorCode::io:
    case ErrorCode::out_of_memory:
    case ErrorCode::context_full:
    case ErrorCode::device_lost:
    case ErrorCode::cancelled:
    case ErrorCode::numeric:
    case ErrorCode::internal:
      return true;
  }
  return false;
}

constexpr bool is_known(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
    case LogLevel::debug:
    case LogLevel::info:
    case LogLevel::warn:
    case LogLevel::error:
    case LogLevel::off:
      return true;
  }
  return false;
}

constexpr bool is_known(Precision precision) {
  switch (precision) {
    case Precision::fast:
    case Precision::precise:
    case Precision::exact:
      return true;
  }
  return false;
}

constexpr bool is_known(KvType kv) {
  switch (kv) {
    case KvType::automatic:
    case KvType::int8:
    case KvType::f16:
    case KvType::f32:
      return true;
  }
  return false;
}

constexpr bool is_known(RowOutputKind kind) {
  switch (kind) {
    case RowOutputKind::none:
    case RowOutputKind::argmax:
    case RowOutputKind::top_k:
    case RowOutputKind::logits:
      return true;
  }
  return false;
}

constexpr bool is_known(ops::RopeKind kind) {
  switch (kind) {
    case ops::RopeKind::interleaved:
    case ops::RopeKind::halves:
      return true;
  }
  return false;
}

constexpr bool is_known(ops::Activation activation) {
  switch (activation) {
    case ops::Activation::silu:
      return true;
  }
  return false;
}

constexpr bool is_known(ops::WeightRole role) {
  switch (role) {
    case ops::WeightRole::token_embedding:
    case ops::WeightRole::output_norm:
    case ops::WeightRole::output:
    case ops::WeightRole::attention_norm:
    case ops::WeightRole::query:
    case ops::WeightRole::key:
    case ops::WeightRole::value:
    case ops::WeightRole::attention_output:
    case ops::WeightRole::feed_forward_norm:
    case ops::WeightRole::gate:
    case ops::WeightRole::up:
    case ops::WeightRole::down:
      return true;
  }
  return false;
}

constexpr bool is_known(Phase phase) {
  switch (phase) {
    case Phase::embedding:
    case Phase::gemm:
    case Phase::attention:
    case Phase::fused_block:
    case Phase::output_topk:
      return true;
  }
  return false;
}

bool is_known(DType dtype) { return find_dtype(static_cast<uint32_t>(dtype)).has_value(); }

}  // namespace

// Not in the namespace without a name: wire.h finds them by the archive's type.

template <typename Archive, typename T>
requires std::is_enum_v<T>
void carry(Archive& archive, T& value) {
  using Enum = std::remove_const_t<T>;
  auto number = static_cast<std::underlying_type_t<Enum>>(value);
  archive.raw(&number, sizeof(number));
  if constexpr (!Archive::kWrites) {
    if (!is_known(static_cast<Enum>(number))) return archive.fail();
    value = static_cast<Enum>(number);
  }
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Error>& error) {
  auto& [code, message] = error;
  carry_all(archive, code, message);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, std::optional<Error>>& error) {
  bool is_there = error.has_value();
  carry(archive, is_there);
  if (!is_there) return;
  if constexpr (!Archive::kWrites) error.emplace();
  carry(archive, *error);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, CircuitInfo>& circuit) {
  auto& [lane, device, backend] = circuit;
  carry_all(archive, lane, device, backend);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ops::LayerSpec>& layer) {
  auto& [attention, feed_forward] = layer;
  auto& [head_count, kv_head_count, head_dim, score_scale, rope] = attention;
  auto& [kind, dims, frequency_base, position_scale] = rope;
  auto& [width, activation] = feed_forward;
  carry_all(archive, head_count, kv_head_count, head_dim, score_scale, kind, dims, frequency_base,
            position_scale, width, activation);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ops::DecoderSpec>& spec) {
  auto& [architecture, vocabulary_size, width, context_length, norm_epsilon, is_tied, layers] =
      spec;
  carry_all(archive, architecture, vocabulary_size, width, context_length, norm_epsilon, is_tied,
            layers);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ops::WeightView>& view) {
  auto& [name, file, file_offset, size_bytes, dtype, shape] = view;
  auto& [dims, rank] = shape;
  carry_all(archive, name, file, file_offset, size_bytes, dtype, dims[0], dims[1], dims[2], dims[3],
            rank);
}

static void carry(Writer& archive, const ops::WeightMap& weights) {
  carry_count(archive, weights.all().size(), 1);
  for (const auto& [key, view] : weights.all()) {
    carry_all(archive, key.first, key.second, view);
  }
}

static void carry(Reader& archive, ops::WeightMap& weights) {
  const size_t count = carry_count(archive, 0, 1);
  for (size_t i = 0; i < count; ++i) {
    uint32_t layer = 0;
    ops::WeightRole role{};
    ops::WeightView view;
    carry_all(archive, layer, role, view);
    if (view.shape.rank > Shape::kRankMax) archive.fail();
    weights.set(role, layer, std::move(view));
  }
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ResidentReport>& report) {
  auto& [circuit, precision, kv, weights_bytes, step_weight_bytes, kv_page_bytes, batch_rows,
         computes_in_submit] = report;
  carry_all(archive, circuit, precision, kv, weights_bytes, step_weight_bytes, kv_page_bytes,
            batch_rows, computes_in_submit);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Row>& row) {
  auto& [token, sequence, position, output, feedback] = row;
  carry_all(archive, token, sequence, position, output, feedback);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, TableChange>& change) {
  auto& [kept, added] = change;
  carry_all(archive, kept, added);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, RowHead>& head) {
  auto& [is_finite, argmax, top_count, logit_count] = head;
  carry_all(archive, is_finite, argmax, top_count, logit_count);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Hello>& hello) {
  carry(archive, hello.build_id);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, CircuitsRequest>& request) {
  auto& [lane, thread_count] = request;
  carry_all(archive, lane, thread_count);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, LoadRequest>& request) {
  auto& [lane, circuit, log_level, spec, weights, precision, kv, thread_count] = request;
  carry_all(archive, lane, circuit, log_level, spec, weights, precision, kv, thread_count);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ReservePages>& request) {
  carry(archive, request.page_count);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, CopyPage>& request) {
  auto& [from, to] = request;
  carry_all(archive, from, to);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, SetProfiling>& request) {
  auto& [is_on, every] = request.options;
  carry_all(archive, is_on, every);
}

template <typename Archive>
void carry(Archive&, Carried<Archive, ReadProfile>&) {}

template <typename Archive>
void carry(Archive&, Carried<Archive, MeasureBandwidth>&) {}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Bandwidth>& bandwidth) {
  carry(archive, bandwidth.bytes_per_s);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, PhaseTotal>& phase) {
  auto& [total_ns, calls] = phase;
  carry_all(archive, total_ns, calls);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, profile::OpTotal>& op) {
  auto& [name, phase, total_ns, calls, cost] = op;
  auto& [bytes, multiply_adds] = cost;
  carry_all(archive, name, phase, total_ns, calls, bytes, multiply_adds);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, profile::Span>& span) {
  auto& [op, step, begin_ns, end_ns] = span;
  carry_all(archive, op, step, begin_ns, end_ns);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, profile::Snapshot>& totals) {
  auto& [phases, ops, spans, steps, busy_ns, dropped] = totals;
  for (auto& phase : phases) carry(archive, phase);
  carry_all(archive, ops, spans, steps, busy_ns, dropped);
  if constexpr (!Archive::kWrites) {
    const auto is_unknown = [&](const profile::Span& span) { return span.op >= totals.ops.size(); };
    if (std::ranges::any_of(totals.spans, is_unknown)) archive.fail();
  }
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, OwnedReading>& reading) {
  auto& [totals, granularity] = reading;
  carry_all(archive, totals, granularity);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ShareBlock>& block) {
  auto& [id, size_bytes] = block;
  carry_all(archive, id, size_bytes);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Step>& step) {
  auto& [ticket, top_k, block, rows, tables] = step;
  carry_all(archive, ticket, top_k, block, rows, tables);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, ProgressReport>& progress) {
  auto& [done, total] = progress;
  carry_all(archive, done, total);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Reply>& reply) {
  auto& [error, value] = reply;
  carry_all(archive, error, value);
}

template <typename Archive>
void carry(Archive& archive, Carried<Archive, Output>& output) {
  auto& [ticket, error, rows, values] = output;
  carry_all(archive, ticket, error, rows, values);
}

template <typename T>
Bytes encode(const T& value) {
  Writer writer;
  carry(writer, value);
  return writer.take();
}

template <typename T>
Result<T> decode(std::span<const std::byte> bytes) {
  T value{};
  Reader reader(bytes);
  carry(reader, value);
  if (!reader.is_whole()) return internal("A message of {} bytes is damaged.", bytes.size());
  return value;
}

#define QUALIA_MESSAGE(T)             \
  template Bytes encode<T>(const T&); \
  template Result<T> decode<T>(std::span<const std::byte>);
QUALIA_MESSAGE(Hello)
QUALIA_MESSAGE(CircuitsRequest)
QUALIA_MESSAGE(LoadRequest)
QUALIA_MESSAGE(ReservePages)
QUALIA_MESSAGE(CopyPage)
QUALIA_MESSAGE(SetProfiling)
QUALIA_MESSAGE(ReadProfile)
QUALIA_MESSAGE(MeasureBandwidth)
QUALIA_MESSAGE(Bandwidth)
QUALIA_MESSAGE(OwnedReading)
QUALIA_MESSAGE(ShareBlock)
QUALIA_MESSAGE(Step)
QUALIA_MESSAGE(ProgressReport)
QUALIA_MESSAGE(Reply)
QUALIA_MESSAGE(Output)
QUALIA_MESSAGE(ResidentReport)
QUALIA_MESSAGE(std::vector<CircuitInfo>)
#undef QUALIA_MESSAGE

}  // namespace qualia::lanes::worker
