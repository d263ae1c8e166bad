#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/number.h"
#include "limiter/views/view.h"

namespace weir::limiter {

/// The order of key parts: decimal integers (`-12`, `007`, any length) first and as numbers, then
/// text by code point. Total: equal only if the texts are.
std::strong_ordering compare_parts(std::string_view a, std::string_view b) noexcept;

/// The rows of a window: offered one by one in any order, taken in the order of ViewWindow::rows.
/// With `top`, one that cannot be among them costs one comparison. Reused.
class Ranking {
 public:
  /// top 0: all; `per`: the part of the key for each of whose values `top` rows are kept.
  Ranking(std::size_t top, std::optional<std::size_t> per) : top_(top), per_(per) {}

  void start();
  /// False: a row of this value cannot be among the top, whatever its key.
  bool wants(Number value) const noexcept { return !full_ || !below(value, best_.front().value); }
  void offer(const ViewRow& row) {
    if (wants(row.value)) take(row);
  }
  /// Lives until start().
  std::span<const ViewRow> finish();

 private:
  static bool below(Number a, Number b) noexcept {
    if (!a.is_real() && !b.is_real()) return a.integer() < b.integer();
    return a < b;
  }
  void take(const ViewRow& row);
  void take_into(std::vector<ViewRow>& heap, const ViewRow& row) const;

  std::size_t top_;
  std::optional<std::size_t> per_;
  bool full_ = false;          // best_ has `top_` rows: its front, the last in order, is the bar
  std::vector<ViewRow> best_;  // top: a heap; else the offered rows
  std::unordered_map<std::string_view, std::vector<ViewRow>> by_value_;  // with per
};

}  // namespace weir::limiter
