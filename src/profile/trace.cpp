// The trace of a report. Source of the format: "Trace Event Format" (Google, 2016): complete events
// ("ph": "X") with ts and dur in microseconds, metadata events ("ph": "M") that name the rows.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <map>

#include "qualia/profile.h"

namespace qualia {
namespace {

std::string json_text(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      quoted += fmt::format("\\u{:04x}", byte);
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// Microseconds with all of the clock's digits: doubles would lose them after some days.
std::string micros(uint64_t ns) { return fmt::format("{}.{:03}", ns / 1000, ns % 1000); }

// Where each step begins when they follow one another.
std::map<uint64_t, uint64_t> step_begins(const std::vector<ProfileSpan>& spans) {
  std::map<uint64_t, uint64_t> lengths;
  for (const ProfileSpan& span : spans)
    lengths[span.step] = std::max(lengths[span.step], span.end_ns);
  uint64_t begin_ns = 0;
  for (auto& [step, length_ns] : lengths) {
    const uint64_t end_ns = begin_ns + length_ns;
    length_ns = begin_ns;
    begin_ns = end_ns;
  }
  return lengths;
}

}  // namespace

std::string to_chrome_trace(const ProfileReport& report) {
  std::string text = fmt::format(
      "{{\"displayTimeUnit\": \"ns\",\n\"otherData\": {{\"circuit\": {}, \"perturbed\": true, "
      "\"granularity\": {}}},\n\"traceEvents\": [\n",
      json_text(report.circuit), json_text(report.granularity));
  auto out = std::back_inserter(text);
  fmt::format_to(out,
                 "{{\"name\": \"process_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": 0, \"args\": "
                 "{{\"name\": {}}}}}",
                 json_text(report.circuit));
  for (const Phase phase : kPhases) {
    fmt::format_to(out,
                   ",\n{{\"name\": \"thread_name\", \"ph\": \"M\", \"pid\": 1, \"tid\": {}, "
                   "\"args\": {{\"name\": \"{}\"}}}}",
                   static_cast<int>(phase) + 1, to_string(phase));
  }
  const std::map<uint64_t, uint64_t> begins = step_begins(report.spans);
  for (const ProfileSpan& span : report.spans) {
    const ProfileOp& op = report.ops[span.op];
    fmt::format_to(out,
                   ",\n{{\"name\": {}, \"cat\": \"{}\", \"ph\": \"X\", \"pid\": 1, \"tid\": {}, "
                   "\"ts\": {}, \"dur\": {}, \"args\": {{\"step\": {}}}}}",
                   json_text(op.name), to_string(op.phase), static_cast<int>(op.phase) + 1,
                   micros(begins.at(span.step) + span.begin_ns),
                   micros(span.end_ns - span.begin_ns), span.step);
  }
  return text + "\n]}\n";
}

}  // namespace qualia
