#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "policies/judgement/plan.h"
#include "policies/judgement/verdict.h"
#include "policies/lang/record.h"
#include "policies/set/policy_set.h"

/// A call of Envoy's rate limit service as events: each descriptor is one event, judged and counted
/// by itself, whatever becomes of the others. No protobuf here: the gRPC door, `/json`, and
/// `weir test` give the same result for the same call.
namespace weir::policies {

/// Which event a descriptor is.
struct FoundDescriptor {
  std::optional<std::uint16_t> event;  ///< none: no policy judges it
  std::optional<std::uint16_t> also;   ///< the event of its whole domain
  const DescriptorEvent* what = nullptr;
  bool known = false;     ///< the domain is
  bool replaced = false;  ///< by the event of another descriptor
};

/// Finds the events of all descriptors of a call; replaced events do not apply. Reuses `out`.
void find_events(const PolicySet& set, std::span<const Descriptor> descriptors,
                 std::vector<FoundDescriptor>& out);

/// The record for one descriptor. The descriptor must outlive the use.
Record record_of(const FoundDescriptor& found, const Descriptor& descriptor,
                 TimePoint now) noexcept;

/// The result for one descriptor of a rate limit call.
struct DescriptorStatus {
  bool over = false;       ///< refused
  bool unlimited = false;  ///< an event that no policy limits
  bool has_limit = false;  ///< the next members are known; of several limits the scarcest
  bool is_quota = false;   ///< asked for as one: see is_quota()
  std::int64_t requests = 0;
  RateUnit unit = RateUnit::unknown;  ///< unknown: the window is not a whole unit
  std::string_view name;              ///< of the policy, or of its rule
  std::int64_t remaining = 0;
  milliseconds reset{0};
  /// The counter of a rule of envoyproxy/ratelimit, with this call's hits.
  struct OfRule {
    std::int64_t counted = 0, limit = 0;
    bool shadow = false;
  };
  std::optional<OfRule> rule;
};

/// Right after the judgement, while plan and verdict are alive.
DescriptorStatus status_of(const PolicySet& set, const Plan& plan, const Verdict& verdict,
                           const FoundDescriptor& found, Instant at) noexcept;
/// The status of a descriptor that no policy judges.
DescriptorStatus status_of(const FoundDescriptor& found) noexcept;

/// A descriptor without a limit is no quota, as in envoyproxy/ratelimit: a quota that is always
/// free would keep the others from refusing. `all_quota`: every other descriptor is a quota, also
/// without a rule.
bool is_quota(const DescriptorStatus& status, bool all_quota) noexcept;
/// The answer to the whole call: over, if a descriptor that is not a quota is over, or all quotas
/// are.
bool is_over(std::span<const DescriptorStatus> statuses, bool all_quota) noexcept;

/// Whole seconds, rounded up: 0.9 s is 1.
constexpr std::int64_t reset_seconds(milliseconds left) noexcept {
  return left.count() <= 0 ? 0 : (left.count() + 999) / 1000;
}

}  // namespace weir::policies
