#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/event.h"
#include "policies/judge/driver.h"
#include "policies/judgement/occurrence.h"

namespace boost::json {
class object;
}

namespace weir::policies {

/// Everything that decided about one request, or about one event that came otherwise, in the order
/// in which it was decided: plain data for people (human text) and programs (JSON).
struct Explanation {
  struct EventLine {
    std::string name;
    std::string happened;  ///< "yes", "no", "the answer tells"
    std::string why;       ///< the condition that was false or is open
  };
  struct FieldLine {
    std::string event, name, value;  ///< value: canonical text
    std::string missing;             ///< why there is none; empty if there is one
  };
  struct ListLine {
    std::string name, kind, until, why;
  };
  struct RungLine {
    std::string text;  ///< "over 5: flag"
    std::string value, limit;
    bool holds = false;
    bool shadow = false;
  };
  struct PolicyLine {
    std::string name;
    std::string skipped;     ///< why; empty: it judged
    bool elsewhere = false;  ///< skipped, because it watches other events
    std::string event;
    std::vector<std::pair<std::string, std::string>> key;
    struct CounterLine {
      std::string what, value, settled;
      std::uint32_t in_flight = 0;
      bool shared = false;    ///< replicas share it
      bool possible = false;  ///< the values include the request as if its answer matched
    };
    std::string pattern;  ///< "step 2 of 2; 1 open match of its key; it completes one"
    std::vector<CounterLine> counters;
    std::vector<RungLine> rungs;
    bool shadow = false;
  };
  std::string method, url, ip;  ///< empty: it came as no request
  std::vector<EventLine> events;
  std::vector<FieldLine> fields;
  std::vector<ListLine> lists;
  std::vector<PolicyLine> policies;
  std::string
      verdict;  ///< "pass", "flag", "gray", "delay", "challenge", "deny", "exempt", "refused"
  std::string decided_by;  ///< a policy or list; empty: none
  int status = 0;          ///< if it is answered by weir
  std::string upstream_headers, response_headers;
  bool of_all = false;    ///< shared counters were read where all replicas count
  std::string here_only;  ///< why they were not, for people; empty: they were, or were not needed

  std::string to_text(bool colour) const;
  std::string to_json() const;
  /// The lines of to_text() below its first line.
  std::string body_text(bool colour) const;
  boost::json::object to_object() const;
};

/// "pass", "flag", "gray", "delay", "challenge", "deny", "exempt", "refused" or "wait".
std::string verdict_word(const Verdict& verdict);
/// The policy or list that decided; empty: none.
std::string decided_by(const PolicySet& set, const Plan& plan, const Verdict& verdict);

/// Judges an event without changing anything (JudgeOptions::dry), and explains the result. Where
/// the driver shares counters, the store has to be asked in between. Driver and event must outlive
/// it, and the driver must judge by the same set until the end.
class Explaining {
 public:
  Explaining(Driver& driver, const Occurrence& occurrence, Instant at);
  ~Explaining();
  Explaining(const Explaining&) = delete;
  Explaining& operator=(const Explaining&) = delete;

  /// The caller fills the replies to questions() before any other call, then calls resume().
  /// Without replies, the caller drops this object.
  bool is_waiting() const noexcept { return waiting_; }
  StoreOps& questions() noexcept { return judgement_.asked; }
  void resume();
  /// Not while it is_waiting().
  Explanation take() { return std::move(out_); }

 private:
  void go_on(const Verdict* verdict);
  void conclude(const Verdict& verdict);

  Driver& driver_;
  Occurrence occurrence_;
  Instant at_;
  Explanation out_;
  Frame frame_;
  std::unique_ptr<Trace> recorder_;
  Judgement judgement_;
  JudgeOptions options_;
  bool waiting_ = false;
};

/// The same with a driver that shares nothing, or whose store replies at once.
Explanation explain(Driver& driver, const Occurrence& occurrence, Instant at);

}  // namespace weir::policies
