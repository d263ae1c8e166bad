#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace weir::authz {

/// Number and wire type of a field, as they precede it in a protobuf message.
constexpr std::uint32_t length_delimited(std::uint32_t number) noexcept { return number << 3 | 2; }

/// Steps through the fields of a protobuf message, in place: bytes of texts and of messages inside
/// are views into the message. Any bytes may be given. Pure; allocates nothing.
class WireFields {
 public:
  explicit WireFields(std::string_view message) noexcept
      : at_(message.data()), end_(message.data() + message.size()) {}

  /// Steps to the next field. False: there is none, or what comes is no field: see is_sound().
  bool next() noexcept;
  /// Number and wire type; a caller that does not know them passes by.
  std::uint32_t tag() const noexcept { return tag_; }
  /// The bytes of a length-delimited field; empty for others.
  std::string_view bytes() const noexcept { return bytes_; }
  /// After next() has returned false: the message ended where a field ends.
  bool is_sound() const noexcept { return sound_; }

 private:
  enum WireType : std::uint8_t { varint = 0, fixed64 = 1, delimited = 2, fixed32 = 5 };

  bool fail() noexcept {
    sound_ = false;
    return false;
  }
  bool read_varint(std::uint64_t& out) noexcept;
  bool take(std::uint64_t size) noexcept;

  const char* at_;
  const char* end_;
  std::uint32_t tag_ = 0;
  bool sound_ = true;
  std::string_view bytes_;
};

inline bool WireFields::read_varint(std::uint64_t& out) noexcept {
  if (at_ != end_ && static_cast<signed char>(*at_) >= 0) [[likely]] {
    out = static_cast<unsigned char>(*at_++);
    return true;
  }
  out = 0;
  for (unsigned shift = 0; shift < 64 && at_ != end_; shift += 7) {
    const auto byte = static_cast<unsigned char>(*at_++);
    out |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

inline bool WireFields::take(std::uint64_t size) noexcept {
  if (size > static_cast<std::uint64_t>(end_ - at_)) return false;
  bytes_ = {at_, static_cast<std::size_t>(size)};
  at_ += size;
  return true;
}

inline bool WireFields::next() noexcept {
  if (at_ == end_) return false;
  std::uint64_t tag = 0;
  std::uint64_t value = 0;
  if (!read_varint(tag) || tag < 8 || tag > UINT32_MAX) return fail();  // a number is 1 at least
  tag_ = static_cast<std::uint32_t>(tag);
  const auto type = static_cast<WireType>(tag & 7);
  if (type == delimited) [[likely]]
    return read_varint(value) && take(value) ? true : fail();
  const bool passed = type == varint    ? read_varint(value)
                      : type == fixed64 ? take(8)
                      : type == fixed32 ? take(4)
                                        : false;  // groups, which no message here ever had
  bytes_ = {};
  return passed ? true : fail();
}

}  // namespace weir::authz
