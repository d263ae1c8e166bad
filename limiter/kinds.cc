#include "limiter/kinds.h"

#include <array>

#include "limiter/in_flight.h"
#include "limiter/ops.h"

namespace weir::limiter {
namespace {

template <class O>
constexpr KindOps kOps{O::charge, O::uncharge, O::peek,     O::reserve,
                       O::settle, O::reset,    O::take_out, O::put_in};

constexpr const KindOps* kUnits = &kOps<WindowOps<Unit>>;
constexpr const KindOps* kCounts = &kOps<WindowOps<std::uint32_t>>;
constexpr const KindOps* kIntegers = &kOps<WindowOps<std::int64_t>>;
constexpr const KindOps* kReals = &kOps<WindowOps<double>>;
constexpr const KindOps* kMembers = &kOps<WindowOps<std::uint64_t>>;
constexpr const KindOps* kFlights = &kOps<InFlightOps>;

constexpr std::array kTable = {
    Kind{"count_ring", Metric::count, Window::ring, false, kCounts,
         "events of the last W, in N+1 buckets: never fewer than there were"},
    Kind{"count_log", Metric::count, Window::log, false, kUnits, "events of the last W, exactly"},
    Kind{"count_every", Metric::count, Window::every, false, kCounts,
         "events of the current window of the epoch's grid"},
    Kind{"count_every_first", Metric::count, Window::every_first, false, kCounts,
         "events of the window that the key's first event began"},
    Kind{"sum_ring", Metric::sum, Window::ring, false, kIntegers,
         "integers of the last W, in N+1 buckets, added up"},
    Kind{"sum_log", Metric::sum, Window::log, false, kIntegers,
         "integers of the last W, added up exactly"},
    Kind{"sum_every", Metric::sum, Window::every, false, kIntegers,
         "integers of the current window of the epoch's grid, added up"},
    Kind{"sum_every_first", Metric::sum, Window::every_first, false, kIntegers,
         "integers of the window that the key's first event began, added up"},
    Kind{"real_sum_ring", Metric::sum, Window::ring, true, kReals,
         "doubles of the last W, in N+1 buckets, added up"},
    Kind{"real_sum_log", Metric::sum, Window::log, true, kReals, "doubles of the last W, added up"},
    Kind{"real_sum_every", Metric::sum, Window::every, true, kReals,
         "doubles of the current window of the epoch's grid, added up"},
    Kind{"real_sum_every_first", Metric::sum, Window::every_first, true, kReals,
         "doubles of the window that the key's first event began, added up"},
    Kind{"distinct_log", Metric::distinct, Window::log, false, kMembers,
         "different members of the last W, exactly; a repeated one is renewed"},
    Kind{"distinct_every", Metric::distinct, Window::every, false, kMembers,
         "different members of the current window of the epoch's grid"},
    Kind{"distinct_every_first", Metric::distinct, Window::every_first, false, kMembers,
         "different members of the window that the key's first event began"},
    Kind{"in_flight", Metric::in_flight, Window::none, false, kFlights,
         "events begun and not ended"},
};

}  // namespace

std::span<const Kind> kinds() noexcept { return kTable; }

const Kind* find_kind(const CounterSpec& spec) noexcept {
  if (spec.window != Window::none && (spec.length < kWindowMin || spec.length > kWindowMax))
    return nullptr;
  if (spec.window == Window::ring && (spec.buckets < 1 || spec.buckets > kBucketsMax))
    return nullptr;
  if (spec.keep < 1 || spec.keep > kKeepMax) return nullptr;
  for (const Kind& kind : kTable) {
    if (kind.metric == spec.metric && kind.window == spec.window &&
        kind.real == (spec.real && spec.metric == Metric::sum)) {
      return &kind;
    }
  }
  return nullptr;
}

}  // namespace weir::limiter
