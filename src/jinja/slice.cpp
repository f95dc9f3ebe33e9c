// Slices of jinja_operators.h, with Python's rules for absent, negative and far bounds.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "jinja/operators.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

struct Steps {
  int64_t start = 0;
  int64_t stop = 0;
  int64_t count = 0;
  int64_t step = 1;
};

Result<int64_t> bound(const Value* value, int64_t otherwise) {
  if (value == nullptr || value->is(Kind::none)) return otherwise;
  if (value->is(Kind::undefined)) return tl::unexpected(undefined_error(*value));
  if (!value->is_integral()) {
    return invalid_argument("a slice needs int bounds, not '{}'", type_name(*value));
  }
  return value->as_integer();
}

// Python's PySlice_AdjustIndices.
Result<Steps> resolve(const SliceBounds& bounds, int64_t length) {
  QUALIA_ASSIGN(int64_t step, bound(bounds.step, 1));
  if (step == 0) return invalid_argument("a slice has step 0");
  step = std::max(step, -std::numeric_limits<int64_t>::max());
  const bool down = step < 0;
  QUALIA_ASSIGN(int64_t start, bound(bounds.start, down ? length - 1 : 0));
  const bool has_stop = bounds.stop != nullptr && !bounds.stop->is(Kind::none);
  QUALIA_ASSIGN(int64_t stop, bound(bounds.stop, length));
  const auto clip = [length, down](int64_t at) {
    if (at < 0) at = at < -length ? -1 : at + length;
    return std::clamp<int64_t>(at, down ? -1 : 0, down ? length - 1 : length);
  };
  const bool has_start = bounds.start != nullptr && !bounds.start->is(Kind::none);
  if (has_start) start = clip(start);
  stop = has_stop ? clip(stop) : (down ? -1 : length);
  Steps steps{start, stop, 0, step};
  if (down && stop < start) steps.count = (start - stop - 1) / -step + 1;
  if (!down && start < stop) steps.count = (stop - start - 1) / step + 1;
  return steps;
}

Value sliced_sequence(Budget& budget, const Sequence& sequence, const Steps& steps) {
  std::vector<Value> items;
  budget.spend(static_cast<size_t>(steps.count));
  items.reserve(static_cast<size_t>(steps.count));
  for (int64_t i = 0; i < steps.count; ++i) {
    items.push_back(sequence.items[static_cast<size_t>(steps.start + i * steps.step)]);
  }
  if (sequence.flavour == Flavour::range) {
    auto range = std::make_shared<Sequence>(&budget, Flavour::range, std::move(items));
    // Bounds of a range of at most 100,000 items; wrapping could only misprint a far stop.
    const auto at = [&sequence](int64_t index) {
      return static_cast<int64_t>(static_cast<uint64_t>(sequence.range_start) +
                                  static_cast<uint64_t>(index) *
                                      static_cast<uint64_t>(sequence.range_step));
    };
    range->range_start = at(steps.start);
    range->range_stop = at(steps.stop);
    range->range_step = static_cast<int64_t>(static_cast<uint64_t>(steps.step) *
                                             static_cast<uint64_t>(sequence.range_step));
    return SequencePtr(std::move(range));
  }
  const bool tuple = sequence.flavour == Flavour::tuple;
  return make_sequence(budget, tuple ? Flavour::tuple : Flavour::list, std::move(items));
}

std::vector<uint32_t> code_point_offsets(const Text& text) {
  std::vector<uint32_t> offsets;
  offsets.reserve(text.size());
  for (size_t at = 0; at < text.size(); at += code_point_at(text.bytes, at).size_bytes) {
    offsets.push_back(static_cast<uint32_t>(at));  // a text has at most kTextBytesMax bytes
  }
  return offsets;
}

TextPtr sliced_text(Budget& budget, const TextPtr& text, const Steps& steps) {
  budget.spend_bytes(text->size());
  const auto start = static_cast<size_t>(steps.start);
  const auto count = static_cast<size_t>(steps.count);
  if (count == 0) return make_text(budget, "");
  if (steps.step == 1) {
    if (text->ascii) return slice_text(budget, text, start, start + count);
    const size_t begin = byte_offset(text->bytes, start);
    const std::string_view rest = std::string_view(text->bytes).substr(begin);
    return slice_text(budget, text, begin, begin + byte_offset(rest, count));
  }
  TextBuilder builder(budget);
  const std::vector<uint32_t> offsets = code_point_offsets(*text);
  budget.spend(count);
  for (int64_t i = 0; i < steps.count && budget.ok(); ++i) {
    const size_t at = offsets[static_cast<size_t>(steps.start + i * steps.step)];
    builder.append(*text, at, at + code_point_at(text->bytes, at).size_bytes);
  }
  return builder.finish();
}

}  // namespace

TextPtr character_at(Budget& budget, const TextPtr& text, int64_t index) {
  budget.spend_bytes(text->ascii ? 0 : text->size());
  const auto length = static_cast<int64_t>(text->length());
  if (index < 0) index += length;
  if (index < 0 || index >= length) return nullptr;
  const auto wanted = static_cast<size_t>(index);
  const size_t at = text->ascii ? wanted : byte_offset(text->bytes, wanted);
  return slice_text(budget, text, at, at + code_point_at(text->bytes, at).size_bytes);
}

Result<Value> slice(Budget& budget, const Value& value, const SliceBounds& bounds) {
  QUALIA_ASSIGN(const int64_t length, length_of(value));
  QUALIA_ASSIGN(const Steps steps, resolve(bounds, length));
  if (value.is(Kind::text)) return Value(sliced_text(budget, value.text(), steps));
  return sliced_sequence(budget, value.sequence(), steps);
}

}  // namespace qualia::jinja
