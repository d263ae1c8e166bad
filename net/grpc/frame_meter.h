#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/clock.h"

namespace weir::net::grpc {

/// A budget that a peer spends with frames, and gets back with time and with answered calls.
class Credit {
 public:
  Credit(std::int32_t most, std::int32_t per_second) noexcept
      : left_(most), most_(most), per_second_(per_second) {}

  bool spend(std::int32_t amount) noexcept { return (left_ -= amount) >= 0; }
  void earn(std::int32_t amount) noexcept { left_ = std::min(most_, left_ + amount); }
  void refill(TimePoint now) noexcept;

 private:
  std::int32_t left_, most_, per_second_;
  TimePoint refilled_{};
};

/// Watches the frames of one HTTP/2 connection before libnghttp2 sees them: which of them ask for
/// nothing, and whether one is half here. Frames that ask for nothing (PING, SETTINGS, PRIORITY,
/// WINDOW_UPDATE, RST_STREAM, CONTINUATION, DATA without a byte, frames of unknown kinds) cost
/// their sender one each of 1,000; 200 come back a second and ten with each call that was answered.
/// So keepalive, and clients that measure their path with a PING for each call, never run out; a
/// flood does within its first read or two.
class FrameMeter {
 public:
  static constexpr std::int32_t kQuietMost = 1'000;
  static constexpr std::int32_t kQuietPerSecond = 200;
  static constexpr std::int32_t kPerCall = 10;
  /// Pieces of one list of fields. libnghttp2 as Debian has it stops at 8 CONTINUATIONs.
  static constexpr std::uint8_t kContinuationsMost = 8;

  enum class Verdict : std::uint8_t { good, flood };
  /// The next bytes as they come, the client's preface first.
  Verdict take(std::string_view bytes, TimePoint now) noexcept;
  void call_answered() noexcept { quiet_.earn(kPerCall); }

  /// A frame, a list of fields or the preface has begun and is not here in whole.
  bool inside() const noexcept { return skip_ != 0 || have_ != 0 || open_list_; }
  std::uint64_t frames() const noexcept { return frames_; }

 private:
  static constexpr std::size_t kPreface = 24;
  static constexpr std::size_t kHeader = 9;
  Verdict on_header() noexcept;

  Credit quiet_{kQuietMost, kQuietPerSecond};
  std::uint64_t frames_ = 0;
  std::uint32_t skip_ = kPreface;  // bytes left of the preface or of a payload
  std::uint8_t have_ = 0;          // of the next header
  std::uint8_t header_[kHeader];
  std::uint8_t continuations_ = 0;
  bool open_list_ = false;  // HEADERS without END_HEADERS
};

}  // namespace weir::net::grpc
