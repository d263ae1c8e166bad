#include "store/resp/resp_guard.h"

#include <algorithm>

namespace weir::store {

bool RespGuard::admit(std::string_view bytes) noexcept {
  if (state_ == State::broken) return false;
  while (!bytes.empty()) {
    if (state_ == State::bulk) {  // the only state with many bytes
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(rest_, bytes.size()));
      rest_ -= n;
      bytes_ += n;
      bytes.remove_prefix(n);
      if (rest_ == 0) state_ = State::bulk_end;
    } else {
      ++bytes_;
      if (!step(bytes.front())) return broken();
      bytes.remove_prefix(1);
    }
    if (bytes_ > limits_.reply) return broken();
  }
  return true;
}

bool RespGuard::step(char c) noexcept {
  switch (state_) {
    case State::type:
      type_ = c;
      line_ = 0;
      number_ = 0;
      digits_ = 0;
      negative_ = false;
      if (c == '+' || c == '-') {
        state_ = State::line;
      } else if (c == ':' || c == '$' || c == '*') {
        state_ = State::number;
      } else {
        return false;
      }
      return true;
    case State::line:
      if (c == '\r') {
        state_ = State::line_feed;
      } else if (c == '\n' || ++line_ > limits_.line) {
        return false;
      }
      return true;
    case State::number:
      if (c == '\r') {
        if (digits_ == 0) return false;
        state_ = State::after_number;
      } else if (c == '-' && digits_ == 0 && !negative_) {
        negative_ = true;
      } else if (c >= '0' && c <= '9') {
        // 18 digits always fit; an integer of 19 may not, and its reader checks it.
        if (++digits_ > 19) return false;
        if (digits_ <= 18) number_ = number_ * 10 + (c - '0');
        if (digits_ > 10 && type_ != ':') return false;
      } else {
        return false;
      }
      return true;
    case State::after_number:
      return c == '\n' && end_of_number();
    case State::line_feed:
      if (c != '\n') return false;
      end_of_value();
      return true;
    case State::bulk_end:
      state_ = State::bulk_line_feed;
      return c == '\r';
    case State::bulk_line_feed:
      if (c != '\n') return false;
      end_of_value();
      return true;
    case State::bulk:
    case State::broken:
      break;
  }
  return false;
}

bool RespGuard::end_of_number() noexcept {
  const std::int64_t n = negative_ ? -number_ : number_;
  if (type_ == ':') {
    end_of_value();
    return true;
  }
  if (n < 0) {  // $-1 and *-1: nothing
    if (n != -1) return false;
    end_of_value();
    return true;
  }
  if (type_ == '$') {
    if (n > limits_.bulk) return false;
    rest_ = static_cast<std::uint64_t>(n);
    state_ = n == 0 ? State::bulk_end : State::bulk;
    return true;
  }
  if (n > limits_.elements || elements_ + static_cast<std::uint64_t>(n) > limits_.elements) {
    return false;
  }
  elements_ += static_cast<std::uint32_t>(n);
  if (n == 0) {
    end_of_value();
    return true;
  }
  if (level_ >= std::min(limits_.depth, kDepthMax)) return false;
  open_[++level_] = static_cast<std::uint32_t>(n);
  state_ = State::type;
  return true;
}

void RespGuard::end_of_value() noexcept {
  state_ = State::type;
  while (level_ > 0 && --open_[level_] == 0) --level_;
  if (level_ > 0) return;
  elements_ = 0;
  bytes_ = 0;
}

}  // namespace weir::store
