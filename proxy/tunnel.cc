#include "proxy/tunnel.h"

#include <sys/socket.h>

namespace weir::proxy {

void Tunnel::begin_tunnel(std::span<char> first) {
  state_ = State::tunnelling;
  notes_->tunnels();
  up_shut_ = down_shut_ = false;
  lines_.clear();
  tap_.clear();
  tapping_ = false;
  Parts parts;
  parts.add({first.data(), first.size()});
  if (!send(parts)) return;
  upstream_->in.clear();
  expect(Phase::tunnel, ctx_.settings.tunnel);
}

void Tunnel::tunnel() {
  if (!tunnel_up() || !tunnel_down()) return;
  if (up_shut_ && down_shut_ && !send_put_off()) return;
  if (up_shut_ && down_shut_ && out_.empty() && upstream_->all_sent()) {
    finish(gate::End::complete);
    return close();
  }
  if (!progress_) return;
  progress_ = false;
  // After both ends, only the app's taking of the last bytes is waited for. A client that takes
  // none has the deadline for that, whatever it sends.
  const bool ends = up_shut_ && down_shut_;
  expect(Phase::tunnel, ends ? ctx_.settings.write : ctx_.settings.tunnel);
}

// From the client to the app. False: the session is closed.
bool Tunnel::tunnel_up() {
  for (std::size_t taken = 0; !up_shut_ && upstream_->writable();) {
    Parts parts;
    if (!in_.empty()) {
      parts.add(in_.view());
      upstream_->send(parts);
      notes_->took(parts.size());
      in_.clear();
      progress_ = true;
      continue;
    }
    if (!readable_) break;
    if (taken >= kTurnBytes) {
      look_again();
      break;
    }
    const std::span<char> scratch = for_one_turn(ctx_.worker.scratch_in());
    const net::IoResult result = net::receive(fd_.get(), scratch);
    if (result.bytes == 0) {
      readable_ = false;
      if (result.would_block) break;
      if (!result.ended) {
        client_gone();
        return false;
      }
      up_shut_ = progress_ = true;
      upstream_->shutdown_write();
      break;
    }
    if (result.bytes < scratch.size() && !peer_ended_) readable_ = false;
    taken += result.bytes;
    parts.add({scratch.data(), result.bytes});
    upstream_->send(parts);
    notes_->took(parts.size());
    progress_ = true;
  }
  return true;
}

// From the app to the client. False: the session is closed.
bool Tunnel::tunnel_down() {
  for (std::size_t taken = 0; !down_shut_ && out_.empty() && upstream_->readable();) {
    if (taken >= kTurnBytes) {
      upstream_->look_again();
      break;
    }
    const std::span<char> scratch = for_one_turn(upstream_->scratch_in());
    const net::IoResult result = upstream_->receive(scratch);
    if (result.bytes == 0) {
      if (result.would_block) break;
      if (!result.ended || upstream_->broken()) {
        finish(gate::End::complete);
        net::set_abort_on_close(fd_.get());
        close();
        return false;
      }
      if (!send_put_off()) return false;
      if (!out_.empty()) break;  // the end comes after the unsent bytes
      down_shut_ = progress_ = true;
      ::shutdown(fd_.get(), SHUT_WR);
      break;
    }
    taken += result.bytes;
    Parts parts;
    parts.add({scratch.data(), result.bytes});
    if (!send(parts)) return false;
  }
  return true;
}

}  // namespace weir::proxy
