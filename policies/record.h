#pragma once

#include <cstdint>
#include <span>

#include "core/clock.h"
#include "core/value.h"
#include "policies/slots.h"

namespace weir::policies {

/// A value that is known beforehand, whatever its slot would have read.
struct Preset {
  SlotId slot = 0;
  Value value;  ///< null: missing
};

/// An event that is no HTTP request: a row of a file, a member of `POST /v1/events`. A view, alive
/// for one judgement. Everything that is not preset and would be read of a request is null.
struct Record {
  std::uint16_t event =
      0;           ///< EventIndex: a base event, or one that `is` another, if that is known
  TimePoint time;  ///< the event's own time
  std::span<const Preset> values;
};

}  // namespace weir::policies
