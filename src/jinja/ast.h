// The parsed template: flat arrays of nodes that name each other by index, so that neither copying
// nor freeing a deep tree recurses.
// Thread-safety: immutable after parsing.
// Every node knows its height; the parser refuses what is higher than kTreeHeightMax, so evaluation
// depth is bounded by macro calls alone.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "jinja/callable.h"
#include "jinja/operators.h"
#include "jinja/value.h"

namespace qualia::jinja {

using ExprId = uint32_t;
using StmtId = uint32_t;
using NameId = uint32_t;  // index into Program::names
inline constexpr uint32_t kAbsent = std::numeric_limits<uint32_t>::max();

// The highest public template reaches 23.
inline constexpr size_t kTreeHeightMax = 100;
inline constexpr std::string_view kTooDeep = "tags and expressions nest deeper than 100";

enum class ExprKind : uint8_t {
  constant,
  name,
  list,
  tuple,
  dict,  // operands: key, value, key, value, ...
  logical_not,
  negate,
  plus,
  arithmetic,   // operands a b c with operators between: evaluated from the left
  concatenate,  // a ~ b ~ c
  logical_and,
  logical_or,
  compare,      // a < b < c: each pair holds
  conditional,  // operands: condition, then, else or kAbsent
  attribute,    // operands: object; name
  item,         // operands: object, key
  slice,        // operands: object, start, stop, step, each bound may be kAbsent
  call,         // operands: callee, arguments...
  filter,       // operands: input (kAbsent inside a filter block), arguments...
  test,         // operands: input, arguments...
};

struct Expr {
  ExprKind kind = ExprKind::constant;
  uint32_t line = 1;
  size_t height = 1;
  Value constant;
  NameId name = kAbsent;  // of a name, attribute, filter or test
  std::vector<ExprId> operands;
  std::vector<BinaryOp> operators;
  std::vector<CompareOp> comparisons;
  // Of calls, filters and tests.
  std::vector<std::pair<NameId, ExprId>> keywords;
  ExprId spread_list = kAbsent;  // *args
  ExprId spread_dict = kAbsent;  // **kwargs
  const NamedBuiltin* builtin = nullptr;
};

// What `set`, `for` and `with` assign to.
struct Target {
  NameId name = kAbsent;
  NameId attribute = kAbsent;  // name.attribute of a namespace
  std::vector<Target> items;   // a tuple; empty: a name
  bool is_tuple = false;
};

enum class StmtKind : uint8_t {
  data,
  output,
  if_chain,
  for_loop,
  set,
  set_block,
  macro,
  call_block,
  filter_block,
  with,
  scope,  // generation and block tags: their body in a scope of its own
  break_loop,
  continue_loop,
};

using Body = std::vector<StmtId>;

struct Branch {
  ExprId condition = kAbsent;  // kAbsent: else
  Body body;
};

struct Parameter {
  NameId name = kAbsent;
  ExprId otherwise = kAbsent;  // the default; kAbsent: none
};

struct Stmt {
  StmtKind kind = StmtKind::data;
  uint32_t line = 1;
  size_t height = 1;
  Value data;                    // of data: the text
  ExprId expr = kAbsent;         // output, set: the value; for: what it runs over; call: the call
  ExprId filter = kAbsent;       // for: its `if`; set_block and filter_block: the filter
  std::vector<Target> targets;   // for, set, set_block: one; with: one per value
  std::vector<ExprId> values;    // with
  std::vector<Branch> branches;  // if_chain
  Body body;
  Body otherwise;                     // for: else
  NameId name = kAbsent;              // macro
  std::vector<Parameter> parameters;  // macro, call_block
  bool uses_loop = false;             // for: the body or the filter names `loop`
};

struct Program {
  std::vector<std::string> names;
  std::vector<Expr> exprs;
  std::vector<Stmt> stmts;
  Body body;
  // A loop runs over the content of a message, so the template can take content as a list of parts.
  bool handles_content_parts = false;
};

}  // namespace qualia::jinja
