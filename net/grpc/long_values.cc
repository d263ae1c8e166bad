#include "net/grpc/long_values.h"

#include <algorithm>
#include <cstring>

namespace weir::net::grpc {
namespace {

constexpr std::uint8_t kMore = 0x80;        // another byte of a number follows
constexpr std::uint8_t kLengthFull = 0x7F;  // a length that does not fit into its first byte

// The fields that follow the first part of a text: they stay out of the table, are named `x`, and
// have 32 KiB each with this head (no index; the name's length and the name; the value's length,
// 32,761).
constexpr std::uint64_t kPart = 32 << 10;
constexpr char kHead[] = {'\x00', '\x01', 'x', '\x7F', '\xFA', '\xFE', '\x01'};
static_assert(127 + 0x7A + (0x7E << 7) + (0x01 << 14) == kPart - sizeof kHead);
// After the first part of a name comes an empty value, and before the next value comes the head
// of a field whose name is `x`: the bytes of kHead before the length of a value.
constexpr std::uint64_t kNameMore = 1 + 3;
// A first part is larger than the table (4 KiB), and no longer than libnghttp2 takes.
static_assert(2 * kPart == LongValues::kTextMax);

}  // namespace

void LongValues::begin() noexcept {
  step_ = Step::field;
  is_split_ = false;
  length_bytes_ = 0;
}

void LongValues::take(std::span<char> part) noexcept {
  for (std::size_t at = 0; at < part.size();) {
    switch (step_) {
      case Step::field:
        begin_field(static_cast<std::uint8_t>(part[at++]));
        break;
      case Step::number:
        if ((static_cast<std::uint8_t>(part[at++]) & kMore) != 0) break;
        next_ == Step::length ? begin_text(false) : end_text();
        break;
      case Step::length: {
        const auto byte = static_cast<std::uint8_t>(part[at++]);
        const bool first = length_bytes_++ == 0;
        const std::uint64_t bits = byte & kLengthFull;
        size_ += first ? bits : bits << (7 * (length_bytes_ - 2));
        const bool more = first ? bits == kLengthFull : (byte & kMore) != 0;
        if (!more) {
          end_length(part, at);
        } else if (length_bytes_ == kLengthMax) {
          step_ = Step::lost;
        }
        break;
      }
      case Step::text: {
        const auto n =
            static_cast<std::size_t>(std::min<std::uint64_t>(size_ - at_, part.size() - at));
        if (is_cut_) overwrite(part.subspan(at, n));
        at_ += n;
        at += n;
        if (at_ == size_) end_text();
        break;
      }
      case Step::lost:
        return;
    }
  }
}

void LongValues::begin_field(std::uint8_t byte) noexcept {
  const auto number = [&](std::uint8_t full, Step next) {
    next_ = next;
    if ((byte & full) == full) {
      step_ = Step::number;
    } else if (next == Step::length) {
      begin_text((byte & full) == 0);  // without an index, the name follows
    }
  };
  if ((byte & 0x80) != 0) return number(0x7F, Step::field);   // a field of the table
  if ((byte & 0x40) != 0) return number(0x3F, Step::length);  // goes to the table
  if ((byte & 0x20) != 0) return number(0x1F, Step::field);   // size of the table
  number(0x0F, Step::length);
}

void LongValues::begin_text(bool is_name) noexcept {
  step_ = Step::length;
  is_name_ = is_name;
  is_split_ = is_cut_ = false;
  length_bytes_ = 0;
  size_ = at_ = 0;
}

void LongValues::end_length(std::span<char> part, std::size_t at) noexcept {
  is_cut_ = size_ > kTextMax && !is_split_;
  if (is_cut_) {
    first_ = kPart + (is_name_ ? size_ - kNameMore : size_) % kPart;
    // In as many bytes as before, and without Huffman.
    std::uint64_t rest = first_ - kLengthFull;
    for (std::size_t i = 0; i < length_bytes_; ++i) {
      char& byte = kept_wait_ && i < kept_bytes_ ? kept_[i] : part[at + i - length_bytes_];
      if (i == 0) {
        byte = static_cast<char>(kLengthFull);
        continue;
      }
      const std::uint8_t more = i + 1U < length_bytes_ ? kMore : std::uint8_t{0};
      byte = static_cast<char>((rest & kLengthFull) | more);
      rest >>= 7;
    }
  }
  length_bytes_ = 0;
  kept_wait_ = false;
  step_ = Step::text;
  if (size_ == 0) end_text();
}

void LongValues::end_text() noexcept {
  const bool is_name = step_ == Step::text && is_name_;
  if (is_name) return begin_text(false);
  step_ = Step::field;
}

void LongValues::overwrite(std::span<char> part) const noexcept {
  std::fill(part.begin(), part.end(), 'x');
  std::uint64_t at = at_;
  const std::uint64_t end = at_ + part.size();
  std::uint64_t first_head = first_;
  if (is_name_) {
    if (first_ >= at_ && first_ < end) part[first_ - at_] = '\0';  // the length of its value
    ++first_head;
  }
  if (at < first_head) at = first_head;
  // The heads that lie in these bytes, or reach into them.
  for (at -= (at - first_head) % kPart; at < end; at += kPart) {
    for (std::size_t i = 0; i < sizeof kHead; ++i) {
      if (at + i >= at_ && at + i < end) part[at + i - at_] = kHead[i];
    }
  }
}

LongValues::Ready LongValues::ready(std::string_view read) noexcept {
  const bool waits = step_ == Step::length && length_bytes_ != 0 && !is_split_;
  Ready out{{}, read};
  if (!(waits && kept_wait_) && kept_bytes_ != 0) {
    std::memcpy(given_, kept_, kept_bytes_);
    out.kept = {given_, kept_bytes_};
    kept_bytes_ = 0;
  }
  kept_wait_ = waits;
  if (!waits) return out;
  const std::size_t here = length_bytes_ - std::size_t{kept_bytes_};  // at the end of this read
  out.read.remove_suffix(here);
  std::memcpy(kept_ + kept_bytes_, out.read.data() + out.read.size(), here);
  kept_bytes_ = length_bytes_;
  return out;
}

}  // namespace weir::net::grpc
