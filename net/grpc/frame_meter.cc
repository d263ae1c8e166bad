#include "net/grpc/frame_meter.h"

#include <cstring>

namespace weir::net::grpc {
namespace {

constexpr std::uint8_t kData = 0, kHeaders = 1, kContinuation = 9;
constexpr std::uint8_t kEndStream = 0x1, kEndHeaders = 0x4;

}  // namespace

void Credit::refill(TimePoint now) noexcept {
  if (refilled_ == TimePoint{}) refilled_ = now;
  const std::int64_t back = (now - refilled_).count() * per_second_ / 1'000;
  if (back == 0) return;  // keeps the fraction for later
  refilled_ = now;
  left_ = static_cast<std::int32_t>(std::min<std::int64_t>(most_, left_ + back));
}

FrameMeter::Verdict FrameMeter::take(std::string_view bytes, TimePoint now) noexcept {
  quiet_.refill(now);
  while (!bytes.empty()) {
    if (skip_ != 0) {
      const std::size_t n = std::min<std::size_t>(skip_, bytes.size());
      skip_ -= static_cast<std::uint32_t>(n);
      bytes.remove_prefix(n);
      continue;
    }
    const std::size_t n = std::min(kHeader - have_, bytes.size());
    std::memcpy(header_ + have_, bytes.data(), n);
    have_ = static_cast<std::uint8_t>(have_ + n);
    bytes.remove_prefix(n);
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
  switch (type) {
    case kHeaders:
      continuations_ = 0;
      open_list_ = (flags & kEndHeaders) == 0;
      return Verdict::good;
    case kContinuation:
      open_list_ = open_list_ && (flags & kEndHeaders) == 0;
      if (++continuations_ > kContinuationsMost) return Verdict::flood;
      break;
    case kData:
      if (skip_ != 0 || (flags & kEndStream) != 0) return Verdict::good;
      break;
    default:
      break;
  }
  return quiet_.spend(1) ? Verdict::good : Verdict::flood;
}

}  // namespace weir::net::grpc
