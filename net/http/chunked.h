#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "net/http/refusal.h"

namespace weir::net {

struct ChunkLimits {
  std::uint32_t line = 256;  ///< bytes of one chunk line, size and extensions, without CRLF
  std::uint32_t extensions = 16 << 10;  ///< bytes of extensions in one message
  std::uint32_t trailers = 4 << 10;     ///< bytes of the trailer section, its empty line included
};

/// Reads a chunked body (RFC 9112, 7.1) in whatever pieces it comes and says which bytes are data.
/// Sizes are plain hex of at most 16 digits; CRLF only; extensions are checked (`;name`,
/// `;name=token`, `;name="quoted"`, no blanks outside quotes) and dropped; trailers are checked
/// like fields and dropped: a trailer never becomes a header. Keeps no bytes. One object per
/// message; not thread-safe.
class ChunkedDecoder {
 public:
  struct Step {
    std::size_t used = 0;  ///< bytes of the input that are dealt with, `data` included
    std::string_view
        data;  ///< body bytes, inside the input, at the end of the used part; may be empty
    HttpRefusal refusal = HttpRefusal::none;
  };

  explicit ChunkedDecoder(const ChunkLimits& limits = {}) noexcept : limits_(limits) {}

  /// Processes the input up to the end of the first span of data, the end of the message or the end
  /// of the input. Call it until the input is used up, done() or a refusal. After done() it uses
  /// nothing (the rest is the next message). After a refusal it must not be called again.
  Step next(std::string_view input) noexcept;
  bool done() const noexcept { return state_ == State::done; }

 private:
  enum class State : std::uint8_t {
    size_first,
    size,
    extension_name_first,
    extension_name,
    extension_value_first,
    extension_token,
    extension_quoted,
    extension_escape,
    extension_quoted_end,
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer_first,
    trailer_name,
    trailer_value,
    trailer_lf,
    end_lf,
    done,
  };
  HttpRefusal head_byte(unsigned char c) noexcept;
  HttpRefusal tail_byte(unsigned char c) noexcept;

  ChunkLimits limits_;
  State state_ = State::size_first;
  std::uint8_t digits_ = 0;
  std::uint32_t line_bytes_ = 0;
  std::uint32_t extension_bytes_ = 0;
  std::uint32_t trailer_bytes_ = 0;
  std::uint64_t left_ = 0;  ///< of the current chunk
};

/// Writes the line before a chunk of `size` > 0 data bytes, such as `1f\r\n`, into `out`. Returns
/// its length. After the data comes kChunkEnd; after the last chunk, kLastChunk.
std::size_t write_chunk_head(std::array<char, 18>& out, std::uint64_t size) noexcept;
inline constexpr std::string_view kChunkEnd = "\r\n";
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace weir::net
