#pragma once

#include <cstdint>
#include <string>

#include "core/clock.h"

namespace weir::policies {

/// How a worker names its shared keys.
struct Sharing {
  std::uint64_t origin = 0;     ///< of this worker's events: random
  std::string prefix;           ///< of every key; keeps a replay apart from live keys
  bool readable = false;        ///< keys in the store are readable text, not hashes
  milliseconds reservation{0};  ///< after this time the reservation of a dead replica ends
  milliseconds flight{0};       ///< and so does its place in flight
  bool forgets = true;          ///< patterns: as limiter::PatternLimits
};

}  // namespace weir::policies
