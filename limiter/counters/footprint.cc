#include "limiter/counters/footprint.h"

#include <algorithm>

#include "core/assert.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/journal.h"
#include "limiter/kinds/state.h"
#include "limiter/memory/arena.h"

namespace weir::limiter {
namespace {

// The bytes of a block of state.h: its head, and the stamp and the value of each entry.
template <class V>
constexpr std::size_t block_bytes(std::size_t entries) noexcept {
  constexpr std::size_t kHead = 8 + (kHasTotal<V> ? (sizeof(V) == 8 ? 16 : 8) : 0);
  return kHead + entries * kEntryBytes<V>;
}

std::size_t block_bytes(const CounterSpec& spec, std::size_t entries) noexcept {
  if (spec.metric == Metric::in_flight) return 0;
  if (spec.metric == Metric::count) {
    return spec.window == Window::log ? block_bytes<Unit>(entries)
                                      : block_bytes<std::uint32_t>(entries);
  }
  if (spec.metric == Metric::sum && !spec.real) return block_bytes<std::int64_t>(entries);
  return takes_amount(spec.metric) ? block_bytes<double>(entries)
                                   : block_bytes<std::uint64_t>(entries);
}

std::size_t entries_at_most(const CounterSpec& spec) {
  if (spec.metric == Metric::in_flight) return 1;
  if (spec.window == Window::ring) {
    const Rule rule = Rule::of(spec);
    return static_cast<std::size_t>(std::max(rule.span, rule.kept)) + 1;
  }
  if (spec.metric != Metric::distinct && spec.window != Window::log) return 1;
  return spec.keep;
}

/// The most entries of a counter whose events bring their own times.
std::size_t timeline_at_most(const CounterSpec& spec) {
  const Rule rule = Rule::of(spec);
  std::size_t most = spec.keep;
  if (spec.window == Window::events) most += spec.events;
  const bool merges = spec.metric == Metric::count || spec.metric == Metric::sum;
  if (merges && spec.window == Window::ring)
    most = static_cast<std::size_t>(rule.kept / rule.quantum) + 2;
  if (merges && spec.window == Window::every)
    most = static_cast<std::size_t>(rule.late / rule.length) + 2;
  if (merges && spec.window == Window::calendar)
    most = static_cast<std::size_t>(rule.late / 3'600'000) + 2;
  return std::min(most, kKeepMax);
}

std::size_t entries_in_slot(const CounterSpec& spec) noexcept {
  const std::size_t words = spec.outcome || spec.metric == Metric::in_flight ? 3 : 4;
  if (spec.metric != Metric::count) return 1;
  return spec.window == Window::ring ? 2 * words - 2 : spec.window == Window::log ? words : 1;
}

/// A slot and a block for each key.
template <class J>
void add_journals(Footprint& out, std::size_t most) noexcept {
  const auto block_of = [](std::size_t entries) {
    const std::size_t block = Arena::bytes_of(Arena::order_for(J::bytes_of(entries)));
    return block + block / Arena::kGranule;
  };
  out.sparse_entries = 1;
  out.worst = out.sparse + block_of(most);
  out.sparse += block_of(1);
}

}  // namespace

Footprint footprint(const CounterSpec& spec) {
  WEIR_ASSERT(find_kind(spec) != nullptr);
  constexpr std::size_t kMany = 1 << 20;
  Footprint out;
  out.sparse = Bank::table_bytes(kMany) / kMany;
  out.sparse_entries = entries_in_slot(spec);
  out.worst = out.sparse;
  const std::size_t most = spec.late ? timeline_at_most(spec) : entries_at_most(spec);
  if (spec.radius != 0) {  // a slot and a block for each cell
    add_journals<PlaceJournal>(out, most);
    return out;
  }
  if (spec.late) {
    add_journals<Journal>(out, most);
    return out;
  }
  if (most <= out.sparse_entries) return out;
  // The side table of the arena has one byte per granule.
  const std::size_t block = Arena::bytes_of(Arena::order_for(block_bytes(spec, most)));
  out.worst += block + block / Arena::kGranule;
  return out;
}

}  // namespace weir::limiter
