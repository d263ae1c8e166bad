#include "store/redis/breaker.h"

#include <algorithm>

namespace weir::store {

milliseconds Backoff::next() noexcept {
  random_ ^= random_ << 13U;
  random_ ^= random_ >> 7U;
  random_ ^= random_ << 17U;
  const std::int64_t whole = next_.count();
  next_ = std::min(most_, next_ * 2);
  return milliseconds(whole - static_cast<std::int64_t>(random_ % 1024U) * whole / 2048);
}

void Breaker::failed(TimePoint now) noexcept {
  if (state_ == State::closed && ++failures_ >= kFailures) trip(now);
}

void Breaker::trip(TimePoint now) noexcept {
  state_ = State::open;
  failures_ = 0;
  probe_at_ = now + backoff_.next();
}

void Breaker::probe_sent(TimePoint now) noexcept {
  state_ = State::half_open;
  sent_ = now;
}

void Breaker::probe_answered(TimePoint now) noexcept {
  if (state_ != State::half_open) return;
  if (now - sent_ <= budget_ + milliseconds(1)) {
    close();
  } else {
    trip(now);
  }
}

void Breaker::close() noexcept {
  state_ = State::closed;
  failures_ = 0;
  backoff_.reset();
}

bool Repeats::worth(TimePoint now) noexcept {
  if (!open()) return true;
  if (now < again_at_) return false;
  again_at_ = now + backoff_.next();
  return true;
}

void Repeats::failed(TimePoint now) noexcept {
  if (open()) return;
  if (++failures_ == kFailures) again_at_ = now + backoff_.next();
}

void Repeats::helped() noexcept {
  failures_ = 0;
  backoff_.reset();
}

}  // namespace weir::store
