#pragma once

#include <span>
#include <string_view>

#include "core/event.h"
#include "limiter/lists/lists.h"
#include "policies/judgement/verdict.h"
#include "policies/lang/record.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Receives verdicts and list entries, for the verdict lines of the log, for notifications and for
/// the live view of `weir dev`.
/// Called on the worker's thread within a judgement: must be quick and copy what it keeps.
class Observer {
 public:
  virtual ~Observer() = default;
  /// A verdict of a request with at least one standing (enforced or shadow).
  virtual void judged(const PolicySet& set, const Request& request, const Verdict& verdict) = 0;
  /// The same of an event that did not arrive as a request: the API, a file. By default it calls
  /// the other one with the record's request, if there is one.
  virtual void judged(const PolicySet& set, const Record& record, const Verdict& verdict) {
    if (record.request != nullptr) judged(set, *record.request, verdict);
  }
  /// A rung put a key on a list, or would have notified: `created` says whether the entry is new.
  struct Listed {
    const Policy* policy;
    const Rung* rung;
    const List* list;                       ///< null: the rung only notifies
    std::span<const std::string_view> key;  ///< printable parts; none: of a policy without a key
    Hash128 hash;                           ///< of the key, as the list knows it
    Number value;
    std::optional<Number> limit;
    TimePoint until;
    bool created;
  };
  virtual void listed(const PolicySet& set, const Listed& listed, TimePoint now) = 0;
};

}  // namespace weir::policies
