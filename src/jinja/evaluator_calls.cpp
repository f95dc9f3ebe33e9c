// Calls of the evaluator: arguments, builtins, macros.
#include <algorithm>

#include "jinja/builtins.h"
#include "jinja/evaluator.h"
#include "jinja/operators.h"

namespace qualia::jinja {

Result<void> Evaluator::spread_keywords(const Expr& node, Arguments& arguments) {
  QUALIA_ASSIGN(const Value spread, evaluate(node.spread_dict));
  if (!spread.is(Kind::dict)) return invalid_argument("'**' needs a mapping");
  for (const auto& [key, value] : spread.dict().entries) {
    if (!key.is(Kind::text)) return invalid_argument("'**' needs str keys");
    if (!budget_.spend_bytes(key.text()->size())) break;
    arguments.keywords.emplace_back(key.bytes(), value);
  }
  return {};
}

// The first operand is what is called, filtered or tested.
Result<Arguments> Evaluator::evaluate_arguments(const Expr& node) {
  Arguments arguments;
  const auto operands = std::span(node.operands).subspan(1);
  QUALIA_ASSIGN(arguments.positional, evaluate_all(operands));
  if (node.spread_list != kAbsent) {
    QUALIA_ASSIGN(const Value spread, evaluate(node.spread_list));
    QUALIA_ASSIGN(const SequencePtr items, iterate(budget_, spread));
    budget_.spend(items->items.size());
    arguments.positional.insert(arguments.positional.end(), items->items.begin(),
                                items->items.end());
  }
  for (const auto& [name, id] : node.keywords) {
    QUALIA_ASSIGN(Value value, evaluate(id));
    arguments.keywords.emplace_back(name_of(name), std::move(value));
  }
  if (node.spread_dict != kAbsent) QUALIA_TRY(spread_keywords(node, arguments));
  return arguments;
}

Evaluator::Evaluated Evaluator::evaluate_call(const Expr& node, const Value* caller) {
  const Expr& callee = expr(node.operands[0]);
  Value object;
  const NamedBuiltin* method = nullptr;
  if (callee.kind == ExprKind::attribute) {
    // A method call needs no bound method in between.
    QUALIA_ASSIGN(object, evaluate(callee.operands[0]));
    method = find_method(object, name_of(callee.name));
    if (method == nullptr) {
      line_ = callee.line;
      QUALIA_ASSIGN(object, get_attribute(runtime_, object, name_of(callee.name)));
    }
  } else {
    QUALIA_ASSIGN(object, evaluate(node.operands[0]));
  }
  QUALIA_ASSIGN(Arguments arguments, evaluate_arguments(node));
  if (caller != nullptr) arguments.keywords.emplace_back("caller", *caller);
  line_ = node.line;
  if (method != nullptr) return method->call(runtime_, object, arguments);
  return call(object, arguments);
}

Evaluator::Evaluated Evaluator::call(const Value& callee, const Arguments& arguments) {
  if (callee.is(Kind::undefined)) return tl::unexpected(undefined_error(callee));
  if (!callee.is(Kind::callable)) {
    return invalid_argument("'{}' object is not callable", type_name(callee));
  }
  const Callable& callable = callee.callable();
  if (callable.builtin != nullptr) {
    return callable.builtin->call(runtime_, callable.self, arguments);
  }
  return call_macro(*callable.macro, arguments);
}

// Defaults see the parameters before them.
Result<void> Evaluator::bind_parameters(const Macro& macro, const Arguments& arguments) {
  const auto& parameters = macro.stmt->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const std::string& name = name_of(parameter.name);
    if (i < arguments.positional.size()) {
      scope_->set(parameter.name, arguments.positional[i]);
      continue;
    }
    const auto named = std::find_if(arguments.keywords.begin(), arguments.keywords.end(),
                                    [&name](const auto& keyword) { return keyword.first == name; });
    if (named != arguments.keywords.end()) {
      scope_->set(parameter.name, named->second);
    } else if (parameter.otherwise != kAbsent) {
      QUALIA_ASSIGN(Value value, evaluate(parameter.otherwise));
      scope_->set(parameter.name, std::move(value));
    } else {
      scope_->set(parameter.name,
                  undefined_value(fmt::format("parameter '{}' was not provided", name)));
    }
  }
  return {};
}

// Arguments beyond the parameters go to varargs, kwargs and caller where the template uses these.
Result<void> Evaluator::bind_extras(const Macro& macro, const Arguments& arguments) {
  const auto& parameters = macro.stmt->parameters;
  const size_t count = parameters.size();
  std::vector<Value> extra;
  if (arguments.positional.size() > count) {
    if (varargs_name_ == kAbsent) {
      return invalid_argument("macro '{}' takes {} arguments ({} given)", name_of(macro.stmt->name),
                              count, arguments.positional.size());
    }
    extra.assign(arguments.positional.begin() + static_cast<std::ptrdiff_t>(count),
                 arguments.positional.end());
  }
  std::vector<Dict::Entry> named;
  Value caller = undefined_value("no caller is defined");
  for (const auto& keyword : arguments.keywords) {
    const std::string& name = keyword.first;
    const auto known =
        std::find_if(parameters.begin(), parameters.end(),
                     [&](const auto& parameter) { return name_of(parameter.name) == name; });
    if (known != parameters.end()) {
      const auto index = static_cast<size_t>(known - parameters.begin());
      if (index >= arguments.positional.size()) continue;
      return invalid_argument("macro '{}' gets argument '{}' twice", name_of(macro.stmt->name),
                              name);
    }
    if (name == "caller") {
      caller = keyword.second;
      continue;
    }
    if (kwargs_name_ == kAbsent) {
      return invalid_argument("macro '{}' has no argument '{}'", name_of(macro.stmt->name), name);
    }
    named.emplace_back(make_text(budget_, name), keyword.second);
  }
  if (varargs_name_ != kAbsent) scope_->set(varargs_name_, make_tuple(budget_, std::move(extra)));
  if (kwargs_name_ != kAbsent) scope_->set(kwargs_name_, make_dict(budget_, std::move(named)));
  const bool takes_caller =
      std::any_of(parameters.begin(), parameters.end(),
                  [this](const auto& parameter) { return parameter.name == caller_name_; });
  if (caller_name_ != kAbsent && !takes_caller) scope_->set(caller_name_, std::move(caller));
  return {};
}

Evaluator::Evaluated Evaluator::call_macro(const Macro& macro, const Arguments& arguments) {
  Scope* const previous = scope_;
  TextBuilder* const previous_out = out_;
  auto scope = open_scope(macro.scope);
  TextBuilder builder(budget_);
  const auto invoke = [&]() -> Result<void> {
    QUALIA_TRY(bind_extras(macro, arguments));
    QUALIA_TRY(bind_parameters(macro, arguments));
    out_ = &builder;
    const auto flow = run_body(macro.stmt->body);
    if (!flow) return tl::unexpected(flow.error());
    return {};
  };
  const Result<void> done = invoke();
  out_ = previous_out;
  close_scope(std::move(scope), previous);
  QUALIA_TRY(done);
  return Value(builder.finish());
}

}  // namespace qualia::jinja
