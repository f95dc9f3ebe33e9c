#include "jinja/operators.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "jinja/callable.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

bool equal_items(Budget& budget, const Sequence& a, const Sequence& b) {
  const bool same_type = a.flavour == b.flavour;
  if (!same_type || a.items.size() != b.items.size()) return false;
  for (size_t i = 0; i < a.items.size() && budget.ok(); ++i) {
    if (!equals(budget, a.items[i], b.items[i])) return false;
  }
  return true;
}

bool equal_dicts(Budget& budget, const Dict& a, const Dict& b) {
  if (a.entries.size() != b.entries.size()) return false;
  for (const auto& [key, value] : a.entries) {
    if (!budget.ok()) return false;
    const Value* other = nullptr;
    if (key.is(Kind::text)) {
      budget.spend_bytes(key.text()->size());
      other = b.find(key.bytes());
    } else {
      for (const auto& [other_key, other_value] : b.entries) {
        if (equals(budget, key, other_key)) other = &other_value;
      }
    }
    if (other == nullptr || !equals(budget, value, *other)) return false;
  }
  return true;
}

tl::unexpected<Error> no_order(const Value& a, const Value& b) {
  if (a.is(Kind::undefined)) return tl::unexpected(undefined_error(a));
  if (b.is(Kind::undefined)) return tl::unexpected(undefined_error(b));
  return invalid_argument("'{}' and '{}' have no order", type_name(a), type_name(b));
}

Result<std::partial_ordering> order_of_items(Budget& budget, const Sequence& a, const Sequence& b) {
  const size_t count = std::min(a.items.size(), b.items.size());
  for (size_t i = 0; i < count && budget.ok(); ++i) {
    if (equals(budget, a.items[i], b.items[i])) continue;
    return order(budget, a.items[i], b.items[i]);
  }
  return a.items.size() <=> b.items.size();
}

bool is_ordered_sequence(const Value& value) {
  return value.is(Kind::sequence) && value.sequence().flavour <= Flavour::tuple;
}

Result<bool> holds(CompareOp op, std::partial_ordering ordering) {
  switch (op) {
    case CompareOp::less:
      return ordering < 0;
    case CompareOp::less_equal:
      return ordering <= 0;
    case CompareOp::greater:
      return ordering > 0;
    default:
      return ordering >= 0;
  }
}

}  // namespace

Error undefined_error(const Value& value) {
  const auto& sentence = value.undefined().sentence;
  return {ErrorCode::invalid_argument, sentence ? *sentence : "an undefined value is used"};
}

bool truth(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
    case Kind::none:
      return false;
    case Kind::boolean:
    case Kind::integer:
      return value.as_integer() != 0;
    case Kind::real:
      return value.as_real() != 0;
    case Kind::text:
      return !value.bytes().empty();
    case Kind::sequence:
      return value.sequence().flavour == Flavour::generator || !value.sequence().items.empty();
    case Kind::dict:
      return !value.dict().entries.empty();
    default:
      return true;
  }
}

bool equals(Budget& budget, const Value& a, const Value& b) {
  if (!budget.spend(1)) return false;
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_integer() == b.as_integer();
    return a.as_real() == b.as_real();
  }
  if (a.kind() != b.kind()) return false;
  if (a.same_object(b)) return true;
  switch (a.kind()) {
    case Kind::text:
      return a.text()->size() == b.text()->size() && budget.spend_bytes(a.text()->size()) &&
             a.bytes() == b.bytes();
    case Kind::sequence:
      return equal_items(budget, a.sequence(), b.sequence());
    case Kind::dict:
      return equal_dicts(budget, a.dict(), b.dict());
    case Kind::callable:
      return a.callable().macro == b.callable().macro &&
             a.callable().builtin == b.callable().builtin &&
             equals(budget, a.callable().self, b.callable().self);
    default:
      return false;
  }
}

Result<std::partial_ordering> order(Budget& budget, const Value& a, const Value& b) {
  budget.spend(1);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.as_integer() <=> b.as_integer();
    return a.as_real() <=> b.as_real();
  }
  if (a.is(Kind::text) && b.is(Kind::text)) {
    // UTF-8 sorts by bytes as by code points.
    budget.spend_bytes(std::min(a.text()->size(), b.text()->size()));
    return a.text() == b.text() ? std::strong_ordering::equal : a.bytes().compare(b.bytes()) <=> 0;
  }
  if (is_ordered_sequence(a) && is_ordered_sequence(b) &&
      a.sequence().flavour == b.sequence().flavour) {
    return order_of_items(budget, a.sequence(), b.sequence());
  }
  return no_order(a, b);
}

Result<bool> contains(Budget& budget, const Value& container, const Value& item) {
  if (container.is(Kind::text)) {
    if (item.is(Kind::undefined)) return tl::unexpected(undefined_error(item));
    if (!item.is(Kind::text)) {
      return invalid_argument("'in <string>' needs a str on its left, not '{}'", type_name(item));
    }
    budget.spend_bytes(container.text()->size() + item.text()->size());
    return find_bytes(container.bytes(), item.bytes()) != std::string_view::npos;
  }
  if (container.is(Kind::dict) && item.is(Kind::text)) {
    budget.spend_bytes(item.text()->size());
    return container.dict().find(item.bytes()) != nullptr;
  }
  auto items = iterate(budget, container);
  if (!items) return invalid_argument("'{}' holds no items to look in", type_name(container));
  return std::any_of((*items)->items.begin(), (*items)->items.end(), [&](const Value& other) {
    return !budget.ok() || other.same_object(item) || equals(budget, other, item);
  });
}

Result<bool> compare(Budget& budget, CompareOp op, const Value& a, const Value& b) {
  switch (op) {
    case CompareOp::equal:
      return equals(budget, a, b);
    case CompareOp::not_equal:
      return !equals(budget, a, b);
    case CompareOp::in:
      return contains(budget, b, a);
    case CompareOp::not_in: {
      QUALIA_ASSIGN(const bool found, contains(budget, b, a));
      return !found;
    }
    default: {
      QUALIA_ASSIGN(const std::partial_ordering ordering, order(budget, a, b));
      return holds(op, ordering);
    }
  }
}

Result<SequencePtr> iterate(Budget& budget, const Value& value) {
  if (value.is(Kind::sequence)) return value.sequence_ptr();
  std::vector<Value> items;
  if (value.is(Kind::dict)) {
    for (const auto& [key, unused] : value.dict().entries) items.push_back(key);
  } else if (value.is(Kind::text)) {
    const TextPtr& text = value.text();
    for (size_t at = 0; at < text->size() && budget.ok();) {
      const size_t size = code_point_at(text->bytes, at).size_bytes;
      items.emplace_back(slice_text(budget, text, at, at + size));
      at += size;
    }
  } else if (!value.is(Kind::undefined)) {
    return invalid_argument("'{}' object is not iterable", type_name(value));
  }
  budget.spend(1 + items.size());
  return std::make_shared<const Sequence>(&budget, Flavour::list, std::move(items));
}

Result<int64_t> length_of(const Value& value) {
  switch (value.kind()) {
    case Kind::undefined:
      return 0;
    case Kind::text:
      return static_cast<int64_t>(value.text()->length());
    case Kind::sequence:
      return static_cast<int64_t>(value.sequence().items.size());
    case Kind::dict:
      return static_cast<int64_t>(value.dict().entries.size());
    default:
      return invalid_argument("'{}' object has no length", type_name(value));
  }
}

}  // namespace qualia::jinja
