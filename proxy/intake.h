#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "gate/judge.h"
#include "proxy/tunnel.h"

namespace weir::proxy {

/// The request as it comes in: its head, its body as far as a policy reads it, the judgement, and
/// the effect: the exchange with the app, a wait, or an answer of our own,
/// after which the rest of the body is thrown away.
class Intake : public Tunnel, protected gate::Waiter {
 protected:
  explicit Intake(Context& context) noexcept : Tunnel(context) {}
  ~Intake() = default;

  bool drain_body() final;
  /// Judges the request that is kept in in_: its body is there, or its wait is over.
  bool judge_kept(bool may_wait);
  void expect_body(std::size_t received) noexcept;
  void expect_release() noexcept;  ///< of a held request
  /// The `delay` is over, or its client has left.
  void release_held(bool client_left);
  /// Before an unjudged request ends: fills the access log fields from its head, if the head is
  /// kept. Does nothing in every other state.
  void note_unjudged() noexcept;
  void refuse(net::HttpRefusal refusal) final;
  void reply_problem(int status, std::string_view lines = {}) final;

 private:
  bool judge_body() final;
  void on_body_bytes() noexcept final { expect_body(in_.size()); }
  // Each takes the bytes from the head on, and returns how many of them are dealt with.
  std::size_t on_head(std::span<char> input) final;
  std::size_t judge(Request& request, std::span<char> input, bool may_wait);
  std::size_t hold(const gate::Decision& decision);
  bool want_body(Request& request, std::span<char> input);
  void reply(LocalAnswer answer);
  void begin_draining() final;
};

}  // namespace weir::proxy
