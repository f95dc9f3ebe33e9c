#include "jinja/repr.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "jinja/callable.h"
#include "jinja/unicode.h"

namespace qualia::jinja {

namespace {

class Writer {
 public:
  explicit Writer(Budget& budget) : budget_(budget) {}

  void write(const Value& value);
  MarkedBytes finish() { return std::move(out_); }

 private:
  void write_text(const Text& text);
  void write_code_point(int32_t value, char quote);
  void write_sequence(const Sequence& sequence);
  void write_items(const std::vector<Value>& items);
  void write_dict(const Dict& dict);
  void write_namespace(const Namespace& name_space);

  Budget& budget_;
  MarkedBytes out_;
};

void Writer::write_code_point(int32_t value, char quote) {
  if (value == '\\' || value == quote) {
    out_.bytes += '\\';
    out_.bytes += static_cast<char>(value);
  } else if (value == '\n') {
    out_.bytes += "\\n";
  } else if (value == '\r') {
    out_.bytes += "\\r";
  } else if (value == '\t') {
    out_.bytes += "\\t";
  } else if (is_printable(value)) {
    append_utf8(out_.bytes, value);
  } else if (!budget_.spend(1)) {
    return;  // formatting an escape takes a step's time
  } else if (value <= 0xff) {
    out_.bytes += fmt::format("\\x{:02x}", value);
  } else if (value <= 0xffff) {
    out_.bytes += fmt::format("\\u{:04x}", value);
  } else {
    out_.bytes += fmt::format("\\U{:08x}", value);
  }
}

void Writer::write_text(const Text& text) {
  if (!budget_.text_fits(out_.bytes.size() + text.size())) return;
  budget_.spend_bytes(text.size() * 8);  // each code point is looked up
  if (text.trust() == Trust::untrusted) out_.trust = Trust::untrusted;
  const bool single = text.bytes.find('\'') != std::string::npos;
  const bool double_quote = text.bytes.find('"') != std::string::npos;
  const char quote = single && !double_quote ? '"' : '\'';
  out_.bytes += quote;
  for (size_t at = 0; at < text.size() && budget_.text_fits(out_.bytes.size());) {
    const CodePoint point = code_point_at(text.bytes, at);
    if (point.value < 0) {
      out_.bytes += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.bytes[at]));
    } else {
      write_code_point(point.value, quote);
    }
    at += point.size_bytes;
  }
  out_.bytes += quote;
}

void Writer::write_items(const std::vector<Value>& items) {
  bool first = true;
  for (const Value& item : items) {
    if (!budget_.ok()) return;
    if (!std::exchange(first, false)) out_.bytes += ", ";
    write(item);
  }
}

void Writer::write_sequence(const Sequence& sequence) {
  switch (sequence.flavour) {
    case Flavour::tuple:
      out_.bytes += '(';
      write_items(sequence.items);
      out_.bytes += sequence.items.size() == 1 ? ",)" : ")";
      return;
    case Flavour::range:
      out_.bytes += fmt::format("range({}, {}", sequence.range_start, sequence.range_stop);
      if (sequence.range_step != 1) out_.bytes += fmt::format(", {}", sequence.range_step);
      out_.bytes += ')';
      return;
    case Flavour::list:
    case Flavour::generator:
      out_.bytes += '[';
      write_items(sequence.items);
      out_.bytes += ']';
      return;
    default:
      out_.bytes += type_name(Value(std::shared_ptr<const Sequence>(&sequence, [](auto*) {})));
      out_.bytes += "([";
      write_items(sequence.items);
      out_.bytes += "])";
  }
}

void Writer::write_dict(const Dict& dict) {
  out_.bytes += '{';
  bool first = true;
  for (const auto& [key, value] : dict.entries) {
    if (!budget_.ok()) return;
    if (!std::exchange(first, false)) out_.bytes += ", ";
    write(key);
    out_.bytes += ": ";
    write(value);
  }
  out_.bytes += '}';
}

void Writer::write(const Value& value) {
  if (!budget_.spend(1) || !budget_.text_fits(out_.bytes.size())) return;
  switch (value.kind()) {
    case Kind::undefined:
      out_.bytes += "Undefined";
      return;
    case Kind::none:
      out_.bytes += "None";
      return;
    case Kind::boolean:
      out_.bytes += value.as_boolean() ? "True" : "False";
      return;
    case Kind::integer:
      out_.bytes += fmt::format("{}", value.as_integer());
      return;
    case Kind::real:
      out_.bytes += real_repr(value.as_real());
      return;
    case Kind::text:
      write_text(*value.text());
      return;
    case Kind::sequence:
      write_sequence(value.sequence());
      return;
    case Kind::dict:
      write_dict(value.dict());
      return;
    default:
      out_.bytes += fmt::format("<{}>", type_name(value));
  }
}

std::string_view html_escape(char c) {
  switch (c) {
    case '&':
      return "&amp;";
    case '<':
      return "&lt;";
    case '>':
      return "&gt;";
    case '\'':
      return "&#39;";
    case '"':
      return "&#34;";
    default:
      return "";
  }
}

}  // namespace

std::string real_repr(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

MarkedBytes repr(Budget& budget, const Value& value) {
  Writer writer(budget);
  writer.write(value);
  return writer.finish();
}

void append_text(TextBuilder& builder, Budget& budget, const Value& value) {
  if (value.is(Kind::text)) {
    builder.append(*value.text());
  } else if (!value.is(Kind::undefined)) {
    const MarkedBytes plain = repr(budget, value);
    builder.append(plain.bytes, plain.trust);
  }
}

TextPtr to_text(Budget& budget, const Value& value) {
  if (value.is(Kind::text)) return value.text();
  TextBuilder builder(budget);
  append_text(builder, budget, value);
  return builder.finish();
}

TextPtr escaped(Budget& budget, const Text& text) {
  TextBuilder builder(budget);
  size_t copied = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const std::string_view replacement = html_escape(text.bytes[at]);
    if (replacement.empty()) continue;
    builder.append(text, copied, at);
    builder.append(replacement);
    copied = at + 1;
  }
  builder.append(text, copied, text.size());
  return builder.finish();
}

TextPtr marked_safe(Budget& budget, const TextPtr& text) {
  auto copy = std::make_shared<Text>(&budget, text->bytes, text->untrusted);
  copy->markup = true;
  return copy;
}

}  // namespace qualia::jinja
