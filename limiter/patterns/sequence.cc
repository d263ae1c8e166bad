#include "limiter/patterns/sequence.h"

#include <algorithm>

#include "limiter/memory/make_room.h"

namespace weir::limiter {
namespace {

bool is_step(const PatternEvent& event, std::size_t step) {
  return (event.steps >> step & 1U) != 0;
}

std::size_t stride_of(const PatternSpec& spec) { return spec.steps - std::size_t{1}; }

}  // namespace

bool Sequence::completes(const PatternSpec& spec, const PatternEvent& event) const noexcept {
  const std::size_t stride = stride_of(spec);
  if (!is_step(event, stride)) return false;
  for (std::size_t i = 0; i < done_.size(); ++i) {
    const Mark* marks = &marks_[i * stride];
    if (done_[i] == stride && event.ts >= marks[stride - 1].ts &&
        event.ts - marks[0].ts <= spec.within) {
      return true;
    }
  }
  return false;
}

std::size_t Sequence::feed(const PatternSpec& spec, const PatternEvent& event, std::uint64_t order,
                           PatternMatches& out) {
  const std::size_t stride = stride_of(spec);
  // First all that may lack memory: then nothing has changed.
  if (is_step(event, stride)) {
    const auto last = std::count(done_.begin(), done_.end(), static_cast<std::uint8_t>(stride));
    make_room(out, static_cast<std::size_t>(last));
  }
  if (is_step(event, 0)) {
    make_room(done_);
    make_room(orders_);
    make_room(marks_, stride);
  }
  bool completed = false;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < done_.size(); ++i) {
    Mark* marks = &marks_[i * stride];
    const std::size_t done = done_[i];
    const bool follows = event.ts >= marks[done - 1].ts;
    bool stays = true;
    if (is_step(event, done) && follows) {
      if (event.ts - marks[0].ts > spec.within) {
        stays = false;
      } else if (done == stride) {
        stays = false;
        completed = true;
        PatternMatch& match = out.emplace_back();
        match.fires = event.ts;
        match.order = orders_[i];
        for (std::size_t k = 0; k < stride; ++k) {
          match.add(static_cast<std::uint8_t>(k), marks[k].ts, marks[k].line);
        }
        match.add(static_cast<std::uint8_t>(stride), event.ts, event.line);
        if (!spec.overlap) {
          kept = 0;
          break;
        }
      } else {
        marks[done] = {event.ts, event.line};
        ++done_[i];
      }
    } else if (spec.strict && event.among) {
      stays = false;
    }
    if (!stays) continue;
    if (kept != i) {
      std::copy_n(marks, stride, &marks_[kept * stride]);
      done_[kept] = done_[i];
      orders_[kept] = orders_[i];
    }
    ++kept;
  }
  done_.resize(kept);
  orders_.resize(kept);
  marks_.resize(kept * stride);

  if (!is_step(event, 0) || (completed && !spec.overlap)) return 0;
  std::size_t dropped = 0;
  if (done_.size() >= spec.keep && forget_before(spec, event.ts - spec.within) == 0) {
    erase(spec, 0);
    dropped = 1;
  }
  done_.push_back(1);
  orders_.push_back(order);
  marks_.resize(marks_.size() + stride);
  marks_[marks_.size() - stride] = {event.ts, event.line};
  return dropped;
}

std::uint8_t Sequence::furthest() const noexcept {
  return done_.empty() ? std::uint8_t{0} : *std::max_element(done_.begin(), done_.end());
}

void Sequence::erase(const PatternSpec& spec, std::size_t index) {
  const auto stride = static_cast<std::ptrdiff_t>(stride_of(spec));
  const auto at = static_cast<std::ptrdiff_t>(index);
  done_.erase(done_.begin() + at);
  orders_.erase(orders_.begin() + at);
  marks_.erase(marks_.begin() + at * stride, marks_.begin() + (at + 1) * stride);
}

/// Open matches that began before `first` are ended; returns how many.
std::size_t Sequence::forget_before(const PatternSpec& spec, TimePoint first) {
  const std::size_t before = done_.size();
  for (std::size_t i = done_.size(); i-- > 0;) {
    if (marks_[i * stride_of(spec)].ts < first) erase(spec, i);
  }
  return before - done_.size();
}

TimePoint Sequence::due(const PatternSpec& spec, bool forgets) const noexcept {
  if (!forgets || done_.empty()) return kNever;
  TimePoint oldest = kNever;
  for (std::size_t i = 0; i < done_.size(); ++i)
    oldest = std::min(oldest, marks_[i * stride_of(spec)].ts);
  return oldest + spec.within + spec.late + milliseconds{1};
}

void Sequence::expire(const PatternSpec& spec, TimePoint watermark, bool forgets, PatternMatches&) {
  if (forgets) forget_before(spec, watermark - spec.late - spec.within);
}

std::size_t Sequence::bytes() const noexcept {
  return done_.capacity() + orders_.capacity() * sizeof(std::uint64_t) +
         marks_.capacity() * sizeof(Mark);
}

void Sequence::put(std::string& out) const {
  const std::size_t stride = done_.empty() ? 0 : marks_.size() / done_.size();
  put_varint(out, done_.size());
  for (std::size_t i = 0; i < done_.size(); ++i) {
    put_varint(out, done_[i]);
    put_varint(out, orders_[i]);
    for (std::size_t k = 0; k < done_[i]; ++k) {
      limiter::put(out, to_ms(marks_[i * stride + k].ts));
      put_varint(out, marks_[i * stride + k].line);
    }
  }
}

bool Sequence::get(Reader& in, const PatternSpec& spec, milliseconds back) {
  const std::size_t stride = stride_of(spec);
  const std::uint64_t n = in.varint();
  for (std::uint64_t i = 0; i < n && in.ok(); ++i) {
    const std::uint64_t done = in.varint();
    if (done == 0 || done > stride) return false;
    done_.push_back(static_cast<std::uint8_t>(done));
    orders_.push_back(in.varint());
    marks_.resize(marks_.size() + stride);
    for (std::uint64_t k = 0; k < done; ++k) {
      Mark& mark = marks_[marks_.size() - stride + k];
      mark.ts = from_ms(in.get<std::int64_t>()) - back;
      mark.line = in.varint();
    }
  }
  return in.ok();
}

}  // namespace weir::limiter
