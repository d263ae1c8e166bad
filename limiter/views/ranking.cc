#include "limiter/views/ranking.h"

#include <algorithm>

namespace weir::limiter {
namespace {

/// A decimal integer without leading zeros: sign, and digits.
struct Integer {
  bool negative = false;
  std::string_view digits;
};

std::optional<Integer> integer_of(std::string_view text) noexcept {
  Integer out;
  out.negative = text.starts_with('-');
  text.remove_prefix(out.negative ? 1 : 0);
  if (text.empty()) return std::nullopt;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
  }
  const std::size_t zeros = std::min(text.find_first_not_of('0'), text.size());
  out.digits = text.substr(zeros);
  if (out.digits.empty()) out.negative = false;
  return out;
}

std::strong_ordering compare_size(std::string_view a, std::string_view b) noexcept {
  if (a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

/// Whether row a precedes row b.
bool before(const ViewRow& a, const ViewRow& b) noexcept {
  if (a.value != b.value) return a.value > b.value;
  std::string_view left = a.parts, right = b.parts;
  while (!left.empty() && !right.empty()) {
    std::uint32_t n, m;
    std::memcpy(&n, left.data(), sizeof n);
    std::memcpy(&m, right.data(), sizeof m);
    const auto order = compare_parts(left.substr(sizeof n, n), right.substr(sizeof m, m));
    if (order != 0) return order < 0;
    left.remove_prefix(sizeof n + n);
    right.remove_prefix(sizeof m + m);
  }
  return left.empty() && !right.empty();
}

std::string_view part_of(std::string_view parts, std::size_t index) {
  std::string_view out;
  for_each_part(parts, [&](std::string_view part) {
    if (index-- == 0) out = part;
  });
  return out;
}

}  // namespace

std::strong_ordering compare_parts(std::string_view a, std::string_view b) noexcept {
  const auto x = integer_of(a), y = integer_of(b);
  if (x.has_value() != y.has_value()) {
    return x ? std::strong_ordering::less : std::strong_ordering::greater;
  }
  if (x) {
    if (x->negative != y->negative) {
      return x->negative ? std::strong_ordering::less : std::strong_ordering::greater;
    }
    const auto order =
        x->negative ? compare_size(y->digits, x->digits) : compare_size(x->digits, y->digits);
    if (order != 0) return order;
  }
  // UTF-8 keeps the order of code points; std::string_view compares bytes as unsigned.
  return a.compare(b) <=> 0;
}

void Ranking::start() {
  best_.clear();
  by_value_.clear();
  full_ = false;
}

void Ranking::take_into(std::vector<ViewRow>& heap, const ViewRow& row) const {
  if (heap.size() == top_) {
    if (!before(row, heap.front())) return;
    std::pop_heap(heap.begin(), heap.end(), before);
    heap.back() = row;
  } else {
    heap.push_back(row);
  }
  std::push_heap(heap.begin(), heap.end(), before);
}

void Ranking::take(const ViewRow& row) {
  if (top_ == 0) {
    best_.push_back(row);
  } else if (per_) {
    take_into(by_value_[part_of(row.parts, *per_)], row);
  } else {
    take_into(best_, row);
    full_ = best_.size() == top_;
  }
}

std::span<const ViewRow> Ranking::finish() {
  for (const auto& [value, rows] : by_value_) best_.insert(best_.end(), rows.begin(), rows.end());
  full_ = false;
  std::sort(best_.begin(), best_.end(), before);
  return best_;
}

}  // namespace weir::limiter
