#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"

namespace weir::policies {

/// How a worker names what it shares.
struct Sharing {
  std::uint64_t origin = 0;     ///< of this worker's events: random
  std::string prefix;           ///< of every key, for who wants a world of its own
  bool readable = false;        ///< keys stand in the store as people read them
  milliseconds reservation{0};  ///< after this time the reservation of a dead replica ends
  milliseconds flight{0};       ///< and so does its place in flight
  bool forgets = true;          ///< patterns: as limiter::PatternLimits
};

}  // namespace weir::policies
