#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "net/http/chunked.h"
#include "net/http/fields.h"

namespace weir::net {

/// Where one message's body ends, fed with raw bytes as they come. One per direction of a
/// connection.
class BodyReader {
 public:
  struct Piece {
    std::size_t used = 0;   ///< raw bytes consumed; the rest belongs to the next message
    std::string_view data;  ///< body bytes, moved together at the front of the raw bytes
    HttpRefusal refusal = HttpRefusal::none;
    bool malformed() const noexcept { return refusal != HttpRefusal::none; }
  };

  void start(Framing framing, std::uint64_t length, const ChunkLimits& limits) noexcept;
  /// Uses as much as there is. The raw bytes are overwritten where framing lay between data.
  Piece take(std::span<char> raw) noexcept;
  /// The connection has ended: that completes a body which only the close delimits.
  void end() noexcept;

  bool done() const noexcept { return done_; }
  Framing framing() const noexcept { return framing_; }
  std::uint64_t left() const noexcept { return left_; }  ///< with framing length

 private:
  Framing framing_ = Framing::none;
  bool done_ = true;
  std::uint64_t left_ = 0;
  ChunkedDecoder chunks_;
};

}  // namespace weir::net
