#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>

#include "net/bytes.h"
#include "net/fd.h"
#include "net/http/parts.h"
#include "net/outbox.h"
#include "net/reactor.h"
#include "net/turn.h"
#include "proxy/context.h"
#include "proxy/eviction.h"

namespace weir::proxy {

using net::for_one_turn;
using net::kTurnBytes;
inline constexpr std::size_t kReadMore = 4 << 10;

/// The client's end of a session: its socket, received bytes that are not processed yet, bytes that
/// are not sent yet, and the current deadline. This class reads and writes. The session gives a
/// meaning to the bytes, through the virtual functions at the end. Used by one worker's thread.
class Downstream : protected net::EventHandler, protected net::Timer, net::Sender {
 protected:
  /// The state of the session.
  enum class State : std::uint8_t {
    closed,
    reading_head,
    reading_body,  ///< a policy reads the body: buffer it, then judge
    parked,  ///< waits for the shared store, or for others' reservations: then it is judged again
    held,    ///< delayed
    exchanging,
    reading_on,  ///< the client has left; a policy still reads what is left of the answer
    tunnelling,
    draining,   ///< answered locally; the rest of the request's body is thrown away
    closing,    ///< the last bytes are on their way out
    lingering,  ///< our side is shut; the client may still be sending
  };
  /// The purpose of the deadline.
  enum class Phase : std::uint8_t {
    head,
    idle,
    body,
    connect,
    answer,
    read_on,
    write,
    tunnel,
    linger,
    hold
  };

  explicit Downstream(Context& context) noexcept : ctx_(context) {}
  ~Downstream() = default;

  /// Sets the deadline of the state. While the client does not take its bytes, it keeps the
  /// deadline for that, Phase::write: expect_by_state() sets the other one when it has taken them.
  void expect(Phase phase, milliseconds within) noexcept;
  void expect_nothing() noexcept;  ///< the state has no deadline
  void expect_write() noexcept { arm(Phase::write, ctx_.settings.write); }
  /// 0: nothing now, or the session has changed its state.
  std::size_t receive(std::span<char> into);
  /// An event in the next round, in which there may still be something to read.
  void look_again() noexcept;
  bool send(const Parts& parts);  ///< at the end of the batch; false: the session is closed
  bool send_put_off();            ///< now; false: the session is closed
  void forget_put_off() noexcept;
  bool write(const Parts& parts);  ///< now; false: the session is closed
  bool flush();                    ///< sends bytes left from before; false: the session is closed
  void await_writable() noexcept;
  void watch_writable(bool yes) noexcept;

  /// Every way into a session leads through here: what fails for want of memory ends the session.
  template <class Step>
  void guarded(Step step) noexcept {
    try {
      if (ctx_.worker.blocks().is_short()) [[unlikely]]
        make_room(ctx_);
      step();
    } catch (const std::bad_alloc&) {
      out_of_memory();
    } catch (const std::length_error&) {
      out_of_memory();
    }
  }

  virtual void client_ended() = 0;  ///< it has closed its side, and all its bytes are read
  virtual void client_gone() = 0;   ///< its connection is broken
  virtual void out_of_memory() noexcept = 0;
  virtual void expect_by_state() = 0;  ///< the client has taken all its bytes

  Context& ctx_;
  net::Fd fd_;
  State state_ = State::closed;
  Phase phase_ = Phase::head;
  bool readable_ : 1 = false;
  bool peer_ended_ : 1 = false;  // its end has been announced, perhaps behind unread bytes
  bool watching_writable_ : 1 = false;
  bool progress_ : 1 = false;
  bool counted_ : 1 = false;  // among the connections of its address
  std::uint8_t put_off_ = 0;  // writes in the outbox
  Notes* notes_ = nullptr;    // of the request that is under way; null: none is
  net::Bytes in_;             // received and not yet dealt with
  net::Bytes out_;            // not yet taken by the client

 private:
  void send_now(std::string_view bytes) override;
  void arm(Phase phase, milliseconds within) noexcept;
};

static_assert(net::Outbox::kWrites <= 255, "put_off_ counts them in a byte");

}  // namespace weir::proxy
