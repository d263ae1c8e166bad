#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace weir::net {

/// An object whose writes may be delayed.
class Sender {
 public:
  /// Writes the delayed bytes, in order. They are not valid after the call.
  virtual void send_now(std::string_view bytes) = 0;

 protected:
  ~Sender() = default;
};

/// Small writes of a batch of events, put off until the whole batch has been handled: the kernel's
/// send path then runs back to back, and neither it nor our own code is thrown out of the
/// instruction cache by the other with every request (Cisco's VPP calls it a vector). Not
/// thread-safe. Before a sender is destroyed or closed, call forget() or flush(sender).
class Outbox {
 public:
  static constexpr std::size_t kWriteMax = 2 << 10;  ///< of one write; copying more costs too much
  static constexpr std::size_t kWrites = 128;        ///< at a time

  Outbox();

  /// Copies the write. False: the write is too large, or there is no room. Then call flush(sender)
  /// for its pending output, and send the write directly.
  bool put(Sender& sender, std::span<const iovec> parts, std::size_t bytes) noexcept;
  bool flush();                ///< everything, also later additions; false: there was nothing
  void flush(Sender& sender);  ///< pending output of one sender, before its later writes
  void forget(Sender& sender) noexcept;

 private:
  struct Write {
    Sender* sender;  ///< null: done, or forgotten
    std::uint32_t begin, size;
  };
  static constexpr std::size_t kRoom = 64 << 10;

  std::string_view bytes_of(const Write& write) const noexcept {
    return {room_->data() + write.begin, write.size};
  }

  std::unique_ptr<std::array<char, kRoom>> room_;
  std::array<Write, kWrites> writes_;
  std::size_t count_ = 0;
  std::size_t used_ = 0;
  bool flushing_ = false;
};

}  // namespace weir::net
