#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace weir::net::grpc {

/// Follows one list of fields in the coding of HPACK (RFC 7541), and changes each name or value
/// that is longer than libnghttp2 takes (64 KiB, or it ends the connection) into several fields in
/// as many bytes: the result is a list that is too long, which fails its call alone.
///
/// The table of HPACK, which all calls of the connection share, comes out the same. A text so long
/// is larger than the whole table: if it is to go there, it empties it, and so does its first part;
/// the parts that follow stay out of the table.
///
/// Not thread-safe.
class LongValues {
 public:
  /// The longest text that libnghttp2 takes, in bytes as they come.
  static constexpr std::uint32_t kTextMax = 65'536;

  void begin() noexcept;  ///< a list begins
  /// The next bytes of the list, which are changed in place.
  void take(std::span<char> part) noexcept;
  /// A frame of the list ends here. A length that continues in the next frame is left as it is.
  void end_frame() noexcept { is_split_ = is_split_ || length_bytes_ != 0; }

  /// The part of a read that is passed to libnghttp2 now: an incomplete length waits.
  struct Ready {
    std::string_view kept;  ///< from before this read
    std::string_view read;
  };
  /// Once after each read, whatever was in it. Valid until the next one.
  Ready ready(std::string_view read) noexcept;

 private:
  enum class Step : std::uint8_t {
    field,   ///< the first byte of a field
    number,  ///< an index, or a size of the table; `next_` follows
    length,  ///< of a name or a value
    text,    ///< a name or a value
    lost,    ///< not HPACK: libnghttp2 reports it
  };
  static constexpr std::uint8_t kLengthMax = 6;  ///< bytes that a length has at most

  void begin_field(std::uint8_t byte) noexcept;
  void begin_text(bool is_name) noexcept;
  /// The length is complete; its last bytes are before `at` in `part`.
  void end_length(std::span<char> part, std::size_t at) noexcept;
  void end_text() noexcept;
  void overwrite(std::span<char> part) const noexcept;

  Step step_ = Step::field;
  Step next_ = Step::field;
  bool is_name_ = false;
  bool is_split_ = false;  ///< the length goes over the end of a frame
  bool is_cut_ = false;    ///< the text is too long
  std::uint8_t length_bytes_ = 0;
  bool kept_wait_ = false;  ///< the kept bytes are of this length
  std::uint8_t kept_bytes_ = 0;
  char kept_[kLengthMax] = {}, given_[kLengthMax] = {};
  std::uint64_t size_ = 0, at_ = 0;  ///< of the text
  std::uint64_t first_ = 0;          ///< bytes of the first of several parts
};

}  // namespace weir::net::grpc
