#pragma once

#include <algorithm>
#include <cstdint>
#include <tuple>
#include <vector>

#include "limiter/patterns/pattern.h"

/// The matches of patterns, from the whole list of one key's events in the order of arrival.
namespace weir::limiter::naive {

/// A match as (fires, kind, lines in the order of the steps).
using Row = std::tuple<std::int64_t, int, std::vector<std::uint64_t>>;

inline bool is(const PatternEvent& e, std::size_t step) { return (e.steps >> step & 1U) != 0; }

/// Each first step looks forward for itself; overlaps are removed afterwards.
inline std::vector<Row> sequence(const PatternSpec& spec, const std::vector<PatternEvent>& events) {
  struct Found {
    std::size_t begin, end;
    std::vector<std::uint64_t> lines;
  };
  std::vector<Found> found;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is(events[i], 0)) continue;
    std::vector<std::uint64_t> lines{events[i].line};
    TimePoint last = events[i].ts;
    for (std::size_t j = i + 1; j < events.size(); ++j) {
      const PatternEvent& next = events[j];
      if (is(next, lines.size()) && next.ts >= last) {
        if (next.ts > events[i].ts + spec.within) break;
        lines.push_back(next.line);
        last = next.ts;
        if (lines.size() < spec.steps) continue;
        found.push_back({i, j, lines});
        break;
      }
      if (spec.strict && next.among) break;
    }
  }
  std::sort(found.begin(), found.end(), [](const Found& a, const Found& b) {
    return std::tie(a.end, a.begin) < std::tie(b.end, b.begin);
  });
  std::vector<Row> out;
  std::size_t free_from = 0;
  for (const Found& match : found) {
    if (!spec.overlap && match.begin < free_from) continue;
    out.emplace_back(to_ms(events[match.end].ts), 0, match.lines);
    free_from = match.end + 1;
  }
  return out;
}

/// By own times alone: for events that come no later than the timers allow.
inline std::vector<Row> absence(const PatternSpec& spec, const std::vector<PatternEvent>& events) {
  std::vector<Row> out;
  for (std::size_t i = 0; i < events.size(); ++i) {
    if (!is(events[i], 0)) continue;
    bool answered = false;
    for (std::size_t j = 0; j < events.size(); ++j) {
      if (i == j || !is(events[j], 1) || events[j].ts < events[i].ts ||
          events[j].ts > events[i].ts + spec.within) {
        continue;
      }
      answered = answered || events[j].ts > events[i].ts || j > i || spec.tied;
    }
    if (!answered)
      out.emplace_back(to_ms(events[i].ts + spec.within), 1, std::vector{events[i].line});
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const Row& a, const Row& b) { return std::get<0>(a) < std::get<0>(b); });
  return out;
}

/// The most pairs that can be made at all: augmenting paths.
inline std::size_t most_pairs(const PatternSpec& spec, const std::vector<PatternEvent>& events) {
  std::vector<std::size_t> partner(events.size(), SIZE_MAX);
  const auto fits = [&](std::size_t a, std::size_t b) {
    if (!is(events[a], 0) || !is(events[b], 1)) return false;
    const milliseconds apart = events[b].ts - events[a].ts;
    return spec.endless || (apart >= -spec.before && apart <= spec.after);
  };
  std::size_t pairs = 0;
  for (std::size_t a = 0; a < events.size(); ++a) {
    std::vector<bool> seen(events.size(), false);
    const auto find = [&](const auto& self, std::size_t from) -> bool {
      for (std::size_t b = 0; b < events.size(); ++b) {
        if (seen[b] || !fits(from, b)) continue;
        seen[b] = true;
        if (partner[b] == SIZE_MAX || self(self, partner[b])) {
          partner[b] = from;
          return true;
        }
      }
      return false;
    };
    if (find(find, a)) ++pairs;
  }
  return pairs;
}

}  // namespace weir::limiter::naive
