#include "net/grpc/frame_meter.h"

#include <cstring>

#include "net/worker_pool.h"

namespace weir::net::grpc {
namespace {

constexpr std::uint8_t kData = 0, kHeaders = 1, kContinuation = 9;
constexpr std::uint8_t kEndStream = 0x1, kEndHeaders = 0x4, kPadded = 0x8, kPriority = 0x20;
constexpr std::uint8_t kPriorityBytes = 5;

}  // namespace

void Credit::refill(TimePoint now) noexcept {
  if (refilled_ == TimePoint{}) refilled_ = now;
  const std::int64_t back = (now - refilled_).count() * per_second_ / 1'000;
  if (back == 0) return;  // keeps the fraction for later
  refilled_ = now;
  left_ = static_cast<std::int32_t>(std::min<std::int64_t>(most_, left_ + back));
}

FrameMeter::Verdict FrameMeter::take(std::span<char> bytes, TimePoint now) noexcept {
  // Calls take the DATA frames of a read after the whole read is counted.
  static_assert(kDataMax > Worker::kScratchBytes / (kHeader + 1));
  quiet_.refill(now);
  data_.refill(now);
  while (!bytes.empty()) {
    if (skip_ != 0) {
      if (padding_next_) {
        padding_next_ = false;
        const std::uint32_t padding = 1U + static_cast<unsigned char>(bytes.front());
        if (padding >= skip_ && !quiet_.spend(1)) return Verdict::flood;
      }
      const std::size_t n = std::min<std::size_t>(skip_, bytes.size());
      if (in_list_) [[unlikely]]
        take_list(bytes.first(n));
      skip_ -= static_cast<std::uint32_t>(n);
      bytes = bytes.subspan(n);
      continue;
    }
    const std::size_t n = std::min(kHeader - have_, bytes.size());
    std::memcpy(header_ + have_, bytes.data(), n);
    have_ = static_cast<std::uint8_t>(have_ + n);
    bytes = bytes.subspan(n);
    if (have_ < kHeader) break;
    have_ = 0;
    if (on_header() == Verdict::flood) return Verdict::flood;
  }
  return Verdict::good;
}

FrameMeter::Verdict FrameMeter::on_header() noexcept {
  ++frames_;
  const std::uint8_t type = header_[3];
  const std::uint8_t flags = header_[4];
  skip_ = static_cast<std::uint32_t>(header_[0]) << 16 |
          static_cast<std::uint32_t>(header_[1]) << 8 | header_[2];
  in_list_ = false;
  switch (type) {
    case kHeaders: {
      continuations_ = 0;
      open_list_ = (flags & kEndHeaders) == 0;
      if (open_list_) begin_list_frame(type, flags);
      const std::uint32_t stream = (header_[5] & 0x7FU) << 24 | std::uint32_t{header_[6]} << 16 |
                                   std::uint32_t{header_[7]} << 8 | header_[8];
      if (stream <= newest_) break;
      newest_ = stream;
      return Verdict::good;
    }
    case kContinuation:
      if (open_list_) begin_list_frame(type, flags);
      open_list_ = open_list_ && (flags & kEndHeaders) == 0;
      if (++continuations_ > kContinuationsMax) return Verdict::flood;
      break;
    case kData:
      padding_next_ = skip_ != 0 && (flags & kPadded) != 0 && (flags & kEndStream) == 0;
      if (!data_.spend(1)) return Verdict::flood;
      if (skip_ != 0 || (flags & kEndStream) != 0) return Verdict::good;
      break;
    default:
      break;
  }
  return quiet_.spend(1) ? Verdict::good : Verdict::flood;
}

void FrameMeter::begin_list_frame(std::uint8_t type, std::uint8_t flags) noexcept {
  in_list_ = true;
  list_behind_ = list_lead_ = 0;
  list_padded_ = false;
  if (type == kHeaders) {
    long_values_.begin();
    list_padded_ = (flags & kPadded) != 0;
    list_lead_ = static_cast<std::uint8_t>((list_padded_ ? 1 : 0) +
                                           ((flags & kPriority) != 0 ? kPriorityBytes : 0));
  }
}

void FrameMeter::take_list(std::span<char> payload) noexcept {
  std::size_t left = skip_;
  for (; list_lead_ != 0 && !payload.empty(); --list_lead_, --left) {
    if (list_padded_) list_behind_ = static_cast<std::uint8_t>(payload.front());
    list_padded_ = false;
    payload = payload.subspan(1);
  }
  const std::size_t fields = left - std::min<std::size_t>(left, list_behind_);
  long_values_.take(payload.first(std::min(payload.size(), fields)));
  if (payload.size() >= fields) long_values_.end_frame();  // padding may follow
}

}  // namespace weir::net::grpc
