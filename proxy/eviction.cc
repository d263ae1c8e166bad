// What a session does when its worker's buffers are short, and when there is no memory at all.
#include <algorithm>
#include <tuple>

#include "proxy/session.h"

namespace weir::proxy {

using telemetry::Metric;

std::size_t Session::held_bytes() const noexcept {
  std::size_t held = in_.held() + out_.held() + kept_.held() + lines_.held() + tap_.held();
  if (upstream_ != nullptr) held += upstream_->held();
  return held;
}

// Unfinished requests first: nothing has been judged or passed on for them. Then what nobody waits
// for, then clients that do not read, then the others.
int Session::eviction_rank() const noexcept {
  if (state_ == State::reading_on) return 1;
  if (!out_.empty()) return 2;
  return state_ == State::reading_head || state_ == State::reading_body ? 0 : 3;
}

// Called before an event is dealt with, when no session is in the middle of a step.
void Session::make_room() {
  net::BlockPool& blocks = ctx_.worker.blocks();
  std::vector<Session*>& all = ctx_.evictable;
  all.clear();
  for (Session* s = ctx_.open; s != nullptr; s = s->next_open_) {
    if (s->held_bytes() != 0) all.push_back(s);
  }
  std::sort(all.begin(), all.end(), [](const Session* a, const Session* b) {
    return std::make_tuple(a->eviction_rank(), a->time_) <
           std::make_tuple(b->eviction_rank(), b->time_);
  });
  for (Session* s : all) {
    if (blocks.in_use() <= blocks.low_water()) return;
    s->evict();  // may close others, which stay in memory until the end of the turn
  }
}

void Session::evict() {
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::limit_buffers);
  switch (eviction_rank()) {
    case 0:
      if (state_ == State::reading_head) {
        body_.start(net::Framing::until_close, 0, ctx_.settings.chunks);  // more may come: linger
        is_head_ = false;
      }
      keep_alive_ = false;
      reply_problem(503, kRetryAfter);
      if (state_ != State::closed) in_.clear();
      return;
    case 1:
      return end_reading_on(false);
    default:
      net::set_abort_on_close(fd_.get());
      return client_gone();
  }
}

// Ends this connection, and nothing else.
void Session::out_of_memory() noexcept {
  if (state_ == State::closed) return;
  ctx_.metrics.add(Metric::connections_failed);
  try {
    return abort();
  } catch (const std::exception&) {  // settling may want memory, too
  }
  try {
    finish(gate::End::complete);
  } catch (const std::exception&) {
  }
  close();
}

}  // namespace weir::proxy
