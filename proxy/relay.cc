#include "proxy/relay.h"

#include <algorithm>
#include <cstring>

#include "core/assert.h"

namespace weir::proxy {

using net::Framing;

void BodyReader::start(Framing framing, std::uint64_t length,
                       const net::ChunkLimits& limits) noexcept {
  framing_ = framing;
  left_ = framing == Framing::length ? length : 0;
  done_ = framing == Framing::none || (framing == Framing::length && length == 0);
  if (framing == Framing::chunked) chunks_ = net::ChunkedDecoder(limits);
}

BodyReader::Piece BodyReader::take(std::span<char> raw) noexcept {
  Piece piece;
  if (done_ || raw.empty()) return piece;
  if (framing_ == Framing::chunked) {
    std::size_t kept = 0;
    while (piece.used < raw.size() && !chunks_.done()) {
      const auto step = chunks_.next({raw.data() + piece.used, raw.size() - piece.used});
      if (step.refusal != net::HttpRefusal::none) {
        piece.refusal = step.refusal;
        return piece;
      }
      if (!step.data.empty()) {
        if (raw.data() + kept != step.data.data()) {
          std::memmove(raw.data() + kept, step.data.data(), step.data.size());
        }
        kept += step.data.size();
      }
      piece.used += step.used;
    }
    piece.data = {raw.data(), kept};
    done_ = chunks_.done();
    return piece;
  }
  piece.used = raw.size();
  if (framing_ == Framing::length) {
    piece.used = static_cast<std::size_t>(std::min<std::uint64_t>(left_, raw.size()));
    left_ -= piece.used;
    done_ = left_ == 0;
  }
  piece.data = {raw.data(), piece.used};
  return piece;
}

void BodyReader::end() noexcept {
  if (framing_ == Framing::until_close) done_ = true;
}

void Parts::add(std::string_view bytes) noexcept {
  if (bytes.empty()) return;
  WEIR_ASSERT(count_ < parts_.size());
  parts_[count_].iov_base = const_cast<char*>(bytes.data());  // sendmsg reads it only
  parts_[count_].iov_len = bytes.size();
  ++count_;
  bytes_ += bytes.size();
}

net::IoResult Parts::transmit(int fd, std::span<char> scratch) const noexcept {
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

}  // namespace weir::proxy
