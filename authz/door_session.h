#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "authz/answer.h"
#include "authz/door_context.h"
#include "net/bytes.h"
#include "net/connection_list.h"
#include "net/fd.h"
#include "net/http/client_connection.h"

namespace weir::authz {

/// One connection of a proxy that asks over HTTP, and the check in progress on it, which
/// net::ClientConnection calls a request. A connection whose first request is for no door is handed
/// over; a body that no policy reads is drained.
///
/// Keeps bytes only while a check is incomplete or waits, or a write was short. Lives on one
/// worker, in its pool of sessions; not thread-safe.
class DoorSession final : net::ClientConnection, gate::Waiter {
 public:
  explicit DoorSession(DoorContext& context) noexcept : ClientConnection(context), ctx_(context) {}

  void open(net::Fd fd, const Address& peer);
  void stop_if_idle();  ///< no further check will be taken
  void abort();         ///< cuts the check in progress
  /// Closes it if it has neither a check that is whole nor an answer on its way. False: it is not
  /// closed.
  bool recycle();
  bool is_lingering() const noexcept { return state_ == State::lingering; }

 private:
  friend net::ConnectionList<DoorSession>;

  // The connection.
  void take_timer() override;
  /// For a head, from its first byte on.
  milliseconds head_time() const noexcept;
  void expect_by(TimePoint deadline) noexcept;
  void expect_by_state() noexcept override;
  void expect_write() noexcept override;
  bool send(std::string_view bytes);  // false: the session is closed
  void drop_request() override { kept_.clear(); }
  void client_gone() override;
  void close() override;
  bool hand_over(std::string_view input);
  void out_of_memory() noexcept override;

  // A check.
  std::size_t on_head(std::span<char> input) override;
  void refuse(net::HttpRefusal refusal) override;
  bool judge_body() override;
  bool drain_body() override;
  bool judge_kept(bool may_wait);
  std::size_t judge(Request& request, std::size_t size, bool may_wait);
  void resume(TimePoint now) override;
  void append_pass(const Effect& effect, const gate::Unsettled::Id* id);
  void wait_for_others() noexcept;
  void hold(const Effect& effect);
  void release_held();
  bool read_deadline(const net::RequestHead& check) noexcept;
  AnswerFrame frame() noexcept;
  void answer(std::string_view bytes);
  void problem(int status, std::string_view detail);
  void next_check();

  DoorContext& ctx_;
  TimePoint deadline_{};  // until which its caller waits; max: unknown
  TimePoint held_until_{};
  Address peer_;
  const Door* door_ = nullptr;
  gate::Ticket* ticket_ = nullptr;  // while held
  net::ConnectionLink<DoorSession> link_;
  net::Bytes kept_;
};

}  // namespace weir::authz
