#pragma once

#include <map>
#include <string>
#include <vector>

#include "policies/judgement/trace.h"
#include "policies/judgement/verdict.h"

namespace weir::app {

/// The readings of the policies, and why their rungs hold or not, in short: for `weir test`.
class CaseTrace final : public policies::Trace {
 public:
  void clear();
  void use(const policies::PolicySet& set) { set_ = &set; }
  /// `none`: the metric has no value; null: the policy did not judge.
  const std::string* value(const std::string& policy) const;
  /// One line per policy or list that the event concerns, `first` before the others.
  std::string why(const std::string& first) const;
  /// Notes the policies and lists that refuse the event, or in shadow mode would, because they
  /// cannot read a field: the judgement reports them only in its verdict.
  void note_unread(const policies::Verdict& verdict);

  void event(const policies::Event&, Happened) override {}
  void list(const policies::List& list, std::optional<TimePoint> until,
            std::string_view why) override;
  void skipped(const policies::Policy& policy, policies::Skip skip, std::string_view field,
               policies::MissReason reason) override;
  void counted(const policies::Policy& policy, const policies::Binding& binding,
               const policies::Counter& counter, const policies::PlannedCounter& planned) override;
  void rung(const policies::Policy& policy, std::size_t rung, const Value& value,
            std::optional<Number> limit, bool holds) override;
  void pattern(const policies::Policy& policy, const policies::PlannedPattern& planned,
               const limiter::PatternView& view) override;

 private:
  struct Line {
    std::string policy, text;
  };
  std::string& line_of(const std::string& policy);

  const policies::PolicySet* set_ = nullptr;
  std::map<std::string, std::string> values_;
  std::vector<Line> lines_;
};

}  // namespace weir::app
