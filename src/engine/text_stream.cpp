#include "engine/text_stream.h"

#include <algorithm>
#include <utility>

namespace qualia::engine {
namespace {

// Length of the longest end of `text` that is a proper beginning of `stop`.
size_t possible_start(std::string_view text, std::string_view stop) {
  for (size_t length = std::min(text.size(), stop.size() - 1); length > 0; --length)
    if (text.substr(text.size() - length) == stop.substr(0, length)) return length;
  return 0;
}

}  // namespace

TextStream::TextStream(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase(stops_, std::string());
}

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return {};
  return advance(decoder_.push(bytes));
}

std::string TextStream::finish() {
  if (stopped_) return {};
  std::string text = advance(decoder_.finish());
  if (!stopped_) text += std::exchange(held_, {});
  return text;
}

std::string TextStream::advance(std::string_view text) {
  held_ += text;
  size_t first = std::string::npos;
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    first = std::min(first, held_.find(stop));
    keep = std::max(keep, possible_start(held_, stop));
  }
  if (first != std::string::npos) {
    stopped_ = true;
    held_.resize(first);
    return std::exchange(held_, {});
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

}  // namespace qualia::engine
