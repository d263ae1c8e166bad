#pragma once

#include <optional>
#include <string>
#include <variant>

#include "limiter/kinds/counter_spec.h"

namespace weir::limiter {

/// A reading that outlives the next operation of its thread: it owns the value of `last`, and its
/// `datum` is null.
struct KeptReading : Reading {
  KeptReading() = default;
  KeptReading(const Reading& reading) : Reading(reading) {  // NOLINT(google-explicit-constructor)
    datum = nullptr;
    if (reading.datum == nullptr) return;
    switch (reading.datum->type) {
      case Datum::Type::none:
        break;
      case Datum::Type::boolean:
        last = reading.datum->boolean;
        break;
      case Datum::Type::number:
        last = reading.datum->number;
        break;
      case Datum::Type::text:
        last = std::string(reading.datum->text);
        break;
    }
  }
  /// Nothing: the metric is not `last`, or nothing is remembered.
  std::optional<std::variant<bool, Number, std::string>> last;
};

}  // namespace weir::limiter
