#include "authz/callers.h"

#include <algorithm>

namespace weir::authz {
namespace {

using telemetry::Metric;

constexpr CallerRow kExtAuthz{"ext_authz",
                              {},
                              {},
                              {},
                              "x-forwarded-proto",
                              true,
                              true,
                              false,
                              Metric::check_allowed_ext_authz_http,
                              Metric::check_denied_ext_authz_http,
                              Metric::check_failed_ext_authz_http};

constexpr CallerRow kForwardAuth[] = {
    {"nginx",
     "x-original-method",
     "x-original-uri",
     {},
     "x-forwarded-proto",
     false,
     false,
     false,
     Metric::check_allowed_nginx,
     Metric::check_denied_nginx,
     Metric::check_failed_nginx},
    {"traefik", "x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto",
     false, false, false, Metric::check_allowed_traefik, Metric::check_denied_traefik,
     Metric::check_failed_traefik},
    {"caddy", "x-forwarded-method", "x-forwarded-uri", "x-forwarded-host", "x-forwarded-proto",
     false, false, true, Metric::check_allowed_caddy, Metric::check_denied_caddy,
     Metric::check_failed_caddy},
    {"haproxy",
     "x-original-method",
     "x-original-uri",
     {},
     "x-forwarded-proto",
     false,
     false,
     false,
     Metric::check_allowed_haproxy,
     Metric::check_denied_haproxy,
     Metric::check_failed_haproxy},
};

}  // namespace

const CallerRow& ext_authz_caller() noexcept { return kExtAuthz; }

const CallerRow* find_caller(std::string_view name) noexcept {
  const auto found = std::find_if(std::begin(kForwardAuth), std::end(kForwardAuth),
                                  [&](const CallerRow& row) { return row.name == name; });
  return found == std::end(kForwardAuth) ? nullptr : &*found;
}

int Door::refusal_status(int status) const noexcept {
  const auto mapped = std::find_if(deny_status.begin(), deny_status.end(),
                                   [&](const auto& pair) { return pair.first == status; });
  if (mapped != deny_status.end()) status = mapped->second;
  // A refusal that Envoy took for a failure would pass where failure_mode_allow is set.
  if (caller->envoy && status >= 500) return 429;
  return status < 300 ? 403 : status;
}

const Door* find_door(const std::vector<Door>& doors, std::string_view target) noexcept {
  for (const Door& door : doors) {
    if (!target.starts_with(door.prefix)) continue;
    const std::string_view rest = target.substr(door.prefix.size());
    if (rest.empty() || rest.front() == '?' || (door.caller->envoy && rest.front() == '/'))
      return &door;
  }
  return nullptr;
}

}  // namespace weir::authz
