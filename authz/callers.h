#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/metrics.h"

namespace weir::authz {

/// A proxy that asks over HTTP: how it tells of the request that it asks about, and what it makes
/// of answers. A row of one table. Each caller has a path of its own and only the fields of its own
/// row are read there: a client can send the fields of all the others, and a door that took
/// whichever is present would judge a request of the client's choice.
struct CallerRow {
  std::string_view name;
  /// Fields that say method, target, host and scheme. Empty: the check's own method, target and
  /// Host are the request's.
  std::string_view method, target, host, scheme;
  bool brings_body;
  /// 200 alone lets the request pass, and what is 5xx is a failure, not a refusal.
  bool envoy;
  /// Leaves a placeholder in the header of the request where the answer lacks one that it is told
  /// to copy (Caddy before 2.7): so it is sent, empty.
  bool wants_all_fields;
  telemetry::Metric allowed, denied, failed;
};
const CallerRow& ext_authz_caller() noexcept;
/// By its name in `api.forward_auth`; null if there is none.
const CallerRow* find_caller(std::string_view name) noexcept;

/// A path at which one caller asks.
struct Door {
  const CallerRow* caller;
  std::string prefix;  ///< "/ext_authz", "/forward_auth/nginx"
  std::vector<std::pair<int, int>> deny_status;

  /// The status by which this caller refuses a request as `status` would. It always refuses.
  int refusal_status(int status) const noexcept;
};

/// The door of a target, or null. What follows the prefix of ext_authz is the request's own target;
/// of the others nothing but a query may follow.
const Door* find_door(const std::vector<Door>& doors, std::string_view target) noexcept;

}  // namespace weir::authz
