#include "replay/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace weir::replay {
namespace {

constexpr std::size_t kRaw = 256 << 10;

}  // namespace

/// Takes compressed bytes and gives plain ones.
class Input::Decoder {
 public:
  virtual ~Decoder() = default;
  enum class State { going, frame_ended, broken };
  /// Advances `from` and `to` past what it took and gave.
  virtual State decode(std::span<const char>& from, std::span<char>& to) = 0;
  virtual void restart() = 0;
  virtual std::string_view name() const = 0;
  /// Zeros after a frame, with which tapes and blocks are filled up, mean nothing.
  virtual bool padded() const { return false; }
};

namespace {

class Gzip final : public Input::Decoder {
 public:
  Gzip() { ok_ = ::inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Gzip() override {
    if (ok_) ::inflateEnd(&stream_);
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;

  State decode(std::span<const char>& from, std::span<char>& to) override {
    if (!ok_) return State::broken;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(from.data()));
    stream_.avail_in = static_cast<uInt>(from.size());
    stream_.next_out = reinterpret_cast<Bytef*>(to.data());
    stream_.avail_out = static_cast<uInt>(to.size());
    const int result = ::inflate(&stream_, Z_NO_FLUSH);
    from = from.last(stream_.avail_in);
    to = to.last(stream_.avail_out);
    if (result == Z_STREAM_END) return State::frame_ended;
    return result == Z_OK || result == Z_BUF_ERROR ? State::going : State::broken;
  }
  void restart() override { ok_ = ::inflateReset(&stream_) == Z_OK; }
  std::string_view name() const override { return "gzip"; }
  bool padded() const override { return true; }  // as gzip(1) takes them

 private:
  z_stream stream_{};
  bool ok_ = false;
};

class Zstd final : public Input::Decoder {
 public:
  Zstd() : stream_(::ZSTD_createDStream()) {
    // A frame may ask for gigabytes of history; 128 MiB is what the command line tool takes too.
    if (stream_ != nullptr) ::ZSTD_DCtx_setParameter(stream_, ZSTD_d_windowLogMax, 27);
  }
  ~Zstd() override { ::ZSTD_freeDStream(stream_); }
  Zstd(const Zstd&) = delete;
  Zstd& operator=(const Zstd&) = delete;

  State decode(std::span<const char>& from, std::span<char>& to) override {
    if (stream_ == nullptr) return State::broken;
    ZSTD_inBuffer in{from.data(), from.size(), 0};
    ZSTD_outBuffer out{to.data(), to.size(), 0};
    const std::size_t result = ::ZSTD_decompressStream(stream_, &out, &in);
    from = from.subspan(in.pos);
    to = to.subspan(out.pos);
    if (::ZSTD_isError(result) != 0) return State::broken;
    return result == 0 ? State::frame_ended : State::going;
  }
  void restart() override { ::ZSTD_DCtx_reset(stream_, ZSTD_reset_session_only); }
  std::string_view name() const override { return "zstd"; }

 private:
  ZSTD_DStream* stream_;
};

}  // namespace

Input::Input(const std::string& path) : raw_(std::make_unique<char[]>(kRaw)) {
  fd_ = path == "-" ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status {};
  if (fd_ < 0) {
    error_ = std::strerror(errno);
  } else if (::fstat(fd_, &status) == 0) {
    if (S_ISDIR(status.st_mode)) error_ = "it is a directory";
    if (S_ISREG(status.st_mode)) size_ = static_cast<std::uint64_t>(status.st_size);
  }
}

Input::~Input() {
  if (fd_ >= 0) ::close(fd_);
}

/// Reads more raw bytes after those that are there. False: there are none.
bool Input::fill() {
  if (raw_begin_ > 0) {
    std::memmove(raw_.get(), raw_.get() + raw_begin_, raw_end_ - raw_begin_);
    raw_end_ -= raw_begin_;
    raw_begin_ = 0;
  }
  const std::size_t got = read_raw({raw_.get() + raw_end_, kRaw - raw_end_});
  raw_end_ += got;
  return got != 0;
}

/// Bytes as the file holds them. 0: there are none, or no room.
std::size_t Input::read_raw(std::span<char> into) {
  while (!raw_ended_ && !into.empty()) {
    const ssize_t got = ::read(fd_, into.data(), into.size());
    if (got > 0) {
      consumed_ += static_cast<std::uint64_t>(got);
      return static_cast<std::size_t>(got);
    }
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error_ = std::strerror(errno);
    raw_ended_ = true;
  }
  return 0;
}

void Input::look_at_magic() {
  started_ = true;
  while (raw_end_ < 4 && fill()) {
  }
  const auto starts = [&](std::string_view magic) {
    return std::string_view(raw_.get(), raw_end_).starts_with(magic);
  };
  if (starts("\x1f\x8b")) decoder_ = std::make_unique<Gzip>();
  if (starts("\x28\xb5\x2f\xfd")) decoder_ = std::make_unique<Zstd>();
}

/// Between frames: whether another one follows, after any padding.
bool Input::find_frame() {
  do {
    while (decoder_->padded() && raw_begin_ < raw_end_ && raw_[raw_begin_] == '\0') ++raw_begin_;
    if (raw_begin_ < raw_end_) return true;
  } while (fill());
  return false;
}

std::size_t Input::read(std::span<char> into) {
  if (!error_.empty() || into.empty()) return 0;
  if (!started_) look_at_magic();
  if (!decoder_) {
    if (raw_begin_ == raw_end_) return read_raw(into);  // nothing is left of the first look
    const std::size_t size = std::min(into.size(), raw_end_ - raw_begin_);
    std::memcpy(into.data(), raw_.get() + raw_begin_, size);
    raw_begin_ += size;
    return size;
  }
  std::span<char> to = into;
  while (to.size() == into.size()) {
    if (!frame_open_ && !find_frame()) break;
    const bool dry = raw_begin_ == raw_end_ && !fill();
    if (!error_.empty()) break;
    std::span<const char> from(raw_.get() + raw_begin_, raw_end_ - raw_begin_);
    frame_open_ = true;
    const Decoder::State state = decoder_->decode(from, to);
    raw_begin_ = raw_end_ - from.size();
    if (state == Decoder::State::broken) {
      error_ = "damaged " + std::string(decoder_->name()) + " data";
      break;
    }
    if (state == Decoder::State::frame_ended) {
      frame_open_ = false;
      decoder_->restart();
    } else if (dry && to.size() == into.size()) {
      error_ = "the " + std::string(decoder_->name()) + " data end in the middle";
      break;
    }
  }
  return into.size() - to.size();
}

}  // namespace weir::replay
