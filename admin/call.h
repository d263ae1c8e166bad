#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admin/json.h"
#include "admin/operations.h"
#include "net/http/door_guard.h"
#include "net/http/uri.h"

namespace weir::admin {

class Explainer;
class Live;
class Peers;
class Sessions;
class UndoLog;

/// One call of the API, as a handler gets it: checked, routed, parsed. Lives until the answer.
struct Call {
  Operations& operations;
  const Stores& stores;
  Explainer& explainer;
  UndoLog& undo;
  Sessions& sessions;
  Live& live;
  Peers& peers;
  net::DoorGuard& guard;
  const net::HttpRequest& request;
  std::shared_ptr<const policies::PolicySet> set;  ///< never null
  policies::Instant at;
  std::vector<std::string> names;  ///< the segments at the places of `{...}`
  net::Query query;
  /// The audit entry of a route that changes something: who asks for what, and why. The handler
  /// adds `before` and `after`, and more to `target` than the path's names; the door writes it to
  /// the audit log.
  AuditEntry entry = {};

  /// How the caller has come in: by `token`, `session`, or `local`, where the door has no token.
  std::string_view came_by() const;
  /// The person of the session, if the link of the session names one; else empty.
  std::string person() const;
  std::string_view name(std::size_t i = 0) const { return names[i]; }
  /// The problem with the query, if it has parameters other than these.
  std::optional<net::HttpReply> refuse_unknown(std::initializer_list<std::string_view> known) const;
  /// Sets `out` to the query's parameter `name`, if it is given. False: it is given twice, or is
  /// not a whole number from `least` to `most`.
  bool read_count(std::string_view name, std::size_t least, std::size_t most,
                  std::size_t& out) const;
};

}  // namespace weir::admin
