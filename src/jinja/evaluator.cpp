#include "jinja/evaluator.h"

#include "jinja/builtins.h"

namespace qualia::jinja {

const Value* Scope::find(NameId name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent) {
    for (const auto& [variable, value] : scope->variables) {
      if (variable == name) return &value;
    }
  }
  return nullptr;
}

void Scope::set(NameId name, Value value) {
  for (auto& [variable, old] : variables) {
    if (variable == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

Evaluator::Evaluator(const Program& program, Runtime& runtime, Variables variables)
    : program_(program), runtime_(runtime), budget_(runtime.budget) {
  for (NameId id = 0; id < program.names.size(); ++id) {
    const std::string_view name = program.names[id];
    if (name == "loop") loop_name_ = id;
    if (name == "caller") caller_name_ = id;
    if (name == "varargs") varargs_name_ = id;
    if (name == "kwargs") kwargs_name_ = id;
    if (const NamedBuiltin* function = find_function(name)) {
      globals_.set(id, Value(CallablePtr(std::make_shared<const Callable>(function, Value()))));
    }
    for (const auto& [variable, value] : variables) {
      if (variable == name) globals_.set(id, value);
    }
  }
  root_.parent = &globals_;
}

Result<void> Evaluator::check_limits() {
  if (!budget_.spend(1)) return invalid_argument("{}", budget_.exhausted());
  if (depth_ <= kEvaluationDepthMax) return {};
  budget_.fail(fmt::format("evaluation nests deeper than {}", kEvaluationDepthMax));
  return invalid_argument("{}", budget_.exhausted());
}

std::unique_ptr<Scope> Evaluator::open_scope(Scope* parent) {
  auto scope = std::make_unique<Scope>();
  scope->parent = parent;
  scope_ = scope.get();
  return scope;
}

void Evaluator::close_scope(std::unique_ptr<Scope> scope, Scope* previous) {
  scope_ = previous;
  if (!scope->captured) return;
  // What encloses it has to live as long.
  if (scope->parent != nullptr) scope->parent->captured = true;
  budget_.take_live(sizeof(Scope) + scope->variables.size() * sizeof(scope->variables[0]));
  captured_scopes_.push_back(std::move(scope));
}

Value Evaluator::make_macro(const Stmt& stmt) {
  scope_->captured = true;
  budget_.take_live(sizeof(Macro));
  macros_.push_back(std::make_unique<Macro>(Macro{&stmt, scope_}));
  return Value(CallablePtr(std::make_shared<const Callable>(macros_.back().get())));
}

Result<void> Evaluator::run(TextBuilder& out) {
  out_ = &out;
  scope_ = &root_;
  const auto flow = run_body(program_.body);
  if (!flow) return tl::unexpected(flow.error());
  if (!budget_.ok()) return invalid_argument("{}", budget_.exhausted());
  return {};
}

}  // namespace qualia::jinja
