#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/support/configuration.h"
#include "app/support/request_draft.h"
#include "app/tools/cases/case_store.h"
#include "app/tools/cases/case_trace.h"
#include "config/cases.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "limiter/patterns/pattern_bank.h"
#include "policies/explain/verdict_text.h"
#include "policies/judge/driver.h"
#include "policies/judgement/pattern_sink.h"

namespace weir::app {

struct CaseFailure {
  config::Where where;
  std::string message;  ///< `expected flag, came pass`
  std::string step;     ///< which event it was, and when
  std::string why;      ///< the readings of the policies; lines
};

/// Runs one case: its own counters and lists, a time that the steps move, and the driver that the
/// proxy uses. The app takes its time too: requests are in flight until it answers, and those that
/// are over only because of others' reservations wait as they do in the proxy. Shared policies use
/// a store of the case's own.
class CaseRun final : private policies::Observer, private policies::PatternSink {
 public:
  /// `configuration` is good and outlives this.
  explicit CaseRun(const Configuration& configuration);
  ~CaseRun() override;

  /// Called once.
  std::vector<CaseFailure> run(const config::Case& one, TimePoint start);

 private:
  struct Flight;
  struct Due {
    enum class What : std::uint8_t { answer, give_up, send };
    What what = What::send;
    std::shared_ptr<Flight> flight;
  };

  /// An offset from the case's start, or a time.
  TimePoint time_of(const config::Text& when) const;
  void put(TimePoint at, Due::What what, std::shared_ptr<Flight> flight);
  bool schedule(const config::Case& one, TimePoint start);
  void next();
  void send(const std::shared_ptr<Flight>& flight, bool may_wait);
  bool judge(Flight& flight, bool may_wait);
  void call(Flight& flight);
  void settle(Flight& flight);
  void wake();
  /// False: it has failed.
  bool prepare(Flight& flight);
  bool prepare_event(Flight& flight);

  // case_check.cc
  void check_event(const Flight& flight, const policies::Plan& plan,
                   const policies::Verdict& verdict, const Effect& effect);
  void check_state(const Flight& flight);
  void check_entry(const Flight& flight, const config::CaseEntry& entry, bool wanted);
  void check_pattern(const Flight& flight, const config::CasePattern& wanted);
  void check_view(const Flight& flight, const config::CaseView& wanted);
  void check_lines(const Flight& flight,
                   const std::vector<std::pair<config::Text, config::Text>>& wanted,
                   std::string_view lines, std::string_view whose);
  void fail(const Flight& flight, const config::Where& where, std::string message);

  void judged(const policies::PolicySet&, const Request&, const policies::Verdict&) override {}
  void listed(const policies::PolicySet& set, const Listed& news, TimePoint now) override;
  void pattern(const policies::MatchedPattern& match) override;

  policies::Instant instant() const noexcept { return {now_, now_}; }

  const Configuration& configuration_;
  std::shared_ptr<const policies::PolicySet> set_;
  limiter::Bank bank_;
  limiter::ListBank lists_;
  HashSecret secret_;
  policies::StatsBank stats_{1};
  limiter::PatternBank patterns_{limiter::PatternLimits{}};
  struct Match {
    std::string kind, key;
    TimePoint fires;
  };
  std::map<std::string, std::vector<Match>, std::less<>> matches_;  // by policy
  policies::Driver driver_;
  std::optional<CaseStore> store_;  // none: no policy shares
  policies::ViewBank views_{false};
  std::map<std::string, std::vector<std::string>> windows_;  // of views, complete: as JSON
  policies::VerdictText text_;
  CaseTrace trace_;
  TimePoint now_, start_;
  // At one time answers come first, so that a place is free when the next request comes; else the
  // order in which they were put in.
  std::multimap<std::pair<TimePoint, Due::What>, Due> due_;
  std::vector<std::shared_ptr<Flight>> waiting_;
  std::map<std::string, std::size_t, std::less<>> notified_;
  std::vector<CaseFailure> failures_;
  std::vector<const config::CaseStep*> failed_steps_;  // one failure each is enough
};

}  // namespace weir::app
