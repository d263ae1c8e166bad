// A check on its way from its head to the answer.
#include <algorithm>
#include <cstring>

#include "authz/door_session.h"
#include "authz/hold.h"
#include "core/chars/parse.h"
#include "gate/judging.h"
#include "net/http/content_coding.h"

namespace weir::authz {
namespace {

using telemetry::Metric;

// After the answer, the rest of a body up to this size is read and thrown away.
constexpr std::size_t kDrainBytes = 4 << 20;
// An answer is to be with its caller before it stops waiting: this much earlier, or an eighth.
constexpr milliseconds kMargin{20};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

std::size_t DoorSession::on_head(std::span<char> input) {
  const net::RequestHead& check = ctx_.request;
  time_ = ctx_.worker.now();
  http_1_0_ = check.http_1_0;
  keep_alive_ = check.keep_alive;
  is_head_ = check.method_id == net::Method::head;
  head_bytes_ = check.size;
  decoded_ = 0;
  body_.start(check.framing, check.content_length, ctx_.settings.chunks);
  drained_ = 0;
  body_state_ = BodyState::not_read;
  door_ = find_door(ctx_.settings.doors, check.target);
  ctx_.sessions.renew(*this);
  if (door_ == nullptr) {
    if (hand_over({input.data(), input.size()})) return input.size();
    problem(404, "there is no door at this path");
    return head_bytes_;
  }
  if (!ctx_.settings.client.may_ask(peer_)) {
    problem(403, "this address may not ask: name it in authz.client_ip.trust");
    return head_bytes_;
  }
  deadline_ = TimePoint::max();
  read_deadline(check);
  Request request;
  const Asked asked =
      to_request(check, *door_, ctx_.settings.client, ctx_.path, peer_, time_, ctx_.room, request);
  if (!asked.trouble.empty()) {
    problem(400, asked.trouble);
    return head_bytes_;
  }
  if (asked.client_unknown) ctx_.metrics.add(Metric::check_client_unknown);
  if (!door_->caller->brings_body || !ctx_.judge.wants_body(request))
    return judge(request, head_bytes_, true);

  // Envoy reports a body that it has cut off; without that, it may not have sent any.
  const HeaderField* const partial = check.fields.find("x-envoy-auth-partial-body");
  const bool cut = partial != nullptr && net::same_ignoring_case(partial->value, "true");
  const bool coded = net::content_coding(check.fields) != net::ContentCoding::identity;
  if (body_.done() || cut || coded) {
    request.body_state = coded && !body_.done()               ? BodyState::encoded
                         : body_.done() && partial != nullptr ? BodyState::complete
                                                              : BodyState::not_read;
    body_state_ = request.body_state;
    return judge(request, head_bytes_, true);
  }
  if (body_.framing() == net::Framing::length && body_.left() <= ctx_.settings.body_bytes_max &&
      input.size() - head_bytes_ >= body_.left()) {
    request.body_state = body_state_ = BodyState::complete;
    request.body = body_.take(input.subspan(head_bytes_)).data;
    decoded_ = static_cast<std::uint32_t>(request.body.size());
    return judge(request, head_bytes_ + decoded_, true);
  }
  state_ = State::reading_body;
  expect(ctx_.settings.body_time);
  if (check.expect_continue && input.size() == head_bytes_) send(kContinue);
  return 0;
}

void DoorSession::refuse(net::HttpRefusal refusal) {
  net::count_malformed_request(ctx_.metrics, refusal);
  if (state_ == State::reading_body) {
    keep_alive_ = false;
    return problem(400, "the body is not framed as its head says");
  }
  const net::HttpRefusalRow& row = net::http_refusal_row(refusal);
  lose_track();
  problem(row.status, row.detail);
}

bool DoorSession::read_deadline(const net::RequestHead& check) noexcept {
  const HeaderField* const field = check.fields.find(
      door_->caller->envoy ? "x-envoy-expected-rq-timeout-ms" : "x-weir-timeout-ms");
  if (field == nullptr) return false;
  const std::uint32_t ms = parse_whole<std::uint32_t>(field->value).value_or(0);
  if (ms == 0) return false;
  const milliseconds timeout{ms};
  deadline_ = time_ + std::max(milliseconds{0}, timeout - std::max(kMargin, timeout / 8));
  return true;
}

bool DoorSession::judge_body() {
  if (body_state_ == BodyState::too_large) ctx_.metrics.add(Metric::limit_body);
  return judge_kept(true);
}

bool DoorSession::drain_body() {
  for (std::size_t taken = 0;;) {
    if (!in_.empty()) {
      const auto piece = body_.take({in_.data(), in_.size()});
      if (piece.malformed()) {
        keep_alive_ = false;
        begin_close();
        return true;
      }
      drained_ += static_cast<std::uint32_t>(piece.used);
      in_.consume(piece.used);
    }
    if (body_.done()) {
      next_check();
      return true;
    }
    if (drained_ > kDrainBytes) {
      begin_close();
      return true;
    }
    if (!readable_) return false;
    if (taken >= net::kTurnBytes) {
      look_again();
      return false;
    }
    const std::size_t n = receive(in_.room(ctx_.blocks, net::kReadMore));
    if (n == 0) return false;
    taken += n;
    in_.added(n);
  }
}

bool DoorSession::judge_kept(bool may_wait) {
  parse_kept_head();
  Request request;
  to_request(ctx_.request, *door_, ctx_.settings.client, ctx_.path, peer_, time_, ctx_.room,
             request);
  request.body_state = body_state_;
  if (body_state_ == BodyState::complete) request.body = in_.view().substr(head_bytes_, decoded_);
  const std::size_t used = judge(request, head_bytes_ + decoded_, may_wait);
  if (state_ == State::closed) return false;
  in_.consume(std::min(used, in_.size()));
  return true;
}

/// Returns how much of the input the check has taken: `size`, or 0 while it waits.
std::size_t DoorSession::judge(Request& request, std::size_t size, bool may_wait) {
  const TimePoint now = ctx_.worker.now();
  set_longest_hold(time_until(deadline_, now));
  const gate::Decision decision = gate::judge_or_park(ctx_.judge, request, now, may_wait, *this);
  const Effect& effect = decision.effect;
  ticket_ = decision.ticket;
  ctx_.answer.clear();
  switch (effect.kind) {
    case Effect::Kind::pass: {
      const gate::Unsettled::Id id = ctx_.unsettled.next_id();
      append_pass(effect, ticket_ != nullptr ? &id : nullptr);
      if (ticket_ != nullptr) ctx_.unsettled.keep(*ticket_, now);
      ticket_ = nullptr;
      ctx_.metrics.add(door_->caller->allowed);
      answer(ctx_.answer);
      return size;
    }
    case Effect::Kind::answer:
      append_refused(ctx_.answer, *door_, effect, frame());
      ctx_.metrics.add(door_->caller->denied);
      answer(ctx_.answer);
      return size;
    case Effect::Kind::delay:
      hold(effect);
      return state_ == State::held ? 0 : size;
    case Effect::Kind::wait:
      state_ = State::parked;
      wait_for_others();
      break;
  }
  return 0;
}

/// Appends the answer that lets the request of the context's check pass.
void DoorSession::append_pass(const Effect& effect, const gate::Unsettled::Id* id) {
  ctx_.forged.clear();
  if (door_->caller->envoy) find_forged(ctx_.request.fields, ctx_.forged);
  append_allowed(ctx_.answer, *door_->caller, effect, ctx_.forged, id, frame());
}

void DoorSession::wait_for_others() noexcept {
  // The deadline for the client to take its bytes comes first.
  if (out_.empty()) gate::expect_others_by(deadline_, *this, ctx_.worker.wheel(), *this);
}

void DoorSession::hold(const Effect& effect) {
  const TimePoint now = ctx_.worker.now();
  state_ = State::held;
  kept_.clear();
  for (const std::string_view lines : {effect.upstream_headers, effect.response_headers}) {
    const auto size = static_cast<std::uint32_t>(lines.size());
    kept_.append(ctx_.blocks, {reinterpret_cast<const char*>(&size), sizeof size});
    kept_.append(ctx_.blocks, lines);
  }
  held_until_ = now + effect.hold;
  expect_by(held_until_);
}

void DoorSession::release_held() {
  const TimePoint now = ctx_.worker.now();
  Effect effect;
  std::string_view kept = kept_.view();
  for (std::string_view* const lines : {&effect.upstream_headers, &effect.response_headers}) {
    std::uint32_t size = 0;
    std::memcpy(&size, kept.data(), sizeof size);
    *lines = kept.substr(sizeof size, size);
    kept.remove_prefix(sizeof size + size);
  }
  const gate::Unsettled::Id id = ctx_.unsettled.next_id();
  const std::size_t size = head_bytes_ + decoded_;
  ctx_.answer.clear();
  parse_kept_head();  // its names
  append_pass(effect, ticket_ != nullptr ? &id : nullptr);
  if (ticket_ != nullptr) ctx_.unsettled.keep(*ticket_, now);
  ticket_ = nullptr;
  state_ = State::reading_body;
  ctx_.judge.end_hold();
  ctx_.metrics.add(door_->caller->allowed);
  answer(ctx_.answer);
  if (state_ != State::closed) in_.consume(std::min(size, in_.size()));
}

// Called by the judge for one waiter after the other: the work resumes at the server's own end of
// the turn.
void DoorSession::resume(TimePoint now) {
  if (state_ != State::parked) return;
  state_ = State::reading_body;
  const bool waits = gate::judge_resumed(ctx_.judge, *this, now, [this](bool may_wait) {
    guarded([&] { judge_kept(may_wait); });
    return state_ == State::parked;
  });
  if (!waits) go_on_after_turn();
}

AnswerFrame DoorSession::frame() noexcept {
  const bool can_go_on = body_.done() || (body_.framing() == net::Framing::length
                                              ? body_.left() <= kDrainBytes
                                              : body_.framing() == net::Framing::chunked);
  keep_alive_ = keep_alive_ && !ctx_.draining && can_go_on;
  return {ctx_.date.at(Clock::wall()), keep_alive_, http_1_0_, is_head_};
}

void DoorSession::answer(std::string_view bytes) {
  if (!send(bytes)) return;
  if (!keep_alive_) return begin_close();
  if (body_.done()) return next_check();
  state_ = State::draining;
  expect(ctx_.settings.body_time);
}

/// An answer without a verdict.
void DoorSession::problem(int status, std::string_view detail) {
  ctx_.answer.clear();
  append_problem(ctx_.answer, status, detail, {}, frame());
  if (door_ != nullptr) ctx_.metrics.add(door_->caller->failed);
  answer(ctx_.answer);
}

void DoorSession::next_check() {
  next_head();
  kept_.clear();
  expect(ctx_.settings.idle);
}

}  // namespace weir::authz
