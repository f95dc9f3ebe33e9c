// json.dumps of jinja_json.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "jinja/json.h"
#include "jinja/repr.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(Budget& budget, const JsonStyle& style) : budget_(budget), style_(style) {}

  Result<void> write(const Value& value, size_t level);
  MarkedBytes finish() { return std::move(out_); }

 private:
  bool append(std::string_view bytes);
  void break_line(size_t level);
  void write_text(const Text& text);
  void write_code_point(int32_t value);
  Result<void> write_items(const Sequence& sequence, size_t level);
  Result<void> write_entries(const Dict& dict, size_t level);
  Result<void> write_key(const Value& key);
  Result<std::vector<const Dict::Entry*>> ordered_entries(const Dict& dict);

  Budget& budget_;
  const JsonStyle& style_;
  MarkedBytes out_;
};

bool JsonWriter::append(std::string_view bytes) {
  if (!budget_.text_fits(out_.bytes.size() + bytes.size())) return false;
  out_.bytes += bytes;
  return true;
}

void JsonWriter::break_line(size_t level) {
  if (!style_.indent || !append("\n")) return;
  for (size_t i = 0; i < level; ++i) {
    if (!budget_.spend_bytes(style_.indent->size()) || !append(*style_.indent)) return;
  }
}

void JsonWriter::write_code_point(int32_t value) {
  constexpr std::string_view kNames = "\"\\\n\r\t\b\f";
  constexpr std::string_view kEscapes = "\"\\nrtbf";
  const size_t named = value < 0x80 ? kNames.find(static_cast<char>(value)) : kNames.npos;
  if (named != kNames.npos) {
    out_.bytes += '\\';
    out_.bytes += kEscapes[named];
  } else if (value < 0x20 || (style_.ascii_only && value >= 0x7f && value <= 0xffff)) {
    if (!budget_.spend(1)) return;  // formatting an escape takes a step's time
    // json.dumps keeps U+007F as it is.
    out_.bytes += value == 0x7f ? "\x7f" : fmt::format("\\u{:04x}", value);
  } else if (style_.ascii_only && value > 0xffff) {
    const int32_t above = value - 0x10000;
    out_.bytes +=
        fmt::format("\\u{:04x}\\u{:04x}", 0xd800 + (above >> 10), 0xdc00 + (above & 0x3ff));
  } else {
    append_utf8(out_.bytes, value);
  }
}

void JsonWriter::write_text(const Text& text) {
  if (!budget_.text_fits(out_.bytes.size() + text.size())) return;
  budget_.spend_bytes(text.size() * 4);
  if (text.trust() == Trust::untrusted) out_.trust = Trust::untrusted;
  out_.bytes += '"';
  for (size_t at = 0; at < text.size() && budget_.text_fits(out_.bytes.size());) {
    const CodePoint point = code_point_at(text.bytes, at);
    if (point.value < 0) {
      out_.bytes += text.bytes[at];
    } else {
      write_code_point(point.value);
    }
    at += point.size_bytes;
  }
  out_.bytes += '"';
}

Result<void> JsonWriter::write_items(const Sequence& sequence, size_t level) {
  if (sequence.items.empty()) {
    append("[]");
    return {};
  }
  append("[");
  bool first = true;
  for (const Value& item : sequence.items) {
    if (!std::exchange(first, false)) append(style_.item_separator);
    break_line(level + 1);
    if (!budget_.ok()) return {};
    QUALIA_TRY(write(item, level + 1));
  }
  break_line(level);
  append("]");
  return {};
}

Result<void> JsonWriter::write_key(const Value& key) {
  switch (key.kind()) {
    case Kind::text:
      write_text(*key.text());
      return {};
    case Kind::none:
    case Kind::boolean:
    case Kind::integer:
    case Kind::real:
      append("\"");
      QUALIA_TRY(write(key, 0));
      append("\"");
      return {};
    default:
      return invalid_argument("a JSON key can't be '{}'", type_name(key));
  }
}

Result<std::vector<const Dict::Entry*>> JsonWriter::ordered_entries(const Dict& dict) {
  std::vector<const Dict::Entry*> entries;
  for (const Dict::Entry& entry : dict.entries) entries.push_back(&entry);
  if (!style_.sort_keys) return entries;
  size_t bytes = 0;
  for (const Dict::Entry* entry : entries) {
    if (!entry->first.is(Kind::text)) return invalid_argument("sort_keys needs str keys");
    bytes += entry->first.text()->size();
  }
  if (!budget_.spend_bytes(bytes * 32)) return entries;  // log2 of the most keys that fit
  std::sort(entries.begin(), entries.end(), [](const Dict::Entry* a, const Dict::Entry* b) {
    return a->first.bytes() < b->first.bytes();
  });
  return entries;
}

Result<void> JsonWriter::write_entries(const Dict& dict, size_t level) {
  if (dict.entries.empty()) {
    append("{}");
    return {};
  }
  append("{");
  bool first = true;
  QUALIA_ASSIGN(const auto entries, ordered_entries(dict));
  for (const Dict::Entry* entry : entries) {
    if (!std::exchange(first, false)) append(style_.item_separator);
    break_line(level + 1);
    if (!budget_.ok()) return {};
    QUALIA_TRY(write_key(entry->first));
    append(style_.key_separator);
    QUALIA_TRY(write(entry->second, level + 1));
  }
  break_line(level);
  append("}");
  return {};
}

std::string real_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return real_repr(value);
}

Result<void> JsonWriter::write(const Value& value, size_t level) {
  if (!budget_.spend(1)) return {};
  switch (value.kind()) {
    case Kind::none:
      append("null");
      return {};
    case Kind::boolean:
      append(value.as_boolean() ? "true" : "false");
      return {};
    case Kind::integer:
      append(fmt::format("{}", value.as_integer()));
      return {};
    case Kind::real:
      append(real_json(value.as_real()));
      return {};
    case Kind::text:
      write_text(*value.text());
      return {};
    case Kind::sequence:
      return write_items(value.sequence(), level);
    case Kind::dict:
      return write_entries(value.dict(), level);
    default:
      return invalid_argument("'{}' object has no JSON form", type_name(value));
  }
}

}  // namespace

Result<TextPtr> write_json(Budget& budget, const Value& value, const JsonStyle& style) {
  JsonWriter writer(budget, style);
  QUALIA_TRY(writer.write(value, 0));
  MarkedBytes out = writer.finish();
  return make_text(budget, std::move(out.bytes), out.trust);
}

}  // namespace qualia::jinja
