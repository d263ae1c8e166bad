#include "net/http/parts.h"

#include <cstring>

#include "core/assert.h"

namespace weir::net {

void Parts::add(std::string_view bytes) noexcept {
  if (bytes.empty()) return;
  WEIR_ASSERT(count_ < parts_.size());
  parts_[count_].iov_base = const_cast<char*>(bytes.data());  // sendmsg reads it only
  parts_[count_].iov_len = bytes.size();
  ++count_;
  bytes_ += bytes.size();
}

IoResult Parts::transmit(int fd, std::span<char> scratch) const noexcept {
  constexpr std::size_t kJoin = 2 << 10;
  if (count_ == 1) return net::transmit(fd, {static_cast<const char*>(parts_[0].iov_base), bytes_});
  if (bytes_ > kJoin) return net::transmit(fd, span());
  std::size_t at = 0;
  for (const iovec& part : span()) {
    std::memcpy(scratch.data() + at, part.iov_base, part.iov_len);
    at += part.iov_len;
  }
  return net::transmit(fd, {scratch.data(), at});
}

void Parts::add_body(Framing framing, std::string_view data, bool last) noexcept {
  if (framing != Framing::chunked) return add(data);
  if (!data.empty()) {
    add({chunk_head_.data(), net::write_chunk_head(chunk_head_, data.size())});
    add(data);
    add(net::kChunkEnd);
  }
  if (last) add(net::kLastChunk);
}

}  // namespace weir::net
