#include "proxy/notes.h"

#include <algorithm>
#include <cstring>

namespace weir::proxy {
namespace {

using telemetry::RequestFacts;

/// The only field of that name; empty: there is none, or more than one.
std::string_view only_field(const Request& request, std::string_view name) noexcept {
  std::string_view found;
  std::size_t count = 0;
  for (const HeaderField& field : request.headers) {
    if (!net::same_ignoring_case(field.name, name)) continue;
    found = field.value;
    ++count;
  }
  return count == 1 ? found : std::string_view{};
}

}  // namespace

Notes& NoteBook::begin(const net::RequestHead* head, const Peer& peer, TimePoint first) {
  Notes& notes = notes_.lend();
  std::array<char, 32>& room = notes.new_id_;
  notes.id_ =
      head != nullptr ? choose_request_id(*head, peer.trusted, ids_, room) : ids_.next(room);
  if (notes.id_.data() != room.data()) {  // theirs: the head will go
    std::memcpy(notes.their_id_, notes.id_.data(), notes.id_.size());
    notes.id_ = {notes.their_id_, notes.id_.size()};
  }
  notes.route_ = telemetry::kOtherRoute;
  notes.timed_ = head != nullptr;
  notes.judged_ = notes.new_trace_ = false;
  notes.end_ = RequestEnd::aborted;
  notes.status_ = 0;
  notes.traceparent_size_ = 0;
  notes.body_due = {};
  notes.begun_ = worker_.fine_now();
  notes.sent_at_ = notes.waits_since_ = {};
  notes.head_us_ =
      std::max<std::int64_t>(0, (std::chrono::floor<milliseconds>(notes.begun_) - first).count()) *
      1'000;
  notes.wait_us_ = 0;
  notes.bytes_in_ = head != nullptr ? head->size : 0;
  notes.bytes_out_ = 0;
  notes.facts_ = nullptr;
  return notes;
}

void NoteBook::judged(Notes& notes, const Request& request, const gate::Decision& decision,
                      const Peer& peer) {
  notes.judged_ = true;
  notes.route_ = decision.route;
  end_wait(notes);
  const Effect::Kind kind = decision.effect.kind;
  if (kind == Effect::Kind::answer) notes.end_ = RequestEnd::refused;
  if (kind == Effect::Kind::delay) waits(notes);
  if (sink_ == nullptr) return;
  const bool sampled = sink_->draw_line();
  const bool refused = kind != Effect::Kind::pass;
  bool traced = false;
  if (sink_->is_tracing()) {
    trace(notes, request, peer);
    traced = trace_.sampled;
  }
  if (!sampled && !traced && !sink_->wants_errors() && !(refused && sink_->wants_refusals()))
    return;
  notes.facts_ = sink_->lend();
  if (notes.facts_ == nullptr) return;
  notes.facts_->sampled = sampled;
  notes.facts_->refused = refused;
  notes.facts_->traced = traced;
  fill(notes, request, decision, peer);
}

// A trusted peer decides for its requests whether they are traced. A stranger's trace is carried
// on, but it may not make weir export one.
void NoteBook::trace(Notes& notes, const Request& request, const Peer& peer) {
  const auto theirs = telemetry::parse_traceparent(only_field(request, "traceparent"));
  trace_ = theirs.value_or(telemetry::TraceContext{});
  parent_ = trace_.span_id;
  if (!theirs) ids_.fill(trace_.trace_id);
  notes.new_trace_ = !theirs;
  trace_.sampled = theirs && peer.trusted ? theirs->sampled : sink_->draw_trace();
  // To the app goes the span of the exchange with it.
  ids_.fill(trace_.span_id);
  notes.traceparent_size_ =
      static_cast<std::uint8_t>(telemetry::format_traceparent(trace_, notes.traceparent_).size());
}

void NoteBook::fill(Notes& notes, const Request& request, const gate::Decision& decision,
                    const Peer& peer) noexcept {
  RequestFacts& facts = *notes.facts_;
  facts.begun = notes.begun_;
  facts.head_us = notes.head_us_;
  facts.judge_us = since(notes.begun_) - notes.wait_us_;
  facts.client = request.client;
  facts.peer = peer.address;
  facts.request_id = notes.id();
  facts.method = request.method;
  facts.path = request.path;
  facts.route = decision.event;
  facts.verdict = decision.verdict;
  facts.policy = decision.policy;
  using telemetry::AccessField;
  if (sink_->wants(AccessField::host)) facts.host = request.host;
  if (sink_->wants(AccessField::query)) facts.query = request.query;
  if (sink_->wants(AccessField::user_agent)) facts.user_agent = only_field(request, "user-agent");
  if (sink_->wants(AccessField::referer)) facts.referer = only_field(request, "referer");
  if (notes.traceparent_size_ == 0) return;
  facts.trace = trace_;
  facts.parent = parent_;
  facts.client_span = trace_.span_id;
  ids_.fill(facts.trace.span_id);
}

void NoteBook::sent(Notes& notes, bool connecting) noexcept {
  end_wait(notes);  // held
  notes.sent_at_ = worker_.fine_now();
  if (notes.facts_ == nullptr) return;
  notes.facts_->upstream = settings_.upstream_name;
  notes.facts_->sent_us = since(notes.begun_);
  notes.facts_->connect_us = connecting ? RequestFacts::kNever : 0;
}

void NoteBook::connected(Notes& notes) noexcept {
  if (notes.facts_ != nullptr) notes.facts_->connect_us = since(notes.sent_at_);
}

void NoteBook::answered(Notes& notes, int status) noexcept {
  notes.status_ = static_cast<std::uint16_t>(status);
  notes.end_ = RequestEnd::cut;
  const std::int64_t took = since(notes.sent_at_);
  if (latency_ != nullptr) latency_->upstream(std::chrono::microseconds{took});
  if (notes.facts_ != nullptr) notes.facts_->first_byte_us = took;
}

RequestFacts* NoteBook::begin_unjudged(Notes& notes, const Peer& peer) noexcept {
  if (notes.judged_ || sink_ == nullptr || !sink_->is_logging()) return nullptr;
  notes.judged_ = true;
  const bool sampled = sink_->draw_line();
  if (!sampled && !sink_->wants_errors()) return nullptr;
  RequestFacts* const facts = notes.facts_ = sink_->lend();
  if (facts == nullptr) return nullptr;
  facts->sampled = sampled;
  facts->begun = notes.begun_;
  facts->head_us = notes.head_us_;
  facts->request_id = notes.id();
  facts->client = facts->peer = peer.address;
  return facts;
}

void NoteBook::unjudged(Notes& notes, const Request& request, const Peer& peer) noexcept {
  RequestFacts* const facts = begin_unjudged(notes, peer);
  if (facts == nullptr) return;
  facts->client = request.client;
  facts->method = request.method;
  facts->host = request.host;
  const std::string_view path = request.target.substr(0, request.target.find('?'));
  facts->path = path;
}

void NoteBook::replied(Notes& notes, int status, const Peer& peer) noexcept {
  notes.status_ = static_cast<std::uint16_t>(status);
  if (notes.end_ != RequestEnd::refused) notes.end_ = RequestEnd::local;
  begin_unjudged(notes, peer);  // unless it was judged
}

void NoteBook::end(Notes*& notes) noexcept {
  if (notes == nullptr) return;
  Notes& done = *notes;
  notes = nullptr;
  const std::int64_t total = since(done.begun_);
  if (done.timed_ && latency_ != nullptr) {
    latency_->request(done.route_, std::chrono::microseconds{total});
  }
  if (done.facts_ != nullptr) {
    RequestFacts& facts = *done.facts_;
    facts.total_us = total;
    facts.wait_us = done.wait_us_;
    facts.bytes_in = done.bytes_in_;
    facts.bytes_out = done.bytes_out_;
    facts.status = done.status_;
    facts.end = done.end_;
    sink_->finish(facts);
  }
  notes_.take_back(done);
}

}  // namespace weir::proxy
