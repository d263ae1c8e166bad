// A request on its way to the app, and the answer on its way back.
#include "proxy/exchange.h"

#include <sys/socket.h>

#include <algorithm>

namespace weir::proxy {
namespace {

using telemetry::Metric;

constexpr int kInterimsMax = 16;

}  // namespace

void Exchange::build_upstream_head(std::string_view extra_lines) {
  const net::RequestHead& head = ctx_.request;
  UpstreamHeadOptions options;
  options.target = ctx_.target.target;
  options.peer_text = {peer_text_, peer_text_size_};
  options.peer_trusted = peer_.trusted;
  std::array<char, sizeof peer_text_> client;
  if (ctx_.settings.client_header != "x-forwarded-for") {
    options.client_header = ctx_.settings.client_header;
    if (peer_.trusted) {
      const Address who = ctx_.settings.client_rules.resolve(peer_.address, head.fields.span());
      options.client_text = {client.data(), who.to_chars(client.data())};
    }
  }
  options.request_id = notes_->id();
  options.traceparent = notes_->traceparent();
  options.new_trace = notes_->new_trace();
  options.default_host = ctx_.settings.upstream_authority;
  options.extra_lines = extra_lines;
  options.used_names = ctx_.used_name_views;
  options.forward_expect = !continued_;
  if (reads_answer_) ask_for_readable_answer(options);
  ctx_.head.clear();
  append_upstream_head(ctx_.head, head, options);
}

// `input`: the head, `decoded_` bytes of body, raw bytes. Returns how much of it is dealt with.
std::size_t Exchange::begin_exchange(std::string_view upstream_lines,
                                     std::string_view response_lines, std::span<char> input) {
  lines_.append(ctx_.worker.blocks(), response_lines);
  build_upstream_head(upstream_lines);
  kept_.clear();
  state_ = State::exchanging;
  answer_bytes_ = answer_started_ = tapping_ = end_passed_ = sent_ = progress_ = false;
  interims_ = 0;
  progress_out_ = {};
  notes_->body_due = ctx_.worker.now() + ctx_.settings.body_time;

  const auto piece = body_.take(input.subspan(head_bytes_ + decoded_));
  if (piece.malformed()) {
    finish(gate::End::not_sent);
    refuse(piece.refusal);
    return input.size();
  }
  const std::size_t used = head_bytes_ + decoded_ + piece.used;
  const std::string_view data{input.data() + head_bytes_, decoded_ + piece.data.size()};
  if (!data.empty() || continued_) expects_continue_ = false;

  upstream_ =
      ctx_.upstreams.take(*this, retryable_ ? UpstreamPool::Want::any : UpstreamPool::Want::alive);
  if (upstream_ == nullptr) {
    ctx_.metrics.add(Metric::upstream_failures);
    finish(gate::End::not_sent);
    reply_problem(503, kRetryAfter);
    return used;
  }
  ctx_.notes.sent(*notes_, upstream_->connecting());
  notes_->took(used - head_bytes_);
  key_bytes_ = 0;
  if (websocket_) {
    kept_.append(ctx_.worker.blocks(), ctx_.request.websocket_key);
    key_bytes_ = static_cast<std::uint8_t>(ctx_.request.websocket_key.size());
  }
  if (retryable_ && upstream_->reused()) kept_.append(ctx_.worker.blocks(), ctx_.head);
  Parts parts;
  parts.add(ctx_.head);
  parts.add_body(body_.framing(), data, body_.done());
  upstream_->send(parts);
  update_deadline();
  return used;
}

void Exchange::update_deadline() noexcept {
  const Settings& settings = ctx_.settings;
  if (!out_.empty()) return;  // flush() renews the deadline of the client as it takes bytes
  if (upstream_->connecting()) {
    expect(Phase::connect, settings.connect);
  } else if (body_.done() || !upstream_->writable() || expects_continue_) {
    expect(Phase::answer, settings.answer);
  } else {
    const TimePoint now = ctx_.worker.now();
    // While others were waited for, the client could not send.
    if (phase_ != Phase::body) notes_->body_due = now + settings.body_time;
    expect(Phase::body, std::clamp(notes_->body_due - now, milliseconds{1}, settings.body_time));
  }
}

void Exchange::credit_body(std::size_t bytes) noexcept {
  const TimePoint most = ctx_.worker.now() + ctx_.settings.body_time;
  const milliseconds earned{static_cast<std::int64_t>(bytes * 1'000 / kLeastRate)};
  notes_->body_due = std::min(notes_->body_due + earned, most);
}

void Exchange::on_upstream(std::uint32_t events) {
  guarded([&] { take_upstream(events); });
}

void Exchange::take_upstream(std::uint32_t events) {
  if (upstream_ == nullptr) return;  // given up to make room
  if (upstream_->connecting()) {
    if ((events & (EPOLLOUT | EPOLLERR | EPOLLHUP)) == 0) return;
    if (upstream_->finish_connect() != 0) {
      if (ctx_.upstreams.try_next(*upstream_)) return update_deadline();
      ctx_.metrics.add(Metric::upstream_failures);
      fail(503, gate::End::not_sent);
      return advance();
    }
    ctx_.notes.connected(*notes_);
    upstream_->flush();
    progress_ = true;
  } else if ((events & EPOLLOUT) != 0) {
    upstream_->flush();
    progress_ = true;
  }
  upstream_->note(events);
  advance();
}

bool Exchange::will_read_upstream() const noexcept {
  return state_ == State::exchanging && out_.empty();
}

void Exchange::exchange() {
  pump_request();
  if (state_ != State::exchanging) return;
  if (peer_ended_ && body_.done()) pass_client_end();
  pump_answer();
  if (state_ != State::exchanging || !progress_) return;
  progress_ = false;
  update_deadline();
}

void Exchange::pump_request() {
  for (std::size_t taken = 0; !body_.done() && upstream_->writable();) {
    const bool kept = !in_.empty();
    std::span<char> raw = for_one_turn(ctx_.worker.scratch_in());
    if (kept) {
      raw = {in_.data(), in_.size()};
    } else {
      if (!readable_) return;
      if (taken >= kTurnBytes) return look_again();
      const std::size_t n = receive(raw);
      if (n == 0) return;
      taken += n;
      raw = raw.first(n);
    }
    expects_continue_ = false;
    credit_body(raw.size());
    const auto piece = body_.take(raw);
    if (piece.malformed()) {
      if (!answer_started_) {
        drop_upstream();
        finish(gate::End::aborted);
        return refuse(piece.refusal);
      }
      ctx_.metrics.add(Metric::requests_malformed);
      keep_alive_ = false;
      body_.start(net::Framing::until_close, 0, ctx_.settings.chunks);
      return fail(400, gate::End::aborted);
    }
    Parts parts;
    parts.add_body(body_.framing(), piece.data, body_.done());
    upstream_->send(parts);
    notes_->took(piece.used);
    progress_ = true;
    if (kept) {
      in_.consume(piece.used);
    } else {
      in_.append(ctx_.worker.blocks(), {raw.data() + piece.used, raw.size() - piece.used});
    }
  }
}

// The client has sent its request and closed its sending side, or has left: the two look the same.
// The app gets the end as if it were connected to the client directly. Most apps continue; one that
// stops work without a client stops. If an answer comes, it goes to the client.
void Exchange::pass_client_end() {
  if (end_passed_ || websocket_ || !in_.empty() || !upstream_->writable()) return;
  char next = 0;
  if (::recv(fd_.get(), &next, 1, MSG_PEEK | MSG_DONTWAIT) != 0) return;  // another request follows
  end_passed_ = true;
  upstream_->shutdown_write();
}

void Exchange::pump_answer() {
  for (std::size_t taken = 0;
       state_ == State::exchanging && out_.empty() && upstream_->readable();) {
    if (taken >= kTurnBytes) return upstream_->look_again();
    net::Bytes& in = upstream_->in;
    const bool kept = !in.empty();
    std::span<char> into =
        kept ? in.room(ctx_.worker.blocks(), kReadMore) : for_one_turn(upstream_->scratch_in());
    const net::IoResult result = upstream_->receive(into);
    if (result.bytes == 0) {
      if (result.would_block) return;
      return upstream_ended(result.error != 0 || upstream_->broken());
    }
    taken += result.bytes;
    answer_bytes_ = true;
    progress_ = true;
    std::span<char> input = into.first(result.bytes);
    if (kept) {
      in.added(result.bytes);
      input = {in.data(), in.size()};
    }
    UpstreamConnection* const before = upstream_;
    const std::size_t used = take_answer(input);
    if (upstream_ != before || upstream_ == nullptr || state_ != State::exchanging) return;
    if (kept) {
      in.consume(used);
    } else {
      in.append(ctx_.worker.blocks(), {input.data() + used, input.size() - used});
    }
  }
}

std::size_t Exchange::take_answer(std::span<char> input) {
  std::size_t used = 0;
  while (used < input.size() && state_ == State::exchanging && upstream_ != nullptr) {
    const std::span<char> rest = input.subspan(used);
    const std::size_t n = answer_started_ ? take_answer_body(rest) : take_answer_head(rest);
    if (n == 0) break;
    used += n;
  }
  return used;
}

std::size_t Exchange::take_answer_head(std::span<char> input) {
  const net::AnsweredRequest asked{
      is_head_, websocket_ ? kept_.view().substr(0, key_bytes_) : std::string_view{}};
  switch (net::parse_response_head({input.data(), input.size()}, asked, ctx_.settings.head,
                                   progress_out_, ctx_.response)) {
    case net::HeadStatus::incomplete:
      return 0;
    case net::HeadStatus::refused:
      fail_malformed();
      return 0;
    case net::HeadStatus::complete:
      break;
  }
  progress_out_ = {};
  const net::ResponseHead& head = ctx_.response;
  if (!head.interim()) return start_answer(input);
  if (++interims_ > kInterimsMax) {
    fail_malformed();
    return 0;
  }
  expects_continue_ = false;
  if (!http_1_0_) {
    ctx_.head.clear();
    append_interim_head(ctx_.head, head);
    count_status(head.status);
    Parts parts;
    parts.add(ctx_.head);
    if (!send(parts)) return 0;
  }
  return head.size;
}

std::size_t Exchange::start_answer(std::span<char> input) {
  const net::ResponseHead& head = ctx_.response;
  const std::size_t head_bytes = head.size;
  answer_body_.start(head.framing, head.content_length, ctx_.settings.chunks);
  upstream_keep_alive_ = head.keep_alive;
  const auto piece = answer_body_.take(input.subspan(head_bytes));
  if (piece.malformed()) {
    fail_malformed();
    return 0;
  }
  observe_head({input.data(), head_bytes});
  answer_started_ = true;
  ctx_.notes.answered(*notes_, head.status);
  if (tapping_) tap_.add(ctx_.worker.blocks(), piece.data, ctx_.settings.body_bytes_max);
  DownstreamHeadOptions options;
  options.http_1_0 = http_1_0_;
  options.keep_alive = keep_alive_ && !ctx_.draining && can_drain();
  options.extra_lines = lines_.view();
  options.request_id = notes_->id();
  ctx_.head.clear();
  const DownstreamBody down = append_downstream_head(ctx_.head, head, options);
  answer_framing_ = down.framing;
  keep_alive_ = down.keep_alive;
  count_status(head.status);
  const bool upgraded = head.upgraded;
  Parts parts;
  parts.add(ctx_.head);
  if (!upgraded) parts.add_body(answer_framing_, piece.data, answer_body_.done());
  if (!send(parts)) return 0;
  kept_.clear();
  if (upgraded) {
    begin_tunnel(input.subspan(head_bytes));
    return input.size();
  }
  const std::size_t used = head_bytes + piece.used;
  if (answer_body_.done()) finish_answer(used < input.size());
  return used;
}

std::size_t Exchange::take_answer_body(std::span<char> input) {
  const auto piece = answer_body_.take(input);
  if (piece.malformed()) {
    fail_malformed();
    return 0;
  }
  if (tapping_) {
    tap_.add(ctx_.worker.blocks(), piece.data, ctx_.settings.body_bytes_max);
    if (!tap_.may_be_read()) settle_tap(false);  // nothing that follows changes that
  }
  Parts parts;
  parts.add_body(answer_framing_, piece.data, answer_body_.done());
  if (!send(parts)) return 0;
  if (answer_body_.done()) finish_answer(piece.used < input.size());
  return piece.used;
}

void Exchange::finish_answer(bool surplus) {
  notes_->ends(RequestEnd::complete);
  settle_tap(true);
  finish(gate::End::complete);
  UpstreamConnection& upstream = *upstream_;
  upstream_ = nullptr;
  // Bytes after the answer belong to no request: this connection cannot be trusted any more.
  if (upstream_keep_alive_ && body_.done() && !surplus && !end_passed_) {
    upstream.in.clear();
    ctx_.upstreams.give_back(upstream);
  } else {
    ctx_.upstreams.discard(upstream);
  }
  if (!keep_alive_) return begin_close();
  if (body_.done()) return next_request();
  begin_draining();  // the app answered before it had the whole request
}

void Exchange::upstream_ended(bool broken) {
  if (answer_started_) {
    if (!broken && answer_body_.framing() == net::Framing::until_close) {
      answer_body_.end();
      Parts parts;
      parts.add_body(answer_framing_, {}, true);
      if (send(parts)) finish_answer(false);
      return;
    }
  } else if (!answer_bytes_ && retryable_ && !end_passed_ && upstream_->reused() && retry()) {
    return;
  }
  // An app that saw the client leave, and sends no answer, has not failed.
  if (!end_passed_) ctx_.metrics.add(Metric::upstream_cut);
  fail(502, end_passed_ ? gate::End::aborted : gate::End::upstream_failed);
}

bool Exchange::retry() {
  sent_ = sent_ || upstream_->sent();
  drop_upstream();
  ctx_.metrics.add(Metric::upstream_retries);
  upstream_ = ctx_.upstreams.take(*this, UpstreamPool::Want::fresh);
  if (upstream_ == nullptr) {
    ctx_.metrics.add(Metric::upstream_failures);
    fail(503, gate::End::upstream_failed);
    return true;
  }
  ctx_.notes.sent(*notes_, upstream_->connecting());
  Parts parts;
  parts.add(kept_.view().substr(key_bytes_));
  upstream_->send(parts);
  update_deadline();
  return true;
}

void Exchange::fail(int status, gate::End end) {
  if (end == gate::End::not_sent && sent_) end = gate::End::upstream_failed;
  drop_upstream();
  if (!answer_started_) {
    finish(end);
    return reply_problem(status, status == 503 ? kRetryAfter : std::string_view{});
  }
  settle_tap(false);
  finish(gate::End::complete);
  net::set_abort_on_close(fd_.get());
  close();
}

// The app has sent an answer that weir cannot forward. The app has done its work all the same.
void Exchange::fail_malformed() {
  ctx_.metrics.add(Metric::upstream_malformed);
  const bool sent = sent_ || upstream_->sent();
  fail(502, sent ? gate::End::unacceptable : gate::End::upstream_failed);
}

void Exchange::finish(gate::End end) {
  if (ticket_ == nullptr) return;
  gate::Ticket& ticket = *ticket_;
  ticket_ = nullptr;
  ctx_.judge.finish(ticket, end, ctx_.worker.now());
}

void Exchange::drop_upstream() noexcept {
  if (upstream_ == nullptr) return;
  ctx_.upstreams.discard(*upstream_);
  upstream_ = nullptr;
}

// Whether the connection stays usable after an answer that comes before the request's end.
bool Exchange::can_drain() const noexcept {
  if (body_.done()) return true;
  // A client that waits for a 100 may send its body or not: the body would look like the next
  // request.
  if (expects_continue_ && !continued_) return false;
  if (body_.framing() == net::Framing::length) return body_.left() <= kDrainBytes;
  return body_.framing() == net::Framing::chunked;
}

void Exchange::count_status(int status) noexcept {
  switch (status / 100) {
    case 1:
      ctx_.metrics.add(Metric::requests_1xx);
      break;
    case 2:
      ctx_.metrics.add(Metric::requests_2xx);
      break;
    case 3:
      ctx_.metrics.add(Metric::requests_3xx);
      break;
    case 4:
      ctx_.metrics.add(Metric::requests_4xx);
      break;
    default:
      ctx_.metrics.add(Metric::requests_5xx);
      break;
  }
}

}  // namespace weir::proxy
