// Global functions: range, namespace, dict, raise_exception, strftime_now.
#include "base/error.h"
#include "jinja/builtins.h"
#include "jinja/operators.h"
#include "jinja/repr.h"
#include "jinja/time.h"

namespace qualia::jinja {

namespace {

using Names = std::string_view;

// The limit of Jinja's sandbox.
constexpr int64_t kRangeMax = 100'000;

// How many steps lead from start to stop; more than kRangeMax + 1 counts as that.
int64_t range_length(int64_t start, int64_t stop, int64_t step) {
  const bool up = step > 0;
  if (up ? start >= stop : start <= stop) return 0;
  const uint64_t distance = up ? static_cast<uint64_t>(stop) - static_cast<uint64_t>(start)
                               : static_cast<uint64_t>(start) - static_cast<uint64_t>(stop);
  const uint64_t stride =
      up ? static_cast<uint64_t>(step) : uint64_t{0} - static_cast<uint64_t>(step);
  const uint64_t length = (distance - 1) / stride + 1;
  return length > kRangeMax ? kRangeMax + 1 : static_cast<int64_t>(length);
}

Result<Value> range_function(Runtime& runtime, const Value&, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"start", "stop", "step"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("range", kParameters, 1, arguments));
  QUALIA_ASSIGN(int64_t start, bound.integer(0, 0));
  QUALIA_ASSIGN(int64_t stop, bound.integer(1, start));
  QUALIA_ASSIGN(const int64_t step, bound.integer(2, 1));
  if (bound.get(1) == nullptr) start = 0;
  if (step == 0) return invalid_argument("range() gets step 0");
  const int64_t length = range_length(start, stop, step);
  if (length > kRangeMax) {
    return invalid_argument("range({}, {}, {}) is longer than {}", start, stop, step, kRangeMax);
  }
  runtime.budget.spend(static_cast<size_t>(length));
  std::vector<Value> items;
  items.reserve(static_cast<size_t>(length));
  for (int64_t i = 0; i < length; ++i) items.emplace_back(start + i * step);
  auto range = std::make_shared<Sequence>(&runtime.budget, Flavour::range, std::move(items));
  range->range_start = start;
  range->range_stop = stop;
  range->range_step = step;
  return Value(SequencePtr(std::move(range)));
}

// dict(mapping or pairs, name=value, ...), which namespace() takes too.
Result<std::vector<Dict::Entry>> entries_of(Runtime& runtime, const Arguments& arguments) {
  Budget& budget = runtime.budget;
  std::vector<Dict::Entry> entries;
  if (arguments.positional.size() > 1) return invalid_argument("dict() takes one mapping");
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional.front();
    if (source.is(Kind::dict)) {
      entries = source.dict().entries;
    } else {
      QUALIA_ASSIGN(const SequencePtr pairs, iterate(budget, source));
      for (const Value& pair : pairs->items) {
        QUALIA_ASSIGN(const SequencePtr parts, iterate(budget, pair));
        if (parts->items.size() != 2) return invalid_argument("dict() needs pairs");
        entries.emplace_back(parts->items[0], parts->items[1]);
        if (!budget.ok()) break;
      }
    }
  }
  for (const auto& [name, value] : arguments.keywords) {
    entries.emplace_back(make_text(budget, name), value);
  }
  return entries;
}

Result<Value> dict_function(Runtime& runtime, const Value&, const Arguments& arguments) {
  QUALIA_ASSIGN(std::vector<Dict::Entry> entries, entries_of(runtime, arguments));
  return make_dict(runtime.budget, std::move(entries));
}

Result<Value> namespace_function(Runtime& runtime, const Value&, const Arguments& arguments) {
  QUALIA_ASSIGN(const std::vector<Dict::Entry> entries, entries_of(runtime, arguments));
  auto name_space = std::make_unique<Namespace>();
  // Namespaces live until the end, each with its attributes found one by one.
  runtime.budget.take_live(sizeof(Namespace) + entries.size() * 64);
  for (const auto& [name, value] : entries) {
    if (!name.is(Kind::text)) return invalid_argument("namespace() needs str names");
    if (!runtime.budget.spend(1 + name_space->attributes.size())) break;
    name_space->set(name.bytes(), value);
  }
  runtime.namespaces.push_back(std::move(name_space));
  return Value(runtime.namespaces.back().get());
}

Result<Value> raise_function(Runtime& runtime, const Value&, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"message"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("raise_exception", kParameters, 1, arguments));
  runtime.raised = true;
  return invalid_argument("{}", to_text(runtime.budget, *bound.get(0))->bytes);
}

Result<Value> time_function(Runtime& runtime, const Value&, const Arguments& arguments) {
  static constexpr Names kParameters[] = {"format"};
  QUALIA_ASSIGN(const Bound bound, Bound::bind("strftime_now", kParameters, 1, arguments));
  QUALIA_ASSIGN(const TextPtr format, bound.text(0));
  // The longest conversion, %c, makes 24 bytes of two.
  if (!runtime.budget.text_fits(format->size() * 12)) return Value();
  return Value(make_text(runtime.budget, format_time(format->bytes, runtime.now_unix_seconds),
                         format->trust()));
}

constexpr NamedBuiltin kFunctions[] = {
    {"range", range_function},         {"dict", dict_function},
    {"namespace", namespace_function}, {"raise_exception", raise_function},
    {"strftime_now", time_function},
};

}  // namespace

std::span<const NamedBuiltin> functions() { return kFunctions; }

}  // namespace qualia::jinja
