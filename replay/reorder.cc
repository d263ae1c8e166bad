#include "replay/reorder.h"

#include <algorithm>

#include "replay/lines.h"

namespace weir::replay {
namespace {

bool after(const Reorder::Held& a, const Reorder::Held& b) {
  if (a.time != b.time) return a.time > b.time;
  return a.line != b.line ? a.line > b.line : a.arrival > b.arrival;
}

}  // namespace

bool Reorder::add(std::uint32_t stream, std::uint64_t line, TimePoint time, unsigned owner,
                  std::string_view text) {
  if (time <= watermark_) {
    ++late_;
    return false;
  }
  if (time > max_) {
    max_ = time;
    watermark_ = max_ - lateness_ - milliseconds{1};
  }
  if (free_.empty()) {
    free_.push_back(static_cast<std::uint32_t>(texts_.size()));
    texts_.emplace_back();
  }
  Held held{time, arrivals_++, line, stream, free_.back(), owner};
  free_.pop_back();
  std::string& kept = texts_[held.text];
  kept.reserve(text.size() + LineReader::kPadding);
  kept.assign(text);
  heap_.push_back(held);
  std::push_heap(heap_.begin(), heap_.end(), after);
  return true;
}

std::optional<Reorder::Held> Reorder::release(bool all) {
  if (heap_.empty() || (!all && heap_.front().time > watermark_)) return std::nullopt;
  std::pop_heap(heap_.begin(), heap_.end(), after);
  const Held held = heap_.back();
  heap_.pop_back();
  free_.push_back(held.text);
  return held;
}

}  // namespace weir::replay
