// A report as people read it.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "qualia/profile.h"

namespace qualia {
namespace {

constexpr size_t kBarWidth = 30;  // the table stays within 80 columns
constexpr const char* kUnknown = "n/a";

std::string decimal(const std::optional<double>& value, int digits, double scale = 1.0) {
  return value ? fmt::format("{:.{}f}", *value * scale, digits) : kUnknown;
}

std::string millis(uint64_t ns) { return fmt::format("{:.3f}", static_cast<double>(ns) / 1e6); }

std::string phase_line(std::string_view name, const std::string& calls, const std::string& ms,
                       const std::optional<double>& share) {
  const double part = std::clamp(share.value_or(0), 0.0, 1.0);
  const auto length = static_cast<size_t>(std::lround(part * kBarWidth));
  const std::string percent = share ? decimal(share, 1, 100) + " %" : kUnknown;
  return fmt::format("{:<13}{:>8}{:>11}{:>9}{}\n", name, calls, ms, percent,
                     length > 0 ? "  " + std::string(length, '#') : "");
}

std::string phases_table(const ProfileReport& report) {
  std::string text = fmt::format("{:<13}{:>8}{:>11}{:>9}\n", "phase", "calls", "ms", "share");
  uint64_t wall_ns = report.unattributed_ns;
  for (const ProfilePhase& phase : report.phases) {
    text += phase_line(to_string(phase.phase), fmt::format("{}", phase.calls),
                       phase.calls > 0 ? millis(phase.total_ns) : kUnknown, phase.share);
    wall_ns += phase.total_ns;
  }
  std::optional<double> share;
  if (wall_ns > 0)
    share = static_cast<double>(report.unattributed_ns) / static_cast<double>(wall_ns);
  return text + phase_line("unattributed", "", millis(report.unattributed_ns), share);
}

std::string ops_table(const ProfileReport& report) {
  if (report.ops.empty()) return {};
  std::string text = fmt::format("\n{:<18}{:<13}{:>8}{:>11}{:>10}{:>9}{:>9}{:>11}\n", "op", "phase",
                                 "calls", "ms", "us/call", "GB/s", "of read", "GFLOP/s");
  for (const ProfileOp& op : report.ops) {
    const double each = static_cast<double>(op.total_ns) / 1e3 / static_cast<double>(op.calls);
    const std::string of_read =
        op.ceiling_share ? decimal(op.ceiling_share, 1, 100) + " %" : kUnknown;
    text += fmt::format("{:<18}{:<13}{:>8}{:>11}{:>10.2f}{:>9}{:>9}{:>11}\n", op.name,
                        to_string(op.phase), op.calls, millis(op.total_ns), each,
                        decimal(op.gb_per_s, 2), of_read, decimal(op.gflop_per_s, 1));
  }
  return text;
}

bool is_beyond_memory(const ProfileReport& report) {
  return std::ranges::any_of(report.ops,
                             [](const ProfileOp& op) { return op.ceiling_share > 1.0; });
}

std::string summary(const ProfileReport& report) {
  std::string text =
      report.every == 1 ? "\nEvery step is" : fmt::format("\nOne step in {} is", report.every);
  text += fmt::format(" recorded ({} in all), the clock read at {}", report.steps,
                      report.granularity.empty() ? kUnknown : report.granularity);
  text += fmt::format("; {} sample{} dropped.\n", report.dropped, report.dropped == 1 ? "" : "s");
  if (report.read_bytes_per_s)
    text += fmt::format("Read bandwidth: {} GB/s{}.\n", decimal(report.read_bytes_per_s, 2, 1e-9),
                        is_beyond_memory(report) ? "; an op beyond it reads from caches" : "");
  return text + decimal(report.tok_s, 2) +
         " tok/s, perturbed: reading clocks takes time, so this is not the speed of an ordinary "
         "run.\n";
}

}  // namespace

std::string to_text(const ProfileReport& report) {
  std::string text = fmt::format("{}: {} tokens", report.circuit, report.tokens);
  if (report.prompt_tokens > 0) text += fmt::format(" after a prompt of {}", report.prompt_tokens);
  if (report.depth > 0) text += fmt::format(" at depth {}", report.depth);
  text += fmt::format(", {} ms\n\n", millis(report.wall_ns));
  return text + phases_table(report) + ops_table(report) + summary(report);
}

}  // namespace qualia
