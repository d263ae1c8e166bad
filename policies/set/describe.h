#pragma once

#include <string>

#include "policies/set/policy_set.h"

/// Words for people about compiled policies: explain, the admin API and logs share them.
namespace weir::policies {

/// `the last 10m`, `exactly the last 1h`, `every 1h from the first`, `the last 20 events`; empty
/// for in_flight.
std::string window_text(const limiter::CounterSpec& spec);
std::string window_text(const Counter& counter);
std::string counter_text(const Counter& counter);        ///< `count over the last 10m`
std::string_view unit_name(CalendarUnit unit) noexcept;  ///< `day`
/// `login_failed, then login_failed within 2s`: the events that a pattern waits for.
std::string pattern_text(const PolicySet& set, const Policy& policy);
/// `over 5: flag`, `at gold_limit: graylist for 24h`, `over 50 in 1h: deny for 1h`.
std::string rung_text(const PolicySet& set, const Policy& policy, std::size_t rung);
inline constexpr std::string_view kForEver = "forever";
/// RFC 3339 with milliseconds, UTC; kForEver for limiter::kForever.
std::string time_text(TimePoint time);

}  // namespace weir::policies
