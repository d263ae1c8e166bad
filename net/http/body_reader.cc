#include "net/http/body_reader.h"

#include <algorithm>
#include <cstring>

namespace weir::net {

void BodyReader::start(Framing framing, std::uint64_t length, const ChunkLimits& limits) noexcept {
  framing_ = framing;
  left_ = framing == Framing::length ? length : 0;
  done_ = framing == Framing::none || (framing == Framing::length && length == 0);
  if (framing == Framing::chunked) chunks_ = ChunkedDecoder(limits);
}

BodyReader::Piece BodyReader::take(std::span<char> raw) noexcept {
  Piece piece;
  if (done_ || raw.empty()) return piece;
  if (framing_ == Framing::chunked) {
    std::size_t kept = 0;
    while (piece.used < raw.size() && !chunks_.done()) {
      const auto step = chunks_.next({raw.data() + piece.used, raw.size() - piece.used});
      if (step.refusal != HttpRefusal::none) {
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

}  // namespace weir::net
