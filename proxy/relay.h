#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/http/chunked.h"
#include "net/http/fields.h"
#include "net/socket.h"

namespace weir::proxy {

/// Where one message's body ends, fed with raw bytes as they come. One per direction of a session.
class BodyReader {
 public:
  struct Piece {
    std::size_t used = 0;   ///< raw bytes dealt with; what follows belongs to the next message
    std::string_view data;  ///< body bytes, moved together at the front of the raw bytes
    net::HttpRefusal refusal = net::HttpRefusal::none;
    bool malformed() const noexcept { return refusal != net::HttpRefusal::none; }
  };

  void start(net::Framing framing, std::uint64_t length, const net::ChunkLimits& limits) noexcept;
  /// Uses as much as there is. The raw bytes are overwritten where framing lay between data.
  Piece take(std::span<char> raw) noexcept;
  /// The connection has ended: that completes a body which only the close delimits.
  void end() noexcept;

  bool done() const noexcept { return done_; }
  net::Framing framing() const noexcept { return framing_; }
  std::uint64_t left() const noexcept { return left_; }  ///< with framing length

 private:
  net::Framing framing_ = net::Framing::none;
  bool done_ = true;
  std::uint64_t left_ = 0;
  net::ChunkedDecoder chunks_;
};

/// The pieces of one write: a head, a body part in the receiver's framing. Views must outlive it.
class Parts {
 public:
  void add(std::string_view bytes) noexcept;
  /// A body part; `last`: the body is complete with it. Writes chunks if `framing` is chunked.
  void add_body(net::Framing framing, std::string_view data, bool last) noexcept;
  /// One system call. Small pieces are joined in `scratch` first: copying 2 KiB costs less than the
  /// kernel's work for a list.
  net::IoResult transmit(int fd, std::span<char> scratch) const noexcept;
  std::span<const iovec> span() const noexcept { return {parts_.data(), count_}; }
  std::size_t size() const noexcept { return bytes_; }
  bool empty() const noexcept { return bytes_ == 0; }

 private:
  std::array<iovec, 6> parts_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::array<char, 18> chunk_head_;
};

}  // namespace weir::proxy
