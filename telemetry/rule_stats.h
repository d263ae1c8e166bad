#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

namespace weir::telemetry {

/// The hits of one rule of envoyproxy/ratelimit, by their result. Any thread writes and reads.
class RuleRow {
 public:
  /// `after`: the rule's counter with these hits; `limit`: the hits that it admits; `near`: hits
  /// above this are near the limit. Of hits that come over a border in one step each side gets its
  /// part. `shadow`: the rule refuses no request.
  void count(std::uint64_t hits, std::uint64_t after, std::uint64_t limit, std::uint64_t near,
             bool shadow) noexcept;
  /// Adds hits for which no counter has answered.
  void count(std::uint64_t hits) noexcept { add(total_, hits); }

 private:
  friend class RuleStats;
  using Cell = std::atomic<std::uint64_t>;
  static void add(Cell& cell, std::uint64_t n) noexcept {
    if (n != 0) cell.fetch_add(n, std::memory_order_relaxed);
  }
  Cell total_{0}, within_{0}, near_{0}, over_{0}, shadow_{0};
};

/// The calls of one of limitador's namespaces, by their result. Any thread writes and reads.
class SpaceRow {
 public:
  void authorized(std::uint64_t hits) noexcept {
    calls_.fetch_add(1, std::memory_order_relaxed);
    hits_.fetch_add(hits, std::memory_order_relaxed);
  }
  void limited() noexcept { limited_.fetch_add(1, std::memory_order_relaxed); }

 private:
  friend class RuleStats;
  std::atomic<std::uint64_t> calls_{0}, hits_{0}, limited_{0};
};

/// The rules' rows under the names that dashboards of envoyproxy/ratelimit ask for. A row is made
/// by its first hit and stays. Thread-safe.
class RuleStats {
 public:
  static constexpr std::size_t kRulesMax = 4'000;   ///< rows that the configuration names
  static constexpr std::size_t kValuesMax = 1'000;  ///< rows that values of calls name
  static constexpr std::size_t kTextMax = 128;      ///< bytes of one label

  /// `keys`: `key_value` of each step below the domain. `by_value`: calls name it. Null: there are
  /// too many; then count it where it is less exact, or not.
  RuleRow* row(std::string_view domain, std::span<const std::string> keys, bool by_value);
  /// `space`: a namespace that the configuration names. Null: there are too many.
  SpaceRow* space(std::string_view space);
  /// Rows that there was no room for, each time that they were wanted.
  std::uint64_t left_out() const noexcept { return left_out_.load(std::memory_order_relaxed); }
  /// Prometheus text.
  void write(std::string& out) const;
  /// The namespaces' rows under limitador's own names, and that it is up.
  void write_limitador(std::string& out) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, RuleRow*, std::less<>> by_labels_;
  std::deque<RuleRow> rows_;
  std::map<std::string, SpaceRow, std::less<>> spaces_;  // by label
  std::size_t values_ = 0;
  std::atomic<std::uint64_t> left_out_{0};
};

}  // namespace weir::telemetry
