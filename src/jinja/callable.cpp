#include "jinja/callable.h"

#include <algorithm>

#include "base/error.h"
#include "jinja/operators.h"

namespace qualia::jinja {

Result<Bound> Bound::bind(std::string_view function, std::span<const std::string_view> parameters,
                          size_t required, const Arguments& arguments) {
  Bound bound;
  bound.function_ = function;
  bound.parameters_ = parameters;
  bound.values_.assign(parameters.size(), nullptr);
  if (arguments.positional.size() > parameters.size()) {
    return invalid_argument("{}() takes at most {} arguments ({} given)", function,
                            parameters.size(), arguments.positional.size());
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) {
    bound.values_[i] = &arguments.positional[i];
  }
  for (const auto& [name, value] : arguments.keywords) {
    const auto found = std::find(parameters.begin(), parameters.end(), name);
    if (found == parameters.end()) {
      return invalid_argument("{}() has no argument '{}'", function, name);
    }
    const Value*& slot = bound.values_[static_cast<size_t>(found - parameters.begin())];
    if (slot != nullptr) return invalid_argument("{}() gets argument '{}' twice", function, name);
    slot = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (bound.values_[i] == nullptr) {
      return invalid_argument("{}() lacks its argument '{}'", function, parameters[i]);
    }
  }
  return bound;
}

const Value* Bound::get_unless_none(size_t index) const {
  const Value* value = values_[index];
  if (value == nullptr || value->is(Kind::none) || value->is(Kind::undefined)) return nullptr;
  return value;
}

Result<int64_t> Bound::integer(size_t index, int64_t otherwise) const {
  const Value* value = values_[index];
  if (value == nullptr) return otherwise;
  if (!value->is_integral()) {
    return invalid_argument("{}() needs an int as '{}', not '{}'", function_, parameters_[index],
                            type_name(*value));
  }
  return value->as_integer();
}

bool Bound::boolean(size_t index, bool otherwise) const {
  return values_[index] == nullptr ? otherwise : truth(*values_[index]);
}

Result<TextPtr> Bound::text(size_t index) const {
  const Value* value = values_[index];
  if (value != nullptr && value->is(Kind::text)) return value->text();
  return invalid_argument("{}() needs a str as '{}', not '{}'", function_, parameters_[index],
                          value == nullptr ? "nothing" : type_name(*value));
}

}  // namespace qualia::jinja
