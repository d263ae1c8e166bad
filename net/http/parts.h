#pragma once

#include <sys/uio.h>

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "net/http/chunked.h"
#include "net/http/fields.h"
#include "net/socket.h"

namespace weir::net {

/// The pieces of one write: a head, a body part in the receiver's framing. Views must outlive it.
class Parts {
 public:
  void add(std::string_view bytes) noexcept;
  /// A body part; `last`: the body is complete with it. Writes chunks if `framing` is chunked.
  void add_body(Framing framing, std::string_view data, bool last) noexcept;
  /// One system call. Small pieces are joined in `scratch` first: copying 2 KiB costs less than the
  /// kernel's work for a list.
  IoResult transmit(int fd, std::span<char> scratch) const noexcept;
  std::span<const iovec> span() const noexcept { return {parts_.data(), count_}; }
  std::size_t size() const noexcept { return bytes_; }
  bool empty() const noexcept { return bytes_ == 0; }

 private:
  std::array<iovec, 6> parts_;
  std::size_t count_ = 0;
  std::size_t bytes_ = 0;
  std::array<char, 18> chunk_head_;
};

}  // namespace weir::net
