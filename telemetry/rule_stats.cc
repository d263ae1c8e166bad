#include "telemetry/rule_stats.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "telemetry/metrics.h"
#include "telemetry/prometheus_text.h"

namespace weir::telemetry {
namespace {

/// The end of a run of one to three digits at `at`; `at` if there is none.
std::size_t after_digits(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at;
  while (end < text.size() && end - at < 3 && ascii::is_digit(text[end])) ++end;
  return end;
}

/// As envoyproxy/ratelimit names its statistics: no `:` and no `|`, and no dots in IPv4 addresses.
std::string stat_name(std::string_view text) {
  std::string out(text);
  std::replace_if(
      out.begin(), out.end(), [](char c) { return c == ':' || c == '|'; }, '_');
  for (std::size_t at = 0; at < out.size(); ++at) {
    std::size_t dots[3] = {};
    std::size_t end = after_digits(out, at), found = 0;
    while (end > at && found < 3 && end < out.size() && out[end] == '.') {
      const std::size_t next = after_digits(out, end + 1);
      if (next == end + 1) break;
      dots[found++] = end;
      end = next;
    }
    if (found < 3) continue;
    for (const std::size_t dot : dots) out[dot] = '_';
    at = end - 1;
  }
  return out;
}

void append_label(std::string& out, std::string_view name, std::string_view text) {
  if (!out.empty()) out += ',';
  out.append(name).append("=\"");
  if (text.size() > RuleStats::kTextMax) {
    std::size_t end = RuleStats::kTextMax;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end);
  }
  out.append(escape_label(text)).append("\"");
}

}  // namespace

void RuleRow::count(std::uint64_t hits, std::uint64_t after, std::uint64_t limit,
                    std::uint64_t near, bool shadow) noexcept {
  const std::uint64_t before = after - std::min(hits, after);
  near = std::min(near, limit);
  add(total_, hits);
  if (after <= limit) {
    add(within_, hits);
    if (after > near) add(near_, before >= near ? hits : after - near);
    return;
  }
  const std::uint64_t over = before >= limit ? hits : after - limit;
  add(over_, over);
  if (before < limit) add(near_, limit - std::max(near, before));
  if (shadow) add(shadow_, over);
}

RuleRow* RuleStats::row(std::string_view domain, std::span<const std::string> keys, bool by_value) {
  std::string labels;
  append_label(labels, "domain", stat_name(domain));
  for (std::size_t i = 0; i < keys.size(); ++i)
    append_label(labels, "key" + std::to_string(i + 1), stat_name(keys[i]));
  const std::lock_guard lock(mutex_);
  const auto found = by_labels_.find(labels);
  if (found != by_labels_.end()) return found->second;
  if (by_value ? values_ >= kValuesMax : rows_.size() - values_ >= kRulesMax) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  if (by_value) ++values_;
  return by_labels_.emplace(std::move(labels), &rows_.emplace_back()).first->second;
}

SpaceRow* RuleStats::space(std::string_view space) {
  std::string label;
  append_label(label, "limitador_namespace", space);
  const std::lock_guard lock(mutex_);
  const auto found = spaces_.find(label);
  if (found != spaces_.end()) return &found->second;
  if (spaces_.size() >= kRulesMax) {
    left_out_.fetch_add(1, std::memory_order_relaxed);
    return nullptr;
  }
  return &spaces_[std::move(label)];
}

void RuleStats::write_limitador(std::string& out) const {
  struct Family {
    std::string_view name, help;
    std::atomic<std::uint64_t> SpaceRow::*cell;
  };
  static constexpr Family kFamilies[] = {
      {"authorized_calls", "Authorized calls", &SpaceRow::calls_},
      {"authorized_hits", "Authorized hits", &SpaceRow::hits_},
      {"limited_calls", "Limited calls", &SpaceRow::limited_},
  };
  const std::lock_guard lock(mutex_);
  for (const Family& family : kFamilies) {
    append_family(out, family.name, "counter", family.help);
    for (const auto& [label, row] : spaces_)
      append_sample(out, family.name, label, (row.*family.cell).load(std::memory_order_relaxed));
  }
  append_family(out, "limitador_up", "gauge", "Limitador is running");
  append_sample(out, "limitador_up", {}, 1);
}

void RuleStats::write(std::string& out) const {
  struct Family {
    std::string_view name, help;
    RuleRow::Cell RuleRow::*cell;
  };
  static constexpr Family kFamilies[] = {
      {"total_hits", "Hits of a rule, as envoyproxy/ratelimit counts them.", &RuleRow::total_},
      {"within_limit", "Hits of a rule in calls within the limit.", &RuleRow::within_},
      {"near_limit", "Hits of a rule above the part ratelimit.near of the limit.", &RuleRow::near_},
      {"over_limit", "Hits of a rule over the limit.", &RuleRow::over_},
      {"shadow_mode", "Hits over the limit of rules in shadow mode.", &RuleRow::shadow_},
  };
  const std::lock_guard lock(mutex_);
  for (const Family& family : kFamilies) {
    const std::string name = "ratelimit_service_rate_limit_" + std::string(family.name);
    append_family(out, name, "counter", family.help);
    for (const auto& [labels, row] : by_labels_)
      append_sample(out, name, labels, (row->*family.cell).load(std::memory_order_relaxed));
  }
}

}  // namespace weir::telemetry
