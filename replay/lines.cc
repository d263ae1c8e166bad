#include "replay/lines.h"

#include <algorithm>
#include <cstring>

namespace weir::replay {
namespace {

constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kShown = 1024;  // of a line that is too long
constexpr std::string_view kMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(const std::string& path) : input_(path), buffer_(kChunk + kPadding) {
  while (end_ < kMark.size() && refill()) {
  }
  if (std::string_view(buffer_.data(), end_).starts_with(kMark)) at_ = record_ = kMark.size();
}

/// Reads more after the present bytes, moving the current record to the front. False: there is no
/// more.
bool LineReader::refill() {
  if (ended_) return false;
  if (record_ > 0 && buffer_.size() - kPadding - end_ < kChunk / 4) {
    std::memmove(buffer_.data(), buffer_.data() + record_, end_ - record_);
    at_ -= record_;
    end_ -= record_;
    second_ -= std::min(second_, record_);
    record_ = 0;
  }
  if (buffer_.size() - kPadding - end_ < kChunk / 4) {
    // One byte more than the longest line, so that its end is seen.
    buffer_.resize(std::min(2 * buffer_.size(), 2 * kLineMax + kChunk + kPadding));
  }
  const std::size_t got = input_.read({buffer_.data() + end_, buffer_.size() - kPadding - end_});
  end_ += got;
  ended_ = got == 0;
  return got != 0;
}

/// The offset of the line feed at or after `from`, relative to the record. False: the input ended.
bool LineReader::find_end(std::size_t from, std::size_t& end) {
  std::size_t searched = from - record_;
  for (;;) {
    const char* const begin = buffer_.data() + record_ + searched;
    const void* found = std::memchr(begin, '\n', end_ - record_ - searched);
    if (found != nullptr) {
      end = static_cast<std::size_t>(static_cast<const char*>(found) - buffer_.data());
      return true;
    }
    searched = end_ - record_;
    if (searched > kLineMax || !refill()) {
      end = end_;
      return false;
    }
  }
}

std::string_view LineReader::trimmed(std::size_t begin, std::size_t end) const {
  if (end > begin && buffer_[end - 1] == '\r') --end;
  return {buffer_.data() + begin, end - begin};
}

bool LineReader::next(std::string_view& line) {
  number_ += further_;
  further_ = 0;
  record_ = at_;
  std::size_t end = 0;
  const bool ended = find_end(at_, end);
  if (!ended && end == record_) return false;
  ++number_;
  cut_ = end - record_ > kLineMax;
  if (cut_) {
    overlong_.assign(buffer_.data() + record_, buffer_.data() + record_ + kShown);
    line = {overlong_.data(), overlong_.size()};
    at_ = ended ? end + 1 : end;
    if (!ended) pass_over();
  } else {
    at_ = ended ? end + 1 : end;
    line = trimmed(record_, end);
  }
  second_ = at_;
  return true;
}

/// The rest of a line that is too long, in pieces.
void LineReader::pass_over() {
  for (;;) {
    record_ = at_;
    std::size_t end = 0;
    if (find_end(at_, end)) {
      at_ = end + 1;
      return;
    }
    at_ = end;
    if (end - record_ <= kLineMax) return;
  }
}

bool LineReader::extend(std::string_view& text) {
  if (at_ == end_ && !refill()) return false;
  if (at_ - record_ > kLineMax) return false;
  std::size_t end = 0;
  const bool found = find_end(at_, end);
  if (end - record_ > kLineMax || (!found && end == at_)) return false;
  at_ = found ? end + 1 : end;
  ++further_;
  text = trimmed(record_, end);
  return true;
}

std::string_view LineReader::ahead(std::size_t most) {
  number_ += further_;
  further_ = 0;
  record_ = second_ = at_;
  for (;;) {
    const std::size_t size = std::min(most, end_ - at_);
    const void* const last = ::memrchr(buffer_.data() + at_, '\n', size);
    if (last != nullptr) {
      const char* const begin = buffer_.data() + at_;
      return {begin, static_cast<std::size_t>(static_cast<const char*>(last) - begin) + 1};
    }
    if (size == most || !refill()) return {};
  }
}

void LineReader::retract() {
  at_ = second_;
  further_ = 0;
}

}  // namespace weir::replay
