// A check on its way from its head to the answer.
#include <algorithm>
#include <charconv>
#include <cstring>

#include "authz/door_session.h"
#include "core/assert.h"
#include "net/http/content_coding.h"
#include "net/turn.h"

namespace weir::authz {
namespace {

using telemetry::Metric;

constexpr std::size_t kReadMore = 4 << 10;
// After the answer, the rest of a body up to this size is read and thrown away.
constexpr std::size_t kDiscardBytes = 4 << 20;
// An answer is to be with its caller before it stops waiting: this much earlier, or an eighth.
constexpr milliseconds kMargin{20};
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

bool DoorSession::read_head() {
  if (!in_.empty()) {
    if (starved_) {
      if (!readable_) return false;
      const std::size_t n = receive(in_.room(ctx_.blocks, kReadMore));
      if (n == 0) return false;
      in_.added(n);
    }
    const std::size_t used = take_checks({in_.data(), in_.size()});
    if (state_ == State::closed) return false;
    in_.consume(std::min(used, in_.size()));
    return true;
  }
  if (!readable_) return false;
  const std::span<char> scratch = ctx_.worker.scratch_in(*this);
  const std::size_t n = receive(scratch);
  if (n == 0) return false;
  const std::size_t used = take_checks(scratch.first(n));
  switch (state_) {
    case State::closed:
      return false;
    case State::closing:
    case State::lingering:
      return true;
    default:
      in_.append(ctx_.blocks, {scratch.data() + used, n - used});
      return true;
  }
}

std::size_t DoorSession::take_checks(std::span<char> input) {
  std::size_t used = 0;
  while (used < input.size() && state_ == State::reading_head && out_.empty() &&
         ctx_.steps_left > 0) {
    const std::span<char> rest = input.subspan(used);
    switch (net::parse_request_head({rest.data(), rest.size()}, ctx_.settings.head, progress_,
                                    ctx_.check)) {
      case net::HeadStatus::incomplete:
        starved_ = true;
        if (!head_begun_) {
          head_begun_ = true;  // from its first byte: sending slowly does not move the deadline
          expect(ctx_.settings.head_time);
        }
        return used;
      case net::HeadStatus::refused: {
        const net::HttpRefusalRow& row = net::http_refusal_row(ctx_.check.refusal);
        ctx_.metrics.add(Metric::requests_malformed);
        lose_track();
        problem(row.status, row.detail);
        return input.size();
      }
      case net::HeadStatus::complete:
        --ctx_.steps_left;
        progress_ = {};
        starved_ = false;
        used += on_head(rest);
        break;
    }
  }
  return used;
}

std::size_t DoorSession::on_head(std::span<char> input) {
  const net::RequestHead& check = ctx_.check;
  time_ = ctx_.worker.now();
  http_1_0_ = check.http_1_0;
  keep_alive_ = check.keep_alive;
  is_head_ = check.method_id == net::Method::head;
  head_bytes_ = check.size;
  decoded_ = 0;
  body_.start(check.framing, check.content_length, ctx_.settings.chunks);
  discarded_ = 0;
  body_state_ = BodyState::not_read;
  door_ = find_door(ctx_.settings.doors, check.target);
  unlink();
  link_newest();
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

  // Envoy says so where it has cut the body off; where it says nothing it may not have sent one.
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
    decoded_ = request.body.size();
    return judge(request, head_bytes_ + decoded_, true);
  }
  state_ = State::reading_body;
  expect(ctx_.settings.body_time);
  if (check.expect_continue && input.size() == head_bytes_) send(kContinue);
  return 0;
}

// What follows on the connection belongs to no check that could be read.
void DoorSession::lose_track() noexcept {
  keep_alive_ = is_head_ = false;
  body_.start(net::Framing::until_close, 0, ctx_.settings.chunks);
}

bool DoorSession::read_deadline(const net::RequestHead& check) noexcept {
  const HeaderField* const field = check.fields.find(
      door_->caller->envoy ? "x-envoy-expected-rq-timeout-ms" : "x-weir-timeout-ms");
  if (field == nullptr) return false;
  std::uint32_t ms = 0;
  const char* const end = field->value.data() + field->value.size();
  const auto [at, error] = std::from_chars(field->value.data(), end, ms);
  if (error != std::errc() || at != end || ms == 0) return false;
  const milliseconds timeout{ms};
  deadline_ = time_ + std::max(milliseconds{0}, timeout - std::max(kMargin, timeout / 8));
  return true;
}

// in_ holds the head, then the decoded part of the body, then raw bytes. A body that no policy
// reads is thrown away while it is decoded.
bool DoorSession::read_body() {
  for (std::size_t taken = 0;;) {
    if (!take_body()) {
      keep_alive_ = false;
      if (state_ == State::reading_body) {
        problem(400, "the body is not framed as its head says");
      } else {
        begin_close();
      }
      return true;
    }
    const bool wanted = state_ == State::reading_body;
    if (wanted && decoded_ > ctx_.settings.body_bytes_max) {
      ctx_.metrics.add(Metric::limit_body);
      body_state_ = BodyState::too_large;
      return judge_kept(true);
    }
    if (body_.done()) {
      if (wanted) {
        body_state_ = BodyState::complete;
        return judge_kept(true);
      }
      next_check();
      return true;
    }
    if (discarded_ > kDiscardBytes) {
      begin_close();
      return true;
    }
    if (!readable_) return false;
    if (taken >= net::kTurnBytes) {
      ctx_.worker.reactor().go_on_later(*this);
      return false;
    }
    const std::size_t n = receive(in_.room(ctx_.blocks, kReadMore));
    if (n == 0) return false;
    taken += n;
    in_.added(n);
  }
}

/// Decodes what has come of the body; false: it is malformed.
bool DoorSession::take_body() {
  const bool wanted = state_ == State::reading_body;
  const std::size_t before = wanted ? head_bytes_ + decoded_ : 0;
  if (in_.size() <= before || body_.done()) return true;
  const std::span<char> raw{in_.data() + before, in_.size() - before};
  const auto piece = body_.take(raw);
  if (piece.malformed()) return false;
  const std::size_t kept = wanted ? piece.data.size() : 0;
  if (!wanted) discarded_ += piece.used;
  decoded_ += kept;
  if (piece.used == kept) return true;
  if (before + kept == 0) {
    in_.consume(piece.used);
  } else {
    std::memmove(raw.data() + kept, raw.data() + piece.used, raw.size() - piece.used);
    in_.truncate(in_.size() - (piece.used - kept));
  }
  return true;
}

bool DoorSession::judge_kept(bool may_wait) {
  net::HeadProgress progress;
  const auto status = net::parse_request_head(in_.view(), ctx_.settings.head, progress, ctx_.check);
  WEIR_ASSERT(status == net::HeadStatus::complete);
  Request request;
  to_request(ctx_.check, *door_, ctx_.settings.client, ctx_.path, peer_, time_, ctx_.room, request);
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
  for (;;) {
    const gate::Decision decision = ctx_.judge.judge(request, now, may_wait, *this);
    const Effect& effect = decision.effect;
    ticket_ = decision.ticket;
    ctx_.answer.clear();
    switch (effect.kind) {
      case Effect::Kind::pass: {
        const gate::Unsettled::Id id = ctx_.unsettled.next_id();
        append_allowed(ctx_.answer, *door_->caller, effect, ticket_ != nullptr ? &id : nullptr,
                       frame());
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
        if (ctx_.judge.park(*this, now)) {
          state_ = State::parked;
          wait_for_others();
          return 0;
        }
        may_wait = false;
        break;
    }
  }
}

/// The judge bounds the wait for other requests; the caller may wait for less. The shared store
/// answers within its own budget: a second judgement in that time would count the event twice.
void DoorSession::wait_for_others() {
  if (!out_.empty()) return;
  net::Wheel::disarm(*this);
  if (deadline_ == TimePoint::max() || waits_for_store()) return;
  if (ctx_.judge.waiting_until(*this) != TimePoint::max())
    ctx_.worker.wheel().arm(*this, deadline_);
}

void DoorSession::hold(const Effect& effect) {
  const TimePoint now = ctx_.worker.now();
  const State before = std::exchange(state_, State::held);
  if (now + effect.hold > deadline_) {  // the caller would have left before the hold ends
    const auto seconds = std::chrono::ceil<std::chrono::seconds>(effect.hold).count();
    const std::string retry = "Retry-After: " + std::to_string(seconds) + "\r\n";
    Effect refusal;
    refusal.kind = Effect::Kind::answer;
    refusal.status = 429;
    refusal.response_headers = retry;
    append_refused(ctx_.answer, *door_, refusal, frame());
    state_ = before;
    ctx_.judge.unhold(now);
    if (ticket_ != nullptr)
      ctx_.judge.finish(*std::exchange(ticket_, nullptr), gate::End::not_sent, now);
    ctx_.metrics.add(door_->caller->denied);
    return answer(ctx_.answer);
  }
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
  append_allowed(ctx_.answer, *door_->caller, effect, ticket_ != nullptr ? &id : nullptr, frame());
  if (ticket_ != nullptr) ctx_.unsettled.keep(*ticket_, now);
  ticket_ = nullptr;
  state_ = State::reading_body;
  ctx_.judge.unhold(now);
  ctx_.metrics.add(door_->caller->allowed);
  answer(ctx_.answer);
  if (state_ != State::closed) in_.consume(std::min(size, in_.size()));
}

// Called from within another session's step, so going on is left to the end of the turn.
void DoorSession::resume(TimePoint now) {
  if (state_ != State::parked) return;
  state_ = State::reading_body;
  guarded([&] { judge_kept(now < ctx_.judge.waiting_until(*this)); });
  if (state_ == State::parked) return;
  ctx_.judge.unpark(*this);
  if (state_ == State::closed || resumed_) return;
  resumed_ = true;
  next_resumed_ = ctx_.resumed;
  ctx_.resumed = this;
}

AnswerFrame DoorSession::frame() noexcept {
  const bool can_go_on = body_.done() || (body_.framing() == net::Framing::length
                                              ? body_.left() <= kDiscardBytes
                                              : body_.framing() == net::Framing::chunked);
  keep_alive_ = keep_alive_ && !ctx_.draining && can_go_on;
  return {ctx_.date.at(Clock::wall()), keep_alive_, http_1_0_, is_head_};
}

void DoorSession::answer(std::string_view bytes) {
  if (!send(bytes)) return;
  if (!keep_alive_) return begin_close();
  if (body_.done()) return next_check();
  state_ = State::discarding;
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
  state_ = State::reading_head;
  served_ = true;
  head_begun_ = false;
  starved_ = false;
  kept_.clear();
  expect(ctx_.settings.idle);
}

}  // namespace weir::authz
