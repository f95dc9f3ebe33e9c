// JSON reading of jinja_json.h, on nlohmann's SAX parser: it does not recurse, and building values
// directly avoids its ordered map, which is quadratic in the number of keys.
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/error.h"
#include "jinja/json.h"

namespace qualia::jinja {

namespace {

using nlohmann::json;

// Longer role names don't occur; OpenAI's longest is "assistant".
constexpr size_t kRoleBytesMax = 64;

bool is_plain_word(std::string_view text) {
  return text.size() <= kRoleBytesMax && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '_' || c == '-';
         });
}

// The interface that nlohmann's parser calls; false stops it.
class Builder : public nlohmann::json_sax<json> {
 public:
  Builder(Budget& budget, TrustedJson trusted) : budget_(budget), trusted_(trusted) {}

  bool null() override { return add(None{}); }
  bool boolean(bool value) override { return add(Value(value)); }
  bool number_integer(number_integer_t value) override { return add(Value(int64_t{value})); }
  bool number_unsigned(number_unsigned_t value) override {
    const bool fits = value <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
    return add(fits ? Value(static_cast<int64_t>(value)) : Value(static_cast<double>(value)));
  }
  bool number_float(number_float_t value, const string_t&) override { return add(Value(value)); }
  bool string(string_t& value) override {
    const Trust trust = trust_of(value);
    return add(make_text(budget_, std::move(value), trust));
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(/*is_object=*/true); }
  bool start_array(std::size_t) override { return open(/*is_object=*/false); }
  bool key(string_t& name) override {
    Frame& frame = frames_.back();
    frame.at_role = frames_.size() == 2 && name == "role";
    const Trust trust = trusted_ == TrustedJson::everything ? Trust::trusted : Trust::untrusted;
    frame.key = make_text(budget_, std::move(name), trust);
    return budget_.ok();
  }
  bool end_object() override {
    return close(make_dict(budget_, std::move(frames_.back().entries)));
  }
  bool end_array() override { return close(make_list(budget_, std::move(frames_.back().items))); }
  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception&) override {
    error_position_ = position;
    return false;
  }

  bool too_deep() const { return too_deep_; }
  std::size_t error_position() const { return error_position_; }
  Value take_result() { return std::move(result_); }

 private:
  struct Frame {
    bool is_object = false;
    bool at_role = false;
    Value key;
    std::vector<Dict::Entry> entries;
    std::vector<Value> items;
  };

  Trust trust_of(const std::string& value) const {
    if (trusted_ == TrustedJson::everything) return Trust::trusted;
    const bool role = trusted_ == TrustedJson::roles && frames_.size() == 2 &&
                      frames_.back().is_object && frames_.back().at_role && is_plain_word(value);
    return role ? Trust::trusted : Trust::untrusted;
  }
  bool add(Value value) {
    if (frames_.empty()) {
      result_ = std::move(value);
    } else if (Frame& frame = frames_.back(); frame.is_object) {
      frame.entries.emplace_back(std::move(frame.key), std::move(value));
    } else {
      frame.items.push_back(std::move(value));
    }
    return budget_.spend(1);
  }
  bool open(bool is_object) {
    too_deep_ = frames_.size() >= kJsonDepthMax;
    if (too_deep_) return false;
    frames_.emplace_back().is_object = is_object;
    return true;
  }
  bool close(Value value) {
    frames_.pop_back();
    return add(std::move(value));
  }

  Budget& budget_;
  TrustedJson trusted_;
  std::vector<Frame> frames_;
  Value result_;
  bool too_deep_ = false;
  std::size_t error_position_ = 0;
};

}  // namespace

Result<Value> read_json(Budget& budget, std::string_view text, TrustedJson trusted) {
  Builder builder(budget, trusted);
  bool done = false;
  try {
    done = json::sax_parse(text, &builder);
  } catch (const std::exception& exception) {
    return invalid_argument("reading the JSON fails: {}", exception.what());
  }
  if (done) return builder.take_result();
  if (!budget.ok()) return invalid_argument("{}", budget.exhausted());
  if (builder.too_deep()) return invalid_argument("the JSON nests deeper than {}", kJsonDepthMax);
  return invalid_argument("the JSON is malformed at byte {}", builder.error_position());
}

}  // namespace qualia::jinja
