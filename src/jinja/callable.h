// What can be called, and what a call gets: macros, bound methods, functions, arguments, loops.
// Thread-safety: Callable is immutable; the rest belongs to one evaluation.
// Errors: Result sentences without line number and without closing stop; the evaluation adds both.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/value.h"
#include "qualia/result.h"

namespace qualia::jinja {

struct Macro;  // a macro with the scope it was defined in, owned by the evaluation
struct Scope;  // variables, see jinja_evaluator.h
struct Stmt;   // see jinja_ast.h

struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

// What builtins may use of the evaluation.
struct Runtime {
  Budget& budget;
  long long now_unix_seconds = 0;
  std::vector<std::unique_ptr<Namespace>> namespaces = {};  // live until the evaluation ends
  bool raised = false;  // the failing sentence is the template's own, from raise_exception
};

using Builtin = Result<Value> (*)(Runtime& runtime, const Value& self, const Arguments& arguments);

struct NamedBuiltin {
  std::string_view name;
  Builtin call;
};

struct Callable {
  explicit Callable(const Macro* called) : macro(called) {}
  Callable(const NamedBuiltin* called, Value receiver)
      : builtin(called), self(std::move(receiver)), depth(depth_of(self) + 1) {}

  const Macro* macro = nullptr;  // one of macro and builtin is set
  const NamedBuiltin* builtin = nullptr;
  Value self;  // a method's receiver; undefined for functions
  size_t depth = 1;
};

// The state behind `loop`. The evaluation pulls items one at a time, since a loop's `if` sees what
// the body has changed before.
struct Loop {
  SequencePtr source;
  size_t next_source = 0;
  size_t depth = 1;
  int64_t index0 = -1;
  Value previous, current;
  std::deque<Value> ahead;          // pulled by loop.last and its kin, not yet run
  const Stmt* statement = nullptr;  // null once the loop has ended: nothing more is pulled
  Scope* scope = nullptr;
  std::vector<Value> changed;  // arguments of the last loop.changed()
};

// Arguments matched with a builtin's parameters.
class Bound {
 public:
  // Errors: an unknown, repeated or missing argument, or too many.
  static Result<Bound> bind(std::string_view function, std::span<const std::string_view> parameters,
                            size_t required, const Arguments& arguments);

  // Null if not given.
  const Value* get(size_t index) const { return values_[index]; }
  // Null too for None and undefined, where Python code tests "is None".
  const Value* get_unless_none(size_t index) const;
  Result<int64_t> integer(size_t index, int64_t otherwise) const;
  bool boolean(size_t index, bool otherwise) const;
  // The text argument. REQUIRES: given and checked by is_text, or is an Error.
  Result<TextPtr> text(size_t index) const;

 private:
  std::string_view function_;
  std::span<const std::string_view> parameters_;
  std::vector<const Value*> values_;
};

}  // namespace qualia::jinja
