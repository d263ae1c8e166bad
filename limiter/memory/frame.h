#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "core/number.h"

namespace weir::limiter {

/// Framed records of persisted state: "WEIR", version, kind, 2 bytes 0, length (u32), checksum
/// (u64), payload; little-endian. The checksum guards against torn writes and rot, not against
/// forgery: a process that can write state.dir can read the secret too.
struct Frame {
  std::uint8_t kind = 0;
  std::string_view payload;
};

inline constexpr std::string_view kFrameMark = "WEIR";
inline constexpr std::uint8_t kFrameVersion = 1;
inline constexpr std::size_t kFrameHead = 20;
static_assert(std::endian::native == std::endian::little);

std::uint64_t checksum(std::uint8_t kind, std::string_view bytes) noexcept;
void append_frame(std::string& out, std::uint8_t kind, std::string_view payload);
/// Takes the first frame off `bytes`; nullopt (and `bytes` as it was) if it is torn or foreign.
std::optional<Frame> take_frame(std::string_view& bytes) noexcept;
/// Where no frame begins `bytes`: drops them up to where the next may. Returns how many.
std::size_t skip_to_frame(std::string_view& bytes) noexcept;

// The payload's words: fixed integers as they are in memory, lengths and small numbers as LEB128.
template <class T>
void put(std::string& out, T value) {
  static_assert(std::is_arithmetic_v<T>);
  char raw[sizeof(T)];
  std::memcpy(raw, &value, sizeof(T));
  out.append(raw, sizeof(T));
}
void put_varint(std::string& out, std::uint64_t value);
void put_text(std::string& out, std::string_view text);
void put_number(std::string& out, Number number);

/// Reads the output of put. After the first failure everything fails, and reads as zero.
class Reader {
 public:
  explicit Reader(std::string_view bytes) noexcept : bytes_(bytes) {}
  template <class T>
  T get() noexcept {
    T value{};
    if (const std::string_view raw = take(sizeof(T)); ok_)
      std::memcpy(&value, raw.data(), sizeof(T));
    return value;
  }
  std::uint64_t varint() noexcept;
  std::string_view text() noexcept { return take(varint()); }
  Number number() noexcept;
  bool ok() const noexcept { return ok_; }
  bool at_end() const noexcept { return bytes_.empty(); }
  std::size_t left() const noexcept { return bytes_.size(); }

 private:
  std::string_view take(std::uint64_t n) noexcept;
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace weir::limiter
