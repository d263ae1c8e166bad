#include "net/grpc/deflater.h"

#include <zlib.h>

#include <string>

namespace weir::net::grpc {

struct Deflater::State {
  z_stream stream{};
  std::string out;
  bool ready = false;
  ~State() {
    if (ready) deflateEnd(&stream);
  }
};

Deflater::Deflater() noexcept = default;
Deflater::~Deflater() = default;

std::optional<std::string_view> Deflater::gzip(std::string_view plain) {
  constexpr int kGzip = 16;
  constexpr int kMemory = 8;
  if (state_ == nullptr) state_ = std::make_unique<State>();
  z_stream& stream = state_->stream;
  if (!state_->ready) {
    state_->ready = deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, MAX_WBITS + kGzip, kMemory,
                                 Z_DEFAULT_STRATEGY) == Z_OK;
    if (!state_->ready) return std::nullopt;
  } else {
    deflateReset(&stream);
  }
  std::string& out = state_->out;
  out.resize(deflateBound(&stream, static_cast<uLong>(plain.size())));
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(plain.data()));
  stream.avail_in = static_cast<uInt>(plain.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) return std::nullopt;
  return std::string_view(out).substr(0, stream.total_out);
}

}  // namespace weir::net::grpc
