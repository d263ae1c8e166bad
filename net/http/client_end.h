#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/no_memory.h"
#include "net/bytes.h"
#include "net/fd.h"
#include "net/http/parts.h"
#include "net/outbox.h"
#include "net/reactor.h"
#include "net/turn.h"
#include "net/worker_pool.h"

namespace weir::net {

inline constexpr std::size_t kReadMore = 4 << 10;  ///< room for bytes after those that are kept

/// The state that the client ends of one door and worker share. It must outlive them.
struct ClientShare {
  Worker& worker;
  BlockPool& blocks;  ///< of the bytes that they keep
};

/// Our end of a client's connection: its socket, received bytes that are not processed yet, bytes
/// that are not sent yet, and the current deadline. This class reads and writes. A derived class
/// gives a meaning to the bytes, through the virtual functions at the end. Owns the socket; lives
/// on one worker, not thread-safe.
class ClientEnd : protected EventHandler, protected Timer, Sender {
 protected:
  explicit ClientEnd(ClientShare& share) noexcept : share_(share) {}
  ~ClientEnd() = default;

  void start(Fd fd) noexcept;  ///< of another client than before
  bool watch() noexcept;       ///< its events come from now on; false: the kernel has no memory
  bool is_open() const noexcept { return static_cast<bool>(fd_); }

  /// Sets the deadline of the state. While the client does not take its bytes, it keeps the
  /// deadline for that, of expect_write(): expect_by_state() sets the other one when it has taken
  /// them.
  void expect(milliseconds within) noexcept {
    if (out_.empty()) [[likely]]
      arm(within);
  }
  void expect_nothing() noexcept;  ///< the state has no deadline
  void arm(milliseconds within) noexcept {
    share_.worker.wheel().arm(*this, share_.worker.now() + within);
  }

  /// 0: nothing now, or client_ended() or client_gone() has been called.
  std::size_t receive(std::span<char> into);
  /// An event in the next round, in which there may still be something to read.
  void look_again() noexcept { share_.worker.reactor().go_on_later(*this); }
  bool has_unread_bytes() const;  ///< the client has sent bytes that are not read yet

  bool send(const Parts& parts);  ///< at the end of the batch; false: it is closed
  bool send_put_off();            ///< now; false: it is closed
  void forget_put_off() noexcept;
  bool flush();  ///< sends bytes left from before; false: it is closed

  /// Every way in leads through here: without memory this connection ends.
  template <class Step>
  void guarded(Step step) noexcept {
    const bool done = survives_no_memory([&] {
      if (share_.blocks.is_short()) [[unlikely]]
        make_room();
      step();
    });
    if (!done) [[unlikely]]
      out_of_memory();
  }

  virtual void client_ended() = 0;  ///< it has closed its side, and all its bytes are read
  virtual void client_gone() = 0;   ///< its connection is broken
  virtual void out_of_memory() noexcept = 0;
  virtual void expect_write() noexcept = 0;     ///< arm() for the client to take bytes
  virtual void expect_by_state() noexcept = 0;  ///< the client has taken all its bytes
  virtual void took_some() noexcept {}          ///< the client has taken some of them
  virtual void make_room() {}  ///< buffers are short, and nothing is under way on this worker

  ClientShare& share_;
  Bytes in_;   // received and not yet dealt with
  Bytes out_;  // not yet taken by the client
  Fd fd_;
  std::uint8_t put_off_ = 0;  // writes in the outbox
  bool readable_ : 1 = false;
  bool peer_ended_ : 1 = false;  // its end has been announced, perhaps after unread bytes
  bool watching_writable_ : 1 = false;

 private:
  bool write(const Parts& parts);
  void send_now(std::string_view bytes) override;
  void await_writable() noexcept;
  void watch_writable(bool yes) noexcept;
};

static_assert(Outbox::kWrites <= 255, "put_off_ counts them in a byte");

}  // namespace weir::net
