// Strings of the template language: bytes plus the ranges of them that came from a message.
// Thread-safety: Text is immutable; TextBuilder has one owner.
// Bytes are UTF-8, though invalid bytes are carried through. Ranges are sorted, disjoint and do not
// touch each other. An operation that can say exactly which bytes came from where keeps the ranges
// exact; any other marks its whole result when one input byte was untrusted.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_range.h"
#include "jinja/budget.h"

namespace qualia::jinja {

enum class Trust { trusted, untrusted };

struct Text : Metered {
  Text(Budget* budget, std::string text, std::vector<ByteRange> ranges);

  size_t size() const noexcept { return bytes.size(); }
  Trust trust() const noexcept { return untrusted.empty() ? Trust::trusted : Trust::untrusted; }
  // How many code points; constant time for ASCII.
  size_t length() const noexcept;

  const std::string bytes;
  const std::vector<ByteRange> untrusted;
  const bool ascii;
  // |safe: in an environment without autoescape it only changes what `+` does, see add().
  bool markup = false;
};

// Shared: values are copied freely between variables, lists and scopes.
using TextPtr = std::shared_ptr<const Text>;

TextPtr make_text(Budget& budget, std::string bytes, Trust trust = Trust::trusted);
// The bytes [begin, end) with their ranges. REQUIRES: begin <= end <= text.size().
TextPtr slice_text(Budget& budget, const TextPtr& text, size_t begin, size_t end);

class TextBuilder {
 public:
  explicit TextBuilder(Budget& budget) : budget_(budget) {}

  void append(std::string_view bytes, Trust trust = Trust::trusted);
  void append(const Text& text) { append(text, 0, text.size()); }
  void append(const Text& text, size_t begin, size_t end);
  void append_repeated(std::string_view bytes, size_t count);

  size_t size() const noexcept { return bytes_.size(); }
  bool empty() const noexcept { return bytes_.empty(); }
  TextPtr finish();
  // The parts of the finished text, for the caller's own structure.
  std::string take_bytes() { return std::move(bytes_); }
  std::vector<ByteRange> take_ranges() { return std::move(ranges_); }

 private:
  bool reserve(size_t more);
  void mark(size_t begin, size_t end);

  Budget& budget_;
  std::string bytes_;
  std::vector<ByteRange> ranges_;
};

// Plain bytes with one mark for all of them: repr, JSON, formatting.
struct MarkedBytes {
  std::string bytes;
  Trust trust = Trust::trusted;
};

// Where `needle` starts at or after `from`, npos if nowhere. Linear in the sum of both sizes, which
// std::string_view::find is not.
size_t find_bytes(std::string_view text, std::string_view needle, size_t from = 0);
size_t rfind_bytes(std::string_view text, std::string_view needle);

}  // namespace qualia::jinja
