#pragma once

#include <limits>

#include "limiter/kinds/different.h"
#include "limiter/kinds/log_range.h"
#include "limiter/kinds/tally.h"

/// The fold of a log: how its entries become a reading. A reading takes the newest `most` entries
/// of a range, `reserved` reservations, and the event in hand, if there is one. A journal without
/// places has a head, in which a fold remembers something of all entries, so that most readings
/// need not go through them.
namespace weir::limiter {

/// The defaults of a fold that remembers nothing in the head.
struct Fold {
  struct Value {
    Number number;
    bool is_there = true;
  };
  /// Whether the event in hand is one of the events that its reading counts.
  static constexpr bool kCountsItself = true;
  static bool valid(const Counter&, const Amount&) noexcept { return true; }
  /// Whether all events of a bucket, or of a fixed window, are one entry, stamped with its
  /// beginning.
  static bool joins(const CounterSpec&) noexcept { return false; }
  /// Whether one entry can replace two: a full journal merges its two oldest, at the later time.
  static bool adds_up(const Counter&) noexcept { return false; }

  // An entry is about to come or go, has come or gone; and after all changes of an operation.
  static void remember(Journal&, const Counter&, std::uint64_t) noexcept {}
  static void forget(Journal&, const Counter&, const JournalEntry&) noexcept {}
  static void changed(Journal&, const Counter&, std::uint64_t) noexcept {}
  static void mend(Journal&, const Counter&) noexcept {}
};

/// Entries that a journal of this counter holds at most.
template <class F>
std::uint32_t most_entries(const Counter& c) noexcept {
  const std::uint32_t keep = c.keep.load(std::memory_order_relaxed);
  if (c.spec.window == Window::events)
    return c.rule.own_time ? c.spec.events + keep : c.spec.events;
  return F::joins(c.spec) ? static_cast<std::uint32_t>(kKeepMax) : keep;
}

/// A journal that keeps single events reads no more than `keep`, the event in hand included.
template <class F>
Number at_most_kept(const Counter& c, Number value) noexcept {
  if (!c.rule.own_time || c.spec.window == Window::events) return value;
  if (c.spec.radius != 0 || F::joins(c.spec)) return value;
  return std::min(value, Number(std::int64_t{most_entries<F>(c)}));
}

/// count, sum, average, minimum, maximum. Head: `total` is the sum of integers, so that the few
/// entries outside of a window are subtracted; `extra` is the extreme while `at` is 1.
struct Amounts : Fold {
  static bool valid(const Counter& c, const Amount& event) noexcept {
    return c.spec.metric == Metric::count ? !event.amount.is_negative() : event.amount.is_finite();
  }
  static bool joins(const CounterSpec& spec) noexcept {
    return is_sum(spec) && (spec.window == Window::ring || spec.window == Window::every ||
                            spec.window == Window::calendar);
  }
  static bool adds_up(const Counter& c) noexcept {
    if (c.spec.metric != Metric::sum) return joins(c.spec);
    return c.rule.own_time || c.spec.window != Window::events;  // the last n are never n + 1
  }
  /// A bucket at the top has lost count (saturating_sum) and stays there.
  static bool lost_count(const CounterSpec& spec, std::uint64_t bits) noexcept {
    return joins(spec) && !spec.real && static_cast<std::int64_t>(bits) == kTop;
  }

  static void remember(Journal& journal, const Counter& c, std::uint64_t bits) noexcept {
    Journal::Head& h = journal.head();
    if (has_total(c.spec)) h.set_wide(h.wide() + static_cast<std::int64_t>(bits));
    if (!Tally::is_extreme(c.spec.metric)) return;
    if (journal.size() == 0) {
      h.at = 1;
      h.extra = bits;
    } else if (h.at == 1 && Tally::beyond(c.spec, bits, h.extra)) {
      h.extra = bits;
    }
  }
  static void forget(Journal& journal, const Counter& c, const JournalEntry& entry) noexcept {
    Journal::Head& h = journal.head();
    if (has_total(c.spec)) h.set_wide(h.wide() - static_cast<std::int64_t>(entry.bits));
    if (Tally::is_extreme(c.spec.metric) && h.extra == entry.bits) h.at = 0;  // mend
  }
  static void mend(Journal& journal, const Counter& c) noexcept {
    if (!Tally::is_extreme(c.spec.metric) || journal.size() == 0) return;
    Journal::Head& h = journal.head();
    if (h.at == 1) return;
    h.extra = journal.entry(0).bits;
    for (std::uint32_t i = 1; i < h.size; ++i) {
      if (Tally::beyond(c.spec, journal.entry(i).bits, h.extra)) h.extra = journal.entry(i).bits;
    }
    h.at = 1;
  }

  template <class Range>
  static Value value(const Subject& s, const Range& range, std::uint32_t most,
                     std::uint32_t reserved, const Amount* event) noexcept {
    const CounterSpec& spec = s.counter.spec;
    Tally tally(spec);
    const auto add = [&](std::uint64_t bits) {
      tally.add(bits);
      return false;
    };
    if constexpr (Range::kHasPlaces) {
      range.settled(most, add);
    } else if (!add_remembered(tally, spec, range.journal(), range.newest(most))) {
      range.settled(most, add);
    }
    range.reserved(reserved, add);
    if (event != nullptr) add(bits_of(spec, *event));
    const Number value = tally.value();
    if (spec.metric == Metric::count) return {at_most_kept<Amounts>(s.counter, value)};
    if (is_sum(spec) && !spec.real && value > Number(kTop / 2) &&
        range.settled(most, [&](std::uint64_t bits) { return lost_count(spec, bits); })) {
      return {Number(kTop)};
    }
    return {value, tally.has_value()};
  }

 private:
  static constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
  static bool is_sum(const CounterSpec& spec) noexcept {
    return spec.metric == Metric::count || spec.metric == Metric::sum;
  }
  static bool has_total(const CounterSpec& spec) noexcept {
    return Tally::adds_up(spec.metric) && !spec.real;
  }
  /// From the head, if that is less work than to go through the part.
  static bool add_remembered(Tally& tally, const CounterSpec& spec, const Journal& journal,
                             Part part) noexcept {
    const Journal::Head& h = journal.head();
    const std::uint32_t outside = journal.size() - part.size();
    if (Tally::is_extreme(spec.metric)) {
      if (outside != 0 || h.at != 1) return false;
      tally.add_totals(part.size(), 0, 0, h.extra);
      return true;
    }
    if (!has_total(spec) || outside > part.size()) return false;
    Wide sum = h.wide();
    for (std::uint32_t i = 0; i < part.first; ++i)
      sum -= static_cast<std::int64_t>(journal.entry(i).bits);
    for (std::uint32_t i = part.end; i < journal.size(); ++i)
      sum -= static_cast<std::int64_t>(journal.entry(i).bits);
    tally.add_totals(part.size(), sum, 0, 0);
    return true;
  }
};

/// distinct. A member's mark is on its newest entry, so that the marks among the newest k entries
/// count the different members of them; `extra` is how many entries are marked. Events with times
/// of their own have no marks: their windows may end before the newest entry.
struct Members : Fold {
  static void forget(Journal& journal, const Counter&, const JournalEntry& entry) noexcept {
    journal.head().extra -= entry.marked();
  }
  /// Moves the mark of the member to its newest entry.
  static void changed(Journal& journal, const Counter& c, std::uint64_t member) noexcept {
    if (c.rule.own_time) return;
    Journal::Head& h = journal.head();
    bool is_newest = true;
    for (std::uint32_t i = journal.size(); i-- > 0;) {
      JournalEntry& entry = journal.entry(i);
      if (entry.bits != member) continue;
      if (entry.marked() == is_newest) {
        if (is_newest) return;
        continue;
      }
      entry.mark(is_newest);
      if (!is_newest) {
        --h.extra;
        return;
      }
      ++h.extra;
      is_newest = false;
    }
  }

  template <class Range>
  static Value value(const Subject& s, const Range& range, std::uint32_t most,
                     std::uint32_t reserved, const Amount* event) noexcept {
    if constexpr (!Range::kHasPlaces) {
      if (!s.counter.rule.own_time && reserved == 0) return of_marks(range, most, event);
    }
    Different members(s.arena, range.at_most() + 1);
    const std::int64_t different = members.count([&](auto&& f) {
      const auto see = [&](std::uint64_t bits) {
        f(bits);
        return false;
      };
      range.settled(most, see);
      range.reserved(reserved, see);
      if (event != nullptr) f(event->member);
    });
    return {at_most_kept<Members>(s.counter, Number(different))};
  }

 private:
  static Value of_marks(const InTime& range, std::uint32_t most, const Amount* event) noexcept {
    const Journal& journal = range.journal();
    const Part part = range.newest(most);
    std::uint64_t members = 0;
    if (part.size() != 0) {
      members = journal.head().extra;
      for (std::uint32_t i = 0; i < part.first; ++i) members -= journal.entry(i).marked();
    }
    if (event != nullptr) {
      members += !range.settled(most, [&](std::uint64_t bits) { return bits == event->member; });
    }
    return {Number(static_cast<std::int64_t>(members))};
  }
};

/// exists.
struct Presence : Fold {
  static constexpr bool kCountsItself = false;

  template <class Range>
  static Value value(const Subject&, const Range& range, std::uint32_t most, std::uint32_t reserved,
                     const Amount* event) noexcept {
    const auto is_it = [&](std::uint64_t bits) { return bits == event->member; };
    const bool had =
        event != nullptr && (range.settled(most, is_it) || range.reserved(reserved, is_it));
    return {Number(std::int64_t{had})};
  }
};

}  // namespace weir::limiter
