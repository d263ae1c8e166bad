#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "core/clock.h"
#include "core/descriptor.h"
#include "core/event.h"
#include "core/value.h"
#include "policies/lang/slots.h"

namespace weir::policies {

/// A value that is known beforehand, whatever its slot would have read.
struct Preset {
  SlotId slot = 0;
  Value value;  ///< null: missing
};

/// An event that did not come through a door: a row of a file, a line of `POST /v1/events`. A view,
/// alive for one judgement. Values that are not preset are read from `request`; without one they
/// are null.
struct Record {
  /// EventIndex: a base event, or one that `is` another, if that is known.
  std::uint16_t event = 0;
  TimePoint time;  ///< the event's own time
  std::span<const Preset> values;
  /// For an HTTP event: the reported parts of its request. Such an event is also `request`, as it
  /// would be in front of an app. If its name is not known, method and path decide which other
  /// events it is.
  const Request* request = nullptr;
  std::uint64_t line = 0;  ///< its line in its file, from 1; 0: it is in no file
  /// The descriptor of a rate limit call; fields of the call are read from it.
  const Descriptor* descriptor = nullptr;
  /// A second base event: for a descriptor, the event of its whole domain.
  std::optional<std::uint16_t> also{};
};

}  // namespace weir::policies
