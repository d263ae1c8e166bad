#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "limiter/patterns/pattern_bank.h"
#include "tests/limiter/naive_patterns.h"

/// Patterns in a bank of their own, for the tests of patterns.
namespace weir::limiter::pattern_feeding {

using naive::Row;
using Lines = std::vector<std::uint64_t>;

inline constexpr std::uint8_t kA = 1;
inline constexpr std::uint8_t kB = 2;
inline constexpr int kMatched = 0;
inline constexpr int kTimeout = 1;
inline constexpr int kUnmatched = 2;

struct Told {
  std::int64_t ts;
  std::uint8_t steps;
  bool among = false;
};

inline PatternSpec sequence(std::int64_t within) {
  PatternSpec spec;
  spec.within = milliseconds{within};
  return spec;
}
inline PatternSpec absence(std::int64_t within) {
  PatternSpec spec = sequence(within);
  spec.kind = PatternSpec::Kind::absence;
  return spec;
}
inline PatternSpec pair(std::int64_t before, std::int64_t after) {
  PatternSpec spec;
  spec.kind = PatternSpec::Kind::pair;
  spec.before = milliseconds{before};
  spec.after = milliseconds{after};
  return spec;
}

inline Row row_of(const PatternMatch& match) {
  Lines lines;
  for (std::size_t i = 0; i < match.count; ++i) lines.push_back(match.events[i].line);
  return {to_ms(match.fires), static_cast<int>(match.kind), lines};
}

/// One pattern in a bank of its own, fed as replay feeds it.
class Feeding {
 public:
  explicit Feeding(const PatternSpec& spec, PatternLimits limits = {}) : bank_(limits) {
    id_ = *bank_.open({1, 2}, spec);
  }
  void feed(const PatternEvent& event, Hash128 key = {3, 4}) {
    bank_.feed(id_, key, event, matches_);
  }
  void feed(Told told) {
    feed({from_ms(told.ts), ++line_, told.steps, told.among, {}});
    most_ = std::max(most_, told.ts);
  }
  /// The watermark is one millisecond behind the latest event.
  void advance() { advance(most_ - 1); }
  void advance(std::int64_t watermark) { bank_.advance(from_ms(watermark), matches_); }
  void end(bool flush) { bank_.end_of_input(from_ms(most_), flush, matches_); }
  std::vector<Row> rows() {
    std::vector<Row> out;
    for (const PatternMatch& match : matches_) out.push_back(row_of(match));
    return out;
  }
  static std::vector<Row> of(const PatternSpec& spec, const std::vector<Told>& events,
                             bool flush = false) {
    Feeding run(spec);
    for (const Told& event : events) {
      run.feed(event);
      run.advance();
    }
    run.end(flush);
    return run.rows();
  }

  PatternBank bank_;
  PatternId id_;
  PatternMatches matches_;
  std::uint64_t line_ = 0;
  std::int64_t most_ = 0;
};

struct Chance {
  explicit Chance(std::uint32_t seed) : random(seed) {}
  std::int64_t upto(std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(0, most)(random);
  }
  bool once_in(std::int64_t n) { return upto(n - 1) == 0; }
  std::mt19937 random;
};

}  // namespace weir::limiter::pattern_feeding
