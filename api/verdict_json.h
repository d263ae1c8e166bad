#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gate/gate.h"
#include "policies/judgement/trace.h"
#include "policies/lang/frame.h"
#include "policies/lang/record.h"

/// The answers to events, as JSON text. Written by hand into one string: a batch of 10,000 answers
/// needs no 10,000 trees.
namespace weir::api {

/// `pass`, `flag`, `gray`, `delay`, `challenge`, `deny`.
std::string_view verdict_word(const policies::Verdict& verdict) noexcept;

/// Appends the members of the verdict, without braces: `"verdict":"deny","policy":"p",...`.
void append_verdict(std::string& out, const policies::PolicySet& set,
                    const gate::Gate::Judged& judged);

/// Follows a query and writes the count of every policy. Keeps its memory.
class QueryTrace final : public policies::Trace {
 public:
  void start(const policies::PolicySet& set);
  /// Whether it was started for this one. Only while that one is kept alive.
  bool is_of(const policies::PolicySet& set) const noexcept { return set_ == &set; }
  /// Appends `"policies":[...]`.
  void append(std::string& out, const policies::PolicySet& set, const policies::Plan& plan,
              const policies::Record& record);

  void event(const policies::Event&, Happened) override {}
  void list(const policies::List&, std::optional<TimePoint>, std::string_view) override {}
  void skipped(const policies::Policy& policy, policies::Skip skip, std::string_view field,
               policies::MissReason reason) override;
  void counted(const policies::Policy&, const policies::Binding&, const policies::Counter&,
               const policies::PlannedCounter&) override {}
  void rung(const policies::Policy& policy, std::size_t rung, const Value& value,
            std::optional<Number> limit, bool holds) override;
  void pattern(const policies::Policy& policy, const policies::PlannedPattern& planned,
               const limiter::PatternView& view) override;

 private:
  struct Row {
    std::string skipped;  // why it took no part; empty: it did, or nothing that it watches happened
    std::string rungs;    // members of the JSON array
    std::string part;     // the role of the event in its pattern
    bool judged = false;  // has been written among the judged
  };
  const policies::PolicySet* set_ = nullptr;
  std::vector<Row> rows_;  // by policy
  policies::Frame frame_;
};

}  // namespace weir::api
