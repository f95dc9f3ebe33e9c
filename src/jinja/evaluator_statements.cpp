// Statements of the evaluator.
#include "jinja/evaluator.h"
#include "jinja/operators.h"
#include "jinja/repr.h"

namespace qualia::jinja {

Result<Evaluator::Flow> Evaluator::run_body(const Body& body) {
  for (const StmtId id : body) {
    QUALIA_ASSIGN(const Flow flow, run_statement(id));
    if (flow != Flow::normal) return flow;
  }
  return Flow::normal;
}

Result<Evaluator::Flow> Evaluator::run_scoped(const Body& body) {
  Scope* const previous = scope_;
  auto scope = open_scope(previous);
  auto flow = run_body(body);
  close_scope(std::move(scope), previous);
  return flow;
}

Result<Evaluator::Flow> Evaluator::run_statement(StmtId id) {
  const Stmt& stmt = program_.stmts[id];
  line_ = stmt.line;
  ++depth_;
  QUALIA_TRY(check_limits());
  Result<Flow> flow = Flow::normal;
  Result<void> done;
  switch (stmt.kind) {
    case StmtKind::data:
      out_->append(*stmt.data.text());
      break;
    case StmtKind::output:
      done = run_output(stmt);
      break;
    case StmtKind::if_chain:
      flow = run_if(stmt);
      break;
    case StmtKind::for_loop:
      flow = run_for(stmt);
      break;
    case StmtKind::set:
    case StmtKind::set_block:
      done = run_set(stmt);
      break;
    case StmtKind::macro:
      scope_->set(stmt.name, make_macro(stmt));
      break;
    case StmtKind::call_block:
      done = run_call_block(stmt);
      break;
    case StmtKind::filter_block:
      done = filtered_text(stmt).map(
          [this](const Value& value) { append_text(*out_, budget_, value); });
      break;
    case StmtKind::with:
      flow = run_with(stmt);
      break;
    case StmtKind::scope:
      flow = run_scoped(stmt.body);
      break;
    case StmtKind::break_loop:
      flow = Flow::broken;
      break;
    case StmtKind::continue_loop:
      flow = Flow::continued;
      break;
  }
  --depth_;
  QUALIA_TRY(std::move(done));
  return flow;
}

Result<void> Evaluator::run_output(const Stmt& stmt) {
  QUALIA_ASSIGN(const Value value, evaluate(stmt.expr));
  append_text(*out_, budget_, value);
  return {};
}

Result<Evaluator::Flow> Evaluator::run_if(const Stmt& stmt) {
  for (const Branch& branch : stmt.branches) {
    if (branch.condition != kAbsent) {
      QUALIA_ASSIGN(const Value condition, evaluate(branch.condition));
      if (!truth(condition)) continue;
    }
    return run_body(branch.body);
  }
  return Flow::normal;
}

Result<void> Evaluator::assign(const Target& target, const Value& value) {
  if (target.is_tuple) {
    QUALIA_ASSIGN(const SequencePtr items, iterate(budget_, value));
    if (items->items.size() != target.items.size()) {
      return invalid_argument("{} values are unpacked to {} names", items->items.size(),
                              target.items.size());
    }
    for (size_t i = 0; i < target.items.size(); ++i) {
      QUALIA_TRY(assign(target.items[i], items->items[i]));
    }
    return {};
  }
  if (target.attribute == kAbsent) {
    scope_->set(target.name, value);
    return {};
  }
  const Value* object = scope_->find(target.name);
  if (object == nullptr || !object->is(Kind::name_space)) {
    return invalid_argument("'{}.{}' is assigned to, but '{}' is no namespace",
                            name_of(target.name), name_of(target.attribute), name_of(target.name));
  }
  object->name_space().set(name_of(target.attribute), value);
  return {};
}

Result<void> Evaluator::run_set(const Stmt& stmt) {
  auto value = stmt.kind == StmtKind::set ? evaluate(stmt.expr) : filtered_text(stmt);
  if (!value) return tl::unexpected(std::move(value).error());
  return assign(stmt.targets.front(), *value);
}

Result<TextPtr> Evaluator::captured_text(const Body& body) {
  TextBuilder* const previous_out = out_;
  TextBuilder builder(budget_);
  out_ = &builder;
  const auto flow = run_scoped(body);
  out_ = previous_out;
  if (!flow) return tl::unexpected(flow.error());
  return builder.finish();
}

// The text of a set or filter block, filtered.
Result<Value> Evaluator::filtered_text(const Stmt& stmt) {
  QUALIA_ASSIGN(TextPtr text, captured_text(stmt.body));
  if (stmt.filter == kAbsent) return Value(std::move(text));
  filter_input_ = Value(std::move(text));
  return evaluate(stmt.filter);
}

Result<void> Evaluator::run_call_block(const Stmt& stmt) {
  const Value caller = make_macro(stmt);
  QUALIA_ASSIGN(const Value value, evaluate_call(expr(stmt.expr), &caller));
  append_text(*out_, budget_, value);
  return {};
}

Result<Evaluator::Flow> Evaluator::run_with(const Stmt& stmt) {
  // Values are evaluated outside of the scope that they fill.
  QUALIA_ASSIGN(const std::vector<Value> values, evaluate_all(stmt.values));
  Scope* const previous = scope_;
  auto scope = open_scope(previous);
  const auto body = [&]() -> Result<Flow> {
    for (size_t i = 0; i < values.size(); ++i) {
      QUALIA_TRY(assign(stmt.targets[i], values[i]));
    }
    return run_body(stmt.body);
  };
  auto flow = body();
  close_scope(std::move(scope), previous);
  return flow;
}

Result<bool> Evaluator::passes_filter(const Loop& loop, const Value& item) {
  Scope* const previous = scope_;
  auto scope = open_scope(loop.scope);
  const auto condition = [&]() -> Result<Value> {
    QUALIA_TRY(assign(loop.statement->targets.front(), item));
    return evaluate(loop.statement->filter);
  };
  const Result<Value> value = condition();
  close_scope(std::move(scope), previous);
  if (!value) return tl::unexpected(value.error());
  return truth(*value);
}

// Moves the next item that passes the loop's `if` to `ahead`; false at the end.
Result<bool> Evaluator::pull(Loop& loop) {
  while (loop.statement != nullptr && loop.next_source < loop.source->items.size()) {
    QUALIA_TRY(check_limits());
    const Value& item = loop.source->items[loop.next_source++];
    if (loop.statement->filter != kAbsent) {
      QUALIA_ASSIGN(const bool passes, passes_filter(loop, item));
      if (!passes) continue;
    }
    loop.ahead.push_back(item);
    return true;
  }
  return false;
}

Result<int64_t> Evaluator::loop_length(Loop& loop) {
  bool more = true;
  while (more) {
    QUALIA_ASSIGN(more, pull(loop));
  }
  return loop.index0 + 1 + static_cast<int64_t>(loop.ahead.size());
}

Result<Value> Evaluator::loop_attribute(Loop& loop, std::string_view name) {
  if (name == "index") return Value(loop.index0 + 1);
  if (name == "index0") return Value(loop.index0);
  if (name == "first") return Value(loop.index0 == 0);
  if (name == "depth") return Value(int64_t{1});
  if (name == "depth0") return Value(int64_t{0});
  if (name == "previtem") {
    return loop.index0 == 0 ? undefined_value("there is no previous item") : loop.previous;
  }
  if (name == "last" || name == "nextitem") {
    if (loop.ahead.empty()) QUALIA_TRY(pull(loop).map([](bool) {}));
    if (name == "last") return Value(loop.ahead.empty());
    return loop.ahead.empty() ? undefined_value("there is no next item") : loop.ahead.front();
  }
  QUALIA_ASSIGN(const int64_t length, loop_length(loop));
  if (name == "length") return Value(length);
  return Value(length - loop.index0 - (name == "revindex" ? 0 : 1));
}

Result<Evaluator::Flow> Evaluator::run_for(const Stmt& stmt) {
  QUALIA_ASSIGN(const Value iterable, evaluate(stmt.expr));
  line_ = stmt.line;
  QUALIA_ASSIGN(SequencePtr source, iterate(budget_, iterable));
  const auto loop = std::make_shared<Loop>();
  loop->depth = source->depth + 1;
  loop->source = std::move(source);
  loop->statement = &stmt;
  loop->scope = scope_;
  auto flow = run_iterations(stmt, loop);
  loop->statement = nullptr;
  if (!flow || loop->index0 >= 0) return flow;
  return run_scoped(stmt.otherwise);
}

Result<Evaluator::Flow> Evaluator::run_iterations(const Stmt& stmt, const LoopPtr& loop) {
  while (true) {
    if (loop->ahead.empty()) {
      QUALIA_ASSIGN(const bool more, pull(*loop));
      if (!more) return Flow::normal;
    }
    loop->previous = std::move(loop->current);
    loop->current = std::move(loop->ahead.front());
    loop->ahead.pop_front();
    ++loop->index0;
    QUALIA_ASSIGN(const Flow flow, run_iteration(stmt, loop));
    if (flow == Flow::broken) return Flow::normal;
  }
}

// Each iteration has its own scope: what it sets is gone in the next.
Result<Evaluator::Flow> Evaluator::run_iteration(const Stmt& stmt, const LoopPtr& loop) {
  Scope* const previous = scope_;
  auto scope = open_scope(previous);
  const auto body = [&]() -> Result<Flow> {
    QUALIA_TRY(assign(stmt.targets.front(), loop->current));
    if (stmt.uses_loop) scope_->set(loop_name_, Value(loop));
    return run_body(stmt.body);
  };
  auto flow = body();
  close_scope(std::move(scope), previous);
  return flow;
}

}  // namespace qualia::jinja
