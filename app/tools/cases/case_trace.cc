#include "app/tools/cases/case_trace.h"

#include <algorithm>

#include "core/key.h"
#include "policies/explain/pattern_text.h"
#include "policies/set/describe.h"

namespace weir::app {
namespace {

constexpr std::size_t kLinesMax = 8;

std::string value_text(const Value& value) {
  if (value.is_null()) return "none";
  if (value.is_number()) return value.as_number().to_string();
  std::string out;
  append_canonical(out, value);
  return out;
}

}  // namespace

void CaseTrace::clear() {
  values_.clear();
  lines_.clear();
}

const std::string* CaseTrace::value(const std::string& policy) const {
  const auto found = values_.find(policy);
  return found == values_.end() ? nullptr : &found->second;
}

std::string& CaseTrace::line_of(const std::string& policy) {
  for (Line& line : lines_) {
    if (line.policy == policy) return line.text;
  }
  return lines_.emplace_back(Line{policy, {}}).text;
}

void CaseTrace::list(const policies::List& list, std::optional<TimePoint> until, std::string_view) {
  line_of("list " + list.name) =
      "has the key" + (until ? " until " + policies::time_text(*until) : std::string{});
}

void CaseTrace::skipped(const policies::Policy& policy, policies::Skip skip, std::string_view field,
                        policies::MissReason reason) {
  if (skip == policies::Skip::not_watched || skip == policies::Skip::disabled) return;
  std::string& line = line_of(policy.name);
  line = "skipped: " + std::string(policies::skip_text(skip));
  if (!field.empty()) line += ": " + std::string(field);
  if (reason != policies::MissReason::none) {
    line += " (" + std::string(policies::miss_reason_text(reason)) + ")";
  }
}

void CaseTrace::counted(const policies::Policy& policy, const policies::Binding&,
                        const policies::Counter& counter, const policies::PlannedCounter& planned) {
  std::string value = value_text(planned.value(false));
  std::string& line = line_of(policy.name);
  if (!line.empty()) line += "; ";
  line += policies::counter_text(counter) + " = " + value;
  if (planned.reading.in_flight != 0)
    line += " (" + std::to_string(planned.reading.in_flight) + " in flight)";
  if (planned.is_possible()) line += " (if this one counts)";
  values_.emplace(policy.name, std::move(value));  // the first counter is the policy's own
}

void CaseTrace::rung(const policies::Policy& policy, std::size_t rung, const Value&,
                     std::optional<Number>, bool holds) {
  std::string& line = line_of(policy.name);
  if (!line.empty()) line += "; ";
  line += policies::rung_text(*set_, policy, rung) + (holds ? " holds" : " does not hold");
}

void CaseTrace::pattern(const policies::Policy& policy, const policies::PlannedPattern& planned,
                        const limiter::PatternView& view) {
  line_of(policy.name) =
      policies::pattern_part_text(set_->patterns[planned.pattern], planned, view);
}

void CaseTrace::note_unread(const policies::Verdict& verdict) {
  for (const policies::Standing& standing : verdict.standings) {
    if (standing.field.empty()) continue;
    std::string& line = line_of(standing.policy ? set_->policies[*standing.policy].name
                                                : "list " + set_->lists[*standing.list].name);
    if (!line.empty()) line += "; ";
    line += "cannot read " + std::string(standing.field);
    if (standing.why != policies::MissReason::none)
      line += " (" + std::string(policies::miss_reason_text(standing.why)) + ")";
    if (standing.shadow) line += ", in shadow mode";
  }
}

std::string CaseTrace::why(const std::string& first) const {
  std::vector<const Line*> order;
  for (const Line& line : lines_) order.push_back(&line);
  std::stable_partition(order.begin(), order.end(),
                        [&](const Line* line) { return line->policy == first; });
  std::string out;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == kLinesMax) {
      return out + "... and " + std::to_string(order.size() - i) + " more\n";
    }
    out += order[i]->policy + ": " + order[i]->text + "\n";
  }
  return out.empty() ? "no policy judged it\n" : out;
}

}  // namespace weir::app
