#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace weir::net::grpc {

/// The stream numbers that a client has skipped. RFC 9113, section 5.1.1: the first use of a
/// number closes all idle streams with lower numbers. A HEADERS frame that opens such a stream
/// later is a connection error, while a HEADERS frame for a stream that was open is not: the peer
/// may have sent it before it has read our RST_STREAM.
///
/// Keeps the newest kRanges ranges. The set forgets older ranges: a HEADERS frame for a forgotten
/// number counts as one for a stream that was open.
class SkippedStreams {
 public:
  static constexpr std::size_t kRanges = 4;

  /// A HEADERS frame names this stream. True: the client has skipped the number before.
  bool on_headers(std::uint32_t stream) noexcept {
    if (stream % 2 == 0) return false;  // libnghttp2 refuses these
    if (stream < next_) {
      return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
        return stream >= range.first && stream < range.end;
      });
    }
    if (stream > next_) {
      ranges_[oldest_] = {next_, stream};
      oldest_ = (oldest_ + 1) % kRanges;
    }
    next_ = stream + 2;
    return false;
  }

 private:
  struct Range {
    std::uint32_t first = 0, end = 0;
  };
  std::array<Range, kRanges> ranges_{};
  std::size_t oldest_ = 0;
  std::uint32_t next_ = 1;  // the lowest number that is still idle
};

}  // namespace weir::net::grpc
