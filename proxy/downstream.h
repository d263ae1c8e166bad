#pragma once

#include <cstdint>

#include "net/http/client_connection.h"
#include "proxy/context.h"
#include "proxy/eviction.h"

namespace weir::proxy {

using net::for_one_turn;
using net::kReadMore;
using net::kTurnBytes;

/// The client's half of a session: its connection, with the notes on its request and the purposes
/// of its deadline. Used by one worker's thread.
class Downstream : public net::ClientConnection {
 protected:
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

  explicit Downstream(Context& context) noexcept : ClientConnection(context), ctx_(context) {}
  ~Downstream() = default;

  /// Sets what the client is waited for, and until when; while bytes for the client wait, the
  /// deadline is that of their departure.
  void expect(Phase phase, milliseconds within) noexcept {
    if (!out_.empty()) [[unlikely]]
      return;
    phase_ = phase;
    arm(within);
  }
  /// ClientEnd::send()
  bool send(const Parts& parts) {
    if (parts.empty()) return true;
    if (notes_ != nullptr) notes_->gave(parts.size());
    if (!ClientConnection::send(parts)) return false;
    // If the client has taken nothing, the write deadline runs, and took_some() sets this later.
    progress_ = true;
    return true;
  }
  void expect_write() noexcept final;
  void took_some() noexcept final;
  void make_room() final { proxy::make_room(ctx_); }

  Phase phase_ = Phase::head;
  bool progress_ : 1 = false;
  bool counted_ : 1 = false;  // among the connections of its address
  Context& ctx_;
  Notes* notes_ = nullptr;  // of the request that is under way; null: none is
};

}  // namespace weir::proxy
