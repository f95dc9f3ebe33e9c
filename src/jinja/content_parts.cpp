#include "jinja/content_parts.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace qualia::jinja {

namespace {

// Filters whose result still consists of the parts.
constexpr std::array<std::string_view, 9> kListFilters = {
    "list", "select", "reject", "selectattr", "rejectattr", "map", "default", "d", "reverse"};

// Public templates need two: from the loop variable to a macro's parameter, and on.
constexpr size_t kPassesMax = 8;

class Detector {
 public:
  explicit Detector(const Program& program)
      : program_(program),
        holds_content_(program.names.size(), false),
        macros_(program.names.size(), nullptr) {
    for (size_t i = 0; i < program.names.size(); ++i) {
      holds_content_[i] = program.names[i] == "content";
    }
    for (const Stmt& stmt : program.stmts) {
      if (stmt.kind == StmtKind::macro) macros_[stmt.name] = &stmt;
    }
  }

  bool run() {
    // Each pass follows assignments one step further; a pass that finds nothing new is the last.
    for (size_t pass = 0; pass < kPassesMax && follow_assignments(); ++pass) {
    }
    return std::any_of(program_.stmts.begin(), program_.stmts.end(), [this](const Stmt& stmt) {
      return stmt.kind == StmtKind::for_loop && is_content(stmt.expr);
    });
  }

 private:
  bool is_content(ExprId id) const;
  bool is_content_key(ExprId id) const;
  bool mark(NameId name);
  bool follow_assignments();
  bool follow_call(const Expr& call);

  const Program& program_;
  std::vector<bool> holds_content_;  // by name
  std::vector<const Stmt*> macros_;  // by name, the last of each
};

bool Detector::is_content_key(ExprId id) const {
  const Expr& key = program_.exprs[id];
  return key.kind == ExprKind::constant && key.constant.is(Kind::text) &&
         key.constant.bytes() == "content";
}

// Recursion is bounded by kTreeHeightMax.
bool Detector::is_content(ExprId id) const {
  if (id == kAbsent) return false;
  const Expr& expr = program_.exprs[id];
  switch (expr.kind) {
    case ExprKind::name:
    case ExprKind::attribute:
      return holds_content_[expr.name];
    case ExprKind::item:
      return is_content_key(expr.operands[1]);
    case ExprKind::slice:
      return is_content(expr.operands[0]);
    case ExprKind::filter:
      return is_content(expr.operands[0]) &&
             std::find(kListFilters.begin(), kListFilters.end(), program_.names[expr.name]) !=
                 kListFilters.end();
    case ExprKind::conditional:
      return is_content(expr.operands[1]) || is_content(expr.operands[2]);
    case ExprKind::logical_or:
    case ExprKind::logical_and:
      return std::any_of(expr.operands.begin(), expr.operands.end(),
                         [this](ExprId operand) { return is_content(operand); });
    default:
      return false;
  }
}

bool Detector::mark(NameId name) {
  if (name == kAbsent || holds_content_[name]) return false;
  holds_content_[name] = true;
  return true;
}

// Parameters of a macro that gets the content.
bool Detector::follow_call(const Expr& call) {
  const Expr& callee = program_.exprs[call.operands[0]];
  if (callee.kind != ExprKind::name) return false;
  const Stmt* macro = macros_[callee.name];
  if (macro == nullptr) return false;
  bool found = false;
  for (size_t i = 1; i < call.operands.size() && i <= macro->parameters.size(); ++i) {
    if (is_content(call.operands[i])) found |= mark(macro->parameters[i - 1].name);
  }
  for (const auto& [name, value] : call.keywords) {
    if (is_content(value)) found |= mark(name);
  }
  return found;
}

bool Detector::follow_assignments() {
  bool found = false;
  for (const Stmt& stmt : program_.stmts) {
    if (stmt.kind == StmtKind::set && is_content(stmt.expr)) {
      const Target& target = stmt.targets.front();
      found |= mark(target.attribute != kAbsent ? target.attribute : target.name);
    }
    for (size_t i = 0; i < stmt.values.size(); ++i) {
      if (is_content(stmt.values[i])) found |= mark(stmt.targets[i].name);
    }
  }
  for (const Expr& expr : program_.exprs) {
    if (expr.kind == ExprKind::call) found |= follow_call(expr);
  }
  return found;
}

}  // namespace

bool loops_over_content(const Program& program) { return Detector(program).run(); }

}  // namespace qualia::jinja
