#pragma once

#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>
#include <string_view>

#include "authz/answer.h"
#include "authz/door_context.h"
#include "net/bytes.h"
#include "net/fd.h"
#include "net/http/body_reader.h"
#include "net/outbox.h"
#include "net/reactor.h"

namespace weir::authz {

/// One connection of a proxy that asks over HTTP, and the check that is under way on it.
///
///     reading_head -> [reading_body] -> judge -> answer -> [discarding] -> reading_head ...
///                                         |  \-> parked, held -> answer
///     any -> closing -> lingering -> closed;  reading_head -> handed over
///
/// Keeps bytes only while a check is incomplete or waits, or a write was short. Lives on one
/// worker, in its pool of sessions; not thread-safe.
class DoorSession final : net::EventHandler, net::Timer, net::Sender, gate::Waiter {
 public:
  explicit DoorSession(DoorContext& context) noexcept : ctx_(context) {}

  void open(net::Fd fd, const Address& peer);
  void run_resumed();   ///< goes on after resume(); for the end of a turn
  void stop_if_idle();  ///< no further check will be taken
  void abort();         ///< whatever is under way is cut
  /// Closes it if it has neither a check that is whole nor an answer on its way. False: it is not
  /// closed.
  bool recycle();
  bool is_lingering() const noexcept { return state_ == State::lingering; }
  DoorSession* next_open() const noexcept { return next_open_; }

 private:
  friend class DoorServer;
  enum class State : std::uint8_t {
    closed,
    reading_head,
    reading_body,
    parked,      ///< waits for others' reservations, or for the shared store
    held,        ///< delayed; its answer is in kept_
    discarding,  ///< answered; the rest of the check's body is thrown away
    closing,     ///< the last bytes are on their way out
    lingering,   ///< our side is shut; the caller may still be sending
  };

  // The connection.
  void on_events(std::uint32_t events) override;
  void take_events(std::uint32_t events);
  int reads_ahead() const noexcept override;
  void on_timer(TimePoint now) override;
  void take_timer();
  void send_now(std::string_view bytes) override;
  void advance();
  std::size_t receive(std::span<char> into);
  /// Sets the deadline of the state. While the caller does not take its answers, it keeps the
  /// deadline for that: expect_by_state() sets the other one when it has taken them.
  void expect(milliseconds within) noexcept;
  void expect_by(TimePoint deadline) noexcept;
  void expect_by_state() noexcept;
  bool send(std::string_view bytes);  // false: the session is closed
  bool flush();
  void watch_writable(bool yes) noexcept;
  void begin_close();
  void finish_close();
  void discard_input();
  void caller_gone();
  void close();
  void unlink() noexcept;
  void link_newest() noexcept;
  bool hand_over(std::string_view input);

  // A check.
  bool read_head();
  std::size_t take_checks(std::span<char> input);
  std::size_t on_head(std::span<char> input);
  void lose_track() noexcept;
  bool read_body();
  bool take_body();
  bool judge_kept(bool may_wait);
  std::size_t judge(Request& request, std::size_t size, bool may_wait);
  void resume(TimePoint now) override;
  void wait_for_others();
  void hold(const Effect& effect);
  void release_held();
  bool read_deadline(const net::RequestHead& check) noexcept;
  AnswerFrame frame() noexcept;
  void answer(std::string_view bytes);
  void problem(int status, std::string_view detail);
  void next_check();
  /// Every way into a session leads through here: what fails for want of memory ends the session.
  template <class Step>
  void guarded(Step step) noexcept {
    try {
      step();
    } catch (const std::bad_alloc&) {
      out_of_memory();
    } catch (const std::length_error&) {
      out_of_memory();
    }
  }
  void out_of_memory() noexcept;

  DoorContext& ctx_;
  net::Fd fd_;
  State state_ = State::closed;
  bool readable_ : 1 = false;
  bool peer_ended_ : 1 = false;
  bool watching_writable_ : 1 = false;
  bool starved_ : 1 = false;  // the kept bytes are not a complete head
  bool served_ : 1 = false;
  bool head_begun_ : 1 = false;
  bool resumed_ : 1 = false;
  bool http_1_0_ : 1 = false;
  bool keep_alive_ : 1 = false;
  bool is_head_ : 1 = false;
  bool wants_body_ : 1 = false;  // a policy reads it
  BodyState body_state_ = BodyState::not_read;
  std::uint8_t put_off_ = 0;  // writes in the outbox
  std::uint32_t head_bytes_ = 0;
  std::size_t decoded_ = 0;  // body bytes behind the head in in_
  std::size_t discarded_ = 0;
  net::BodyReader body_;
  net::HeadProgress progress_;
  TimePoint time_{};      // of the check
  TimePoint deadline_{};  // until which its caller waits; max: unknown
  TimePoint held_until_{};
  Address peer_;
  const Door* door_ = nullptr;
  gate::Ticket* ticket_ = nullptr;  // while held
  DoorSession* next_resumed_ = nullptr;
  DoorSession* previous_open_ = nullptr;
  DoorSession* next_open_ = nullptr;  // also links retired and free sessions
  net::Bytes in_, out_, kept_;
};

}  // namespace weir::authz
