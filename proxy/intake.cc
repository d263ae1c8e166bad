// From the head of a request to its effect, and the answers of our own.
#include "proxy/intake.h"

#include <algorithm>

#include "gate/judging.h"
#include "net/http/content_coding.h"

namespace weir::proxy {
namespace {

using telemetry::Metric;

constexpr std::string_view kAllow = "Allow: GET, HEAD, POST, PUT, DELETE, OPTIONS, PATCH\r\n";
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

bool is_idempotent(net::Method method) noexcept {
  switch (method) {
    case net::Method::get:
    case net::Method::head:
    case net::Method::options:
    case net::Method::put:
    case net::Method::delete_:
      return true;
    default:
      return false;
  }
}

/// The request head of the context is that of this session while it is dealt with.
class InHand {
 public:
  InHand(Context& context, const Intake& session) noexcept : context_(context) {
    context_.in_hand = &session;
  }
  ~InHand() { context_.in_hand = nullptr; }
  InHand(const InHand&) = delete;
  InHand& operator=(const InHand&) = delete;

 private:
  Context& context_;
};

}  // namespace

std::size_t Intake::on_head(std::span<char> input) {
  const InHand in_hand(ctx_, *this);
  const net::RequestHead& head = ctx_.request;
  const TimePoint first_byte = head_begun_ ? time_ : ctx_.worker.now();
  time_ = ctx_.worker.now();
  notes_ = &ctx_.notes.begin(&head, peer_, first_byte);
  http_1_0_ = head.http_1_0;
  keep_alive_ = head.keep_alive;
  is_head_ = head.method_id == net::Method::head;
  retryable_ = !head.has_body() && is_idempotent(head.method_id);
  expects_continue_ = head.expect_continue;
  continued_ = false;
  websocket_ = head.websocket;
  head_bytes_ = head.size;
  decoded_ = 0;
  body_state_ = BodyState::not_read;
  body_.start(head.framing, head.content_length, ctx_.settings.chunks);

  Request request;
  const net::HttpRefusal refusal = to_event(head, ctx_.settings, ctx_.path_rules, peer_, time_,
                                            ctx_.path_room, ctx_.target, request);
  if (refusal != net::HttpRefusal::none) {
    ctx_.notes.unjudged(*notes_, request, peer_);
    refuse(refusal);
    return input.size();
  }
  request.id = notes_->id();
  if (head.asterisk) {
    LocalAnswer answer;
    answer.status = 200;
    answer.lines = kAllow;
    reply(answer);
    return head_bytes_;
  }
  if (head.max_forwards == 0U) {
    // weir is the last recipient. It does not send the TRACE back: headers that proxies and
    // browsers added are private.
    LocalAnswer answer;
    answer.status = head.method_id == net::Method::options ? 200 : 405;
    answer.lines = kAllow;
    reply(answer);
    return head_bytes_;
  }
  if (ctx_.judge.wants_body(request)) {
    if (!want_body(request, input)) return 0;
    body_state_ = request.body_state;
  }
  return judge(request, input, true);
}

// True: judge now. False: the body must be read first.
bool Intake::want_body(Request& request, std::span<char> input) {
  const net::RequestHead& head = ctx_.request;
  request.body_state = BodyState::complete;
  if (!head.has_body()) return true;
  if (net::content_coding(head.fields) != net::ContentCoding::identity) {
    request.body_state = BodyState::encoded;
    return true;
  }
  if (head.framing == net::Framing::length) {
    if (head.content_length > ctx_.settings.body_bytes_max) {
      ctx_.metrics.add(Metric::limit_body);
      request.body_state = BodyState::too_large;
      return true;
    }
    if (input.size() - head_bytes_ >= head.content_length) {
      const auto piece = body_.take(input.subspan(head_bytes_));
      decoded_ = static_cast<std::uint32_t>(piece.data.size());
      request.body = piece.data;
      return true;
    }
  }
  state_ = State::reading_body;
  expect(Phase::body, ctx_.settings.body_time);
  if (expects_continue_ && input.size() == head_bytes_) {
    Parts parts;
    parts.add(kContinue);
    continued_ = true;
    if (!send(parts)) return false;
    ctx_.metrics.add(Metric::requests_1xx);
  }
  return false;
}

bool Intake::judge_body() {
  if (body_state_ == BodyState::too_large) ctx_.metrics.add(Metric::limit_body);
  return judge_kept(true);
}

bool Intake::judge_kept(bool may_wait) {
  parse_kept_head();
  Request request;
  to_event(ctx_.request, ctx_.settings, ctx_.path_rules, peer_, time_, ctx_.path_room, ctx_.target,
           request);
  request.body_state = body_state_;
  request.id = notes_->id();
  if (body_state_ == BodyState::complete) request.body = in_.view().substr(head_bytes_, decoded_);
  const std::size_t used = judge(request, {in_.data(), in_.size()}, may_wait);
  in_.consume(std::min(used, in_.size()));
  return state_ != State::closed;
}

std::size_t Intake::judge(Request& request, std::span<char> input, bool may_wait) {
  const gate::Decision decision =
      gate::judge_or_park(ctx_.judge, request, ctx_.worker.now(), may_wait, *this);
  const Effect& effect = decision.effect;
  if (effect.kind != Effect::Kind::wait) ctx_.notes.judged(*notes_, request, decision, peer_);
  switch (effect.kind) {
    case Effect::Kind::pass:
      ticket_ = decision.ticket;
      reads_answer_ = decision.reads_answer;
      return begin_exchange(effect.upstream_headers, effect.response_headers, input);
    case Effect::Kind::answer:
      reply(render(effect));
      return head_bytes_ + decoded_;
    case Effect::Kind::delay:
      return hold(decision);
    case Effect::Kind::wait:
      state_ = State::parked;
      ctx_.notes.waits(*notes_);
      expect_nothing();  // the judge watches its deadline
      break;
  }
  return 0;
}

std::size_t Intake::hold(const gate::Decision& decision) {
  ticket_ = decision.ticket;
  reads_answer_ = decision.reads_answer;
  state_ = State::held;  // first: without memory for what follows, abort() takes the hold back
  kept_.clear();
  kept_.append(ctx_.worker.blocks(), decision.effect.upstream_headers);
  lines_.append(ctx_.worker.blocks(), decision.effect.response_headers);
  notes_->held_until = ctx_.worker.now() + decision.effect.hold;
  expect_release();
  return 0;  // the head stays in in_
}

void Intake::expect_release() noexcept {
  expect(Phase::hold, std::max(notes_->held_until - ctx_.worker.now(), milliseconds{0}));
}

void Intake::release_held(bool client_left) {
  if (!client_left) state_ = State::draining;  // abort() must not take the hold back once more
  ctx_.judge.end_hold();
  if (client_left) return finish(gate::End::not_sent);
  parse_kept_head();
  Request request;  // only its target is used: the app gets it
  to_event(ctx_.request, ctx_.settings, ctx_.path_rules, peer_, time_, ctx_.path_room, ctx_.target,
           request);
  const std::size_t used = begin_exchange(kept_.view(), {}, {in_.data(), in_.size()});
  in_.consume(std::min(used, in_.size()));
}

void Intake::note_unjudged() noexcept {
  if (notes_ == nullptr || (state_ != State::reading_body && state_ != State::parked)) return;
  const net::RequestHead* read = &ctx_.request;
  if (ctx_.in_hand != this) {  // the head is kept; another session may be using ctx_.request
    net::HeadProgress progress;
    const auto status =
        net::parse_request_head(in_.view(), ctx_.settings.head, progress, ctx_.unjudged);
    if (status != net::HeadStatus::complete) return;  // there was no memory to keep it
    read = &ctx_.unjudged;
  }
  const net::RequestHead& head = *read;
  Request request;
  request.method = head.method;
  request.target = head.target;
  request.host = head.host;
  request.client = ctx_.settings.client_rules.resolve(peer_.address, head.fields.span());
  ctx_.notes.unjudged(*notes_, request, peer_);
}

void Intake::refuse(net::HttpRefusal refusal) {
  net::count_malformed_request(ctx_.metrics, refusal);
  lose_track();
  LocalAnswer answer;
  fill_refusal(answer, refusal);
  if (refusal == net::HttpRefusal::connect) answer.lines = kAllow;
  reply(answer);
}

void Intake::reply_problem(int status, std::string_view lines) {
  LocalAnswer answer;
  fill_problem(answer, status);
  answer.lines = lines;
  reply(answer);
}

void Intake::reply(LocalAnswer answer) {
  const bool keep = answer.keep_alive && keep_alive_ && !ctx_.draining && can_drain();
  answer.keep_alive = keep;
  answer.head_only = is_head_;
  answer.http_1_0 = http_1_0_;
  count_status(answer.status);
  note_unjudged();
  if (notes_ == nullptr) notes_ = &ctx_.notes.begin(nullptr, peer_, ctx_.worker.now());
  ctx_.notes.replied(*notes_, answer.status, peer_);
  answer.request_id = notes_->id();
  ctx_.head.clear();
  append_answer(ctx_.head, answer, ctx_.date.at(Clock::wall()));
  Parts parts;
  parts.add(ctx_.head);
  if (!send(parts)) return;
  if (!keep) return begin_close();
  if (body_.done()) return next_request();
  begin_draining();
}

void Intake::begin_draining() {
  ctx_.notes.end(notes_);
  state_ = State::draining;
  drained_ = 0;
  time_ = ctx_.worker.now();  // earlier bytes were kept, so their rate does not matter here
  expect(Phase::body, ctx_.settings.body_time);
}

// A judged body is kept until its end, so that its client may not take its time: the deadline is
// between two reads, and of the whole body. Sending faster than kLeastRate moves the latter.
void Intake::expect_body(std::size_t received) noexcept {
  const TimePoint now = ctx_.worker.now();
  const TimePoint last = time_ + ctx_.settings.body_time +
                         milliseconds(static_cast<std::int64_t>(received * 1'000 / kLeastRate));
  expect(Phase::body, std::clamp(last - now, milliseconds{1}, ctx_.settings.body_time));
}

bool Intake::drain_body() {
  if (body_.done()) {
    next_request();
    return true;
  }
  const bool kept = !in_.empty();
  std::span<char> raw = ctx_.worker.scratch_in();
  if (kept) {
    raw = {in_.data(), in_.size()};
  } else {
    if (!readable_) return false;
    const std::size_t n = receive(raw);
    if (n == 0) return false;
    raw = raw.first(n);
  }
  const auto piece = body_.take(raw);
  drained_ += static_cast<std::uint32_t>(piece.malformed() ? raw.size() : piece.used);
  if (kept) {
    in_.consume(piece.used);
  } else {
    in_.append(ctx_.worker.blocks(), {raw.data() + piece.used, raw.size() - piece.used});
  }
  if (piece.malformed() || drained_ > 2 * kDrainBytes) {
    begin_close();
    return true;
  }
  expect_body(drained_);
  return true;
}

}  // namespace weir::proxy
