#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weir::replay {

/// The bytes of a file, decompressed as they are read: gzip and zstd (also several frames one after
/// the other) are known by their first bytes, everything else is taken as it is. Memory is bounded
/// whatever the file holds. `-` is the standard input. Not thread-safe.
class Input {
 public:
  explicit Input(const std::string& path);
  ~Input();
  Input(const Input&) = delete;
  Input& operator=(const Input&) = delete;

  /// Up to into.size() bytes; 0: the end, or an error (then error() says which).
  std::size_t read(std::span<char> into);
  const std::string& error() const noexcept { return error_; }   ///< empty: none
  std::uint64_t consumed() const noexcept { return consumed_; }  ///< of the file as it is stored
  std::uint64_t size() const noexcept { return size_; }          ///< 0: not known

  class Decoder;

 private:
  bool fill();
  std::size_t read_raw(std::span<char> into);
  bool find_frame();
  void look_at_magic();

  int fd_ = -1;
  std::string error_;
  std::uint64_t consumed_ = 0, size_ = 0;
  std::unique_ptr<char[]> raw_;
  std::size_t raw_begin_ = 0, raw_end_ = 0;
  bool raw_ended_ = false, started_ = false, frame_open_ = false;
  std::unique_ptr<Decoder> decoder_;  // null: plain
};

}  // namespace weir::replay
