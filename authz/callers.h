#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "telemetry/metrics.h"

namespace weir::authz {

/// A proxy that asks over HTTP: how it describes the request, and how it treats answers. A row of
/// one table. Each caller has a path of its own, on which only the fields of its own row are read.
/// A client can send the fields of all other callers: a door that accepted any of them would judge
/// a request of the client's choice.
struct CallerRow {
  std::string_view name;
  /// Fields with the method, target, host and scheme. Empty: the check's own method, target and
  /// Host are the request's.
  std::string_view method, target, host, scheme;
  bool brings_body;
  /// Only 200 lets the request pass, and 5xx is a failure, not a refusal.
  bool envoy;
  /// If the answer lacks a header that the caller has to copy, the caller leaves a placeholder in
  /// the request (Caddy before 2.7): so the header is sent, empty.
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

/// The door of a target, or null. The text after the prefix of ext_authz is the request's own
/// target; after the prefix of the others only a query may follow.
const Door* find_door(const std::vector<Door>& doors, std::string_view target) noexcept;

}  // namespace weir::authz
