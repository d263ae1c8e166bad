#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/clock.h"
#include "net/grpc/long_values.h"

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
/// nothing, whether one is half here, and which values are longer than libnghttp2 takes
/// (LongValues). Frames that ask for nothing (PING, SETTINGS, PRIORITY,
/// WINDOW_UPDATE, RST_STREAM, CONTINUATION, DATA of nothing but padding, HEADERS of a call that has
/// begun, frames of unknown kinds) cost their sender one each of 1,000; 200 come back a second and
/// ten with each call that was answered.
/// So keepalive, and clients that measure their path with a PING for each call, never run out; a
/// flood does within its first read or two.
///
/// DATA costs one of 8,192, because only libnghttp2 knows whether its call still reads. The
/// connection gives one back for each DATA frame that a call has taken. DATA for calls that are
/// answered or closed therefore runs out.
///
/// A few bytes of HPACK can stand for a list of fields that is larger than a call may have. Reading
/// such a list costs processor time, and its call is refused. So each multiple of the limit that a
/// list reaches costs kPerFieldsLimit of the 1,000: a list below three times the limit costs less
/// than its answered call gives back.
class FrameMeter {
 public:
  static constexpr std::int32_t kQuietMax = 1'000;
  static constexpr std::int32_t kQuietPerSecond = 200;
  static constexpr std::int32_t kPerCall = 10;
  static constexpr std::int32_t kPerFieldsLimit = 4;
  /// Larger than the number of DATA frames that one read can hold (frame_meter.cc asserts it).
  static constexpr std::int32_t kDataMax = 8'192;
  /// Pieces of one list of fields, after its HEADERS: 1 MiB in pieces of the usual 16 KiB. A list
  /// that is too large for a call is read to its end, because its changes to the table of HPACK
  /// hold for the calls that follow.
  static constexpr std::uint8_t kContinuationsMax = 64;

  enum class Verdict : std::uint8_t { good, flood };
  /// The next bytes as they come, the client's preface first. Values that are too long are changed
  /// in place.
  Verdict take(std::span<char> bytes, TimePoint now) noexcept;
  /// The part of these bytes that is passed to libnghttp2 now.
  LongValues::Ready ready(std::span<const char> bytes) noexcept {
    return long_values_.ready({bytes.data(), bytes.size()});
  }
  void call_answered() noexcept {
    quiet_.earn(kPerCall);
    data_.earn(kPerCall);
  }
  /// A list of fields has reached so many more multiples of the limit. False: a flood of them.
  bool take_fields(std::uint32_t limits) noexcept {
    return quiet_.spend(static_cast<std::int32_t>(limits) * kPerFieldsLimit);
  }
  /// A call has taken a DATA frame.
  void data_taken() noexcept { data_.earn(1); }

  /// A frame, a list of fields or the preface has begun and is not here in whole.
  bool inside() const noexcept { return skip_ != 0 || have_ != 0 || open_list_; }
  std::uint64_t frames() const noexcept { return frames_; }

 private:
  static constexpr std::size_t kPreface = 24;
  static constexpr std::size_t kHeader = 9;
  Verdict on_header() noexcept;
  void begin_list_frame(std::uint8_t type, std::uint8_t flags) noexcept;
  void take_list(std::span<char> payload) noexcept;

  Credit quiet_{kQuietMax, kQuietPerSecond};
  Credit data_{kDataMax, kQuietPerSecond};
  std::uint64_t frames_ = 0;
  std::uint32_t skip_ = kPreface;  // bytes left of the preface or of a payload
  std::uint8_t have_ = 0;          // of the next header
  std::uint8_t header_[kHeader];
  std::uint8_t continuations_ = 0;
  bool open_list_ = false;     // HEADERS without END_HEADERS
  bool padding_next_ = false;  // the next byte says how much of the payload is padding
  std::uint32_t newest_ = 0;   // the stream with the highest number so far

  // State of a list that comes in several frames: a value that is too long does not fit into one.
  bool in_list_ = false;          // the payload is of such a list
  bool list_padded_ = false;      // its first byte says how much of it is padding
  std::uint8_t list_lead_ = 0;    // bytes before the fields
  std::uint8_t list_behind_ = 0;  // bytes of padding after them
  LongValues long_values_;
};

}  // namespace weir::net::grpc
