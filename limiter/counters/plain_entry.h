#pragma once

#include <bit>
#include <cstdint>

#include "limiter/counters/bank_impl.h"

/// Helpers for copying entries of one counter's history to another counter. Pure.
namespace weir::limiter {

/// Whether a window trails the event: it has entries of their own times.
constexpr bool is_trailing(Window window) noexcept {
  return window == Window::log || window == Window::ring;
}

/// Whether one number represents all events of one time.
constexpr bool is_total(Metric metric) noexcept {
  return metric == Metric::count || metric == Metric::sum;
}

/// The amount of an entry of the counter; `bits` as the entry holds it.
inline Amount amount_in(const CounterSpec& spec, std::uint64_t bits) noexcept {
  Amount out;
  if (takes_members(spec.metric)) {
    out.member = bits;
  } else if (spec.real) {
    out.amount = Number::real(std::bit_cast<double>(bits));
  } else {
    out.amount = Number(static_cast<std::int64_t>(bits));
  }
  return out;
}

}  // namespace weir::limiter
