#pragma once

#include "core/clock.h"

namespace weir::app {

/// How long the steps of weir's end take at most, after drain.delay and drain.timeout.
namespace end_limits {
inline constexpr milliseconds kDoorGrace{1'000};   ///< each of the api, admin and health doors
inline constexpr milliseconds kLastExchange{500};  ///< the last counts for Redis
inline constexpr milliseconds kLastWrites{3'000};  ///< logs and reports, after the last answer
inline constexpr milliseconds kLastSteps{5'000};   ///< threads that are joined
/// For the state, and for steps that have no limit of their own because they take no time.
inline constexpr milliseconds kMargin{1'000};
/// All of them, one after another.
inline constexpr milliseconds kAll =
    3 * kDoorGrace + kLastExchange + kLastWrites + kLastSteps + kMargin;
}  // namespace end_limits

}  // namespace weir::app
