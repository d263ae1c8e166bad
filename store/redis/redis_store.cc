#include "store/redis/redis_store.h"

#include <algorithm>
#include <utility>

#include "store/redis/codec.h"

namespace weir::store {
namespace {

using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedReply;

constexpr milliseconds kComplains{1'000};  // where some operations fail and others don't
constexpr milliseconds kForgets{5'000};    // where none has been asked for since
constexpr milliseconds kTryAgain{8};       // TRYAGAIN, LOADING: a tick of the wheel
// While no server takes operations, a look at all parked ones finds only those whose time is over.
// A server that comes up causes a look at once.
constexpr milliseconds kLookAgain{100};

}  // namespace

RedisStore::RedisStore(net::Worker& worker, Settings settings, std::uint64_t seed)
    : worker_(worker),
      settings_(std::move(settings)),
      pending_(worker.wheel()),
      nodes_(worker, settings_, pending_, *this, seed) {
  switch (settings_.mode) {
    case Settings::Mode::cluster:
      slots_.emplace(nodes_);
      settings_.database = 0;
      for (const Endpoint& endpoint : settings_.endpoints) nodes_.at(endpoint);
      nodes_.keep();
      break;
    case Settings::Mode::sentinel:
      nodes_.add(Connection::Greeting::master);
      sentinels_ = std::make_unique<Sentinels>(worker_, settings_,
                                               static_cast<Sentinels::Owner&>(*this), seed + 1);
      break;
    case Settings::Mode::single:
      nodes_.at(settings_.endpoints.front());
      break;
  }
}

RedisStore::~RedisStore() { disconnect(); }

void RedisStore::start() {
  if (running_) return;
  running_ = true;
  worker_.reactor().add_hook(*this);
  nodes_.start();
  if (sentinels_ != nullptr) sentinels_->start();
  want_slots();
}

void RedisStore::stop() {
  disconnect();
  pending_.cancel_all();
}

void RedisStore::disconnect() {
  if (!running_) return;
  running_ = false;
  worker_.reactor().remove_hook(*this);
  net::Wheel::disarm(*this);
  if (sentinels_ != nullptr) sentinels_->stop();
  nodes_.stop();
  parking_.clear();
}

void RedisStore::set_credentials(const Credentials& credentials, const Credentials& sentinels) {
  settings_.credentials = credentials;
  settings_.sentinel_credentials = sentinels;
}

unsigned RedisStore::slot(const SharedOp& op) const {
  if (!is_cluster()) return 0;
  // The braces of the key's name hold op.key; where that has a brace itself, Redis ends at the
  // first.
  const bool bare = op.pattern == nullptr && !op.parts.empty() &&
                    op.parts.front().counter->form == limiter::SharedForm::decimal;
  return slot_of(bare ? op.key : op.key.substr(0, op.key.find('}')));
}

Node* RedisStore::node_of(unsigned slot) noexcept {
  return slots_ ? slots_->node_of(slot) : &nodes_[0];
}

bool RedisStore::submit(Batch& batch, TimePoint deadline) { return submit(batch, deadline, true); }

bool RedisStore::submit_cells(Batch& cells, TimePoint deadline) {
  return submit(cells, deadline, false);
}

void RedisStore::on_near(OpRef ref, const SharedReply& reply) {
  Batch* const batch = pending_.batch(ref);
  if (batch == nullptr) return;
  SharedReply& out = batch->replies[ref.op];
  out.error = reply.error;
  out.admitted = reply.admitted;
  out.at = reply.at;
  out.parts[0] = reply.parts[0];
  pending_.answered(ref, worker_.now());
}

/// whole: a radius has not been taken apart yet.
bool RedisStore::submit(Batch& batch, TimePoint deadline, bool whole) {
  OpRef ref = pending_.open(batch, deadline);
  try {
    for (std::size_t i = 0; i < batch.ops.size() && pending_.batch(ref) != nullptr; ++i) {
      ref.op = static_cast<std::uint16_t>(i);
      batch.replies[i].error = SharedError::timed_out;
      batch.replies[i].admitted = false;
      if (!can_send(batch.ops[i])) {
        finish(ref, SharedError::invalid);
      } else if (whole && NearCalls::is_near(batch.ops[i])) {
        near_.start(ref, batch.ops[i], batch.patient, worker_.now(), deadline);
      } else {
        begin(ref, batch.ops[i], batch.patient);
      }
    }
  } catch (...) {  // no memory: the caller handles the failure of the batch
    pending_.submitted(ref);
    cancel(batch);
    throw;
  }
  pending_.submitted(ref);
  if (batch.ops.empty()) cancel(batch);
  return pending_.batch(ref) == nullptr;
}

void RedisStore::begin(OpRef ref, const SharedOp& op, bool patient) {
  ++operations_;
  if (send(ref, op)) return;
  if (patient && !op.renews && running_) {
    park(ref, worker_.now());
  } else {
    finish(ref, SharedError::unavailable);
  }
}

void RedisStore::cancel(Batch& batch) noexcept { pending_.cancel(batch); }

bool RedisStore::send(OpRef ref, const SharedOp& op) {
  const unsigned at = slot(op);
  Node* const node = node_of(at);
  if (node == nullptr || !node->admits()) {
    want_slots();
    return false;
  }
  if (!node->has_room()) return false;
  if (ref.sent > 0 || ref.moved > 0) ++resent_;
  node->add(ref, op, at, false, Clock::wall());
  return true;
}

void RedisStore::finish(OpRef ref, SharedError error) {
  Batch* const batch = pending_.batch(ref);
  if (batch == nullptr) return;
  batch->replies[ref.op].error = error;
  ++errors_[static_cast<std::size_t>(error)];
  pending_.answered(ref, worker_.now());
}

void RedisStore::on_answer(Node& node, OpRef ref) {
  helped_at_ = worker_.now();
  if (ref.sent > 1) node.repeats().helped();
  pending_.answered(ref, worker_.now());
}

/// A server that is there and refuses (NOPERM, OOM, READONLY, MOVED outside of a cluster) looks
/// healthy by its connection alone. A wrong type concerns one key only.
void RedisStore::complain(Node& node, SharedError error, std::string_view text) {
  if (text.empty() || error == SharedError::wrong_type) return;
  complained_at_ = worker_.now();
  complaint_ = node.refusal(text);
  if (error == SharedError::moved && !is_cluster())
    complaint_ += " (it is a node of a Cluster, which redis.cluster is for)";
}

bool RedisStore::refuses() const noexcept {
  const milliseconds lasts = helped_at_ < complained_at_ ? kForgets : kComplains;
  return !complaint_.empty() && worker_.now() < complained_at_ + lasts;
}

void RedisStore::on_error(Node& node, OpRef ref, SharedError error, std::string_view text) {
  const SharedOp* const op = pending_.op(ref);
  if (op == nullptr) return;
  if (error == SharedError::moved) return redirect(node, ref, text);
  if (error == SharedError::read_only) {  // the server is not the master any more
    if (sentinels_ != nullptr) sentinels_->ask();
    want_slots();
  }
  if (error == SharedError::cluster_down) want_slots();
  // The connection broke. Operations that were not sent yet have not been executed.
  const bool broke = error == SharedError::lost || error == SharedError::timed_out ||
                     error == SharedError::malformed;
  if (broke && ref.unsure && !counts_once(*op)) return finish(ref, error);
  ref.unsure = ref.unsure || (!broke && limiter::may_have_happened(error));
  const bool patient = pending_.batch(ref)->patient && !op->renews;
  const limiter::SharedRetry retry = limiter::row_of(error).retry;
  // If there is no time for another attempt, the server's answer is final.
  const bool in_time = worker_.now() + kTryAgain < pending_.deadline(ref);
  const bool refused = retry == limiter::SharedRetry::again;
  if (refused && !broke && ref.sent > 1) node.repeats().failed(worker_.now());
  const bool may = refused && !op->renews && ref.sent < kSendsMax && in_time;
  if (error == SharedError::no_script) {
    --ref.sent;  // nothing was executed
    if (++ref.moved <= kRedirectsMax) {
      if (send(ref, *op)) return;
      if (patient) return park(ref, worker_.now());
    }
    complain(node, error, text);
    return finish(ref, error);
  }
  // No request waits for a settlement: the settlement waits for the store.
  const bool wait = patient && (refused || retry == limiter::SharedRetry::later);
  if (wait || (may && node.repeats().worth(worker_.now())))
    return park(ref, worker_.now() + kTryAgain);
  complain(node, error, text);
  finish(ref, error);
}

void RedisStore::redirect(Node& node, OpRef ref, std::string_view text) {
  const auto to = parse_redirect(text);
  if (!to || !is_cluster() || ++ref.moved > kRedirectsMax) {
    complain(node, SharedError::moved, text);
    return finish(ref, SharedError::moved);
  }
  Node* const target = target_of(node, *to);
  if (target == nullptr) return finish(ref, SharedError::moved);
  const SharedOp& op = *pending_.op(ref);
  --ref.sent;  // nothing was executed
  if (!target->admits() || !target->has_room()) {
    if (op.renews) return finish(ref, SharedError::moved);
    --ref.moved;  // it did not get there: an attempt counts when it is made
    return park(ref, worker_.now() + kTryAgain, to->ask ? target : nullptr);
  }
  ++resent_;
  target->add(ref, op, to->slot, to->ask, Clock::wall());
}

Node* RedisStore::target_of(Node& node, const Redirect& to) {
  Node* const target = slots_->target_of(node, to);
  if (target != nullptr && !to.ask) want_slots();
  return target;
}

bool RedisStore::call(ScriptCall& call) {
  Node* const node = node_of(is_cluster() ? call.slot : 0);
  if (node == nullptr || !node->admits()) {
    want_slots();
    return false;
  }
  call.bring_text_ = false;
  call.moved_ = 0;
  return node->add_call(call, false);
}

void RedisStore::on_call_error(Node& node, ScriptCall& call, SharedError error,
                               std::string_view text) {
  const bool again = ++call.moved_ <= kRedirectsMax;
  if (again && error == SharedError::no_script && node.admits()) {
    call.bring_text_ = true;
    if (node.add_call(call, false)) return;
  }
  if (again && error == SharedError::moved && is_cluster()) {
    const auto to = parse_redirect(text);
    Node* const target = to ? target_of(node, *to) : nullptr;
    if (target != nullptr && target->admits() && target->add_call(call, to->ask)) return;
  }
  if (error == SharedError::read_only && sentinels_ != nullptr) sentinels_->ask();
  if (error == SharedError::read_only || error == SharedError::cluster_down) want_slots();
  ++errors_[static_cast<std::size_t>(error)];
  call.on_failure(error, text);
}

void RedisStore::park(OpRef ref, TimePoint not_before, Node* asking) {
  if (!parking_.add(ref, not_before, asking, worker_.now())) return finish(ref, SharedError::full);
  wake(nodes_.is_away() ? worker_.now() + kLookAgain : not_before);
}

bool RedisStore::send_parked(const Parking::Parked& parked, const SharedOp& op) {
  Node* const node = parked.asking;
  // A node that has retired may have another address now.
  if (node == nullptr || worker_.now() >= parked.ask_again ||
      node->connection().endpoint() != parked.at) {
    return send(parked.ref, op);
  }
  if (!node->admits() || !node->has_room()) return false;
  ++resent_;
  OpRef ref = parked.ref;
  ++ref.moved;
  node->add(ref, op, slot(op), true, Clock::wall());
  return true;
}

void RedisStore::unpark() {
  const TimePoint now = worker_.now();
  parking_.look(now, [this](const Parking::Parked& parked, bool due) {
    const SharedOp* const op = pending_.op(parked.ref);
    return op == nullptr || (due && send_parked(parked, *op));
  });
  if (!parking_.empty()) wake(now + (nodes_.is_away() ? kLookAgain : kTryAgain));
}

void RedisStore::when_up(std::function<void()> then) {
  up_ = std::move(then);
  tell_up();
}

void RedisStore::tell_up() {
  if (up_ && up()) std::exchange(up_, nullptr)();
}

void RedisStore::on_up(Node&) {
  if (slots_ && slots_->is_wanted()) want_slots();
  unpark();
  tell_up();
}

void RedisStore::on_down(Node&, SharedError) {
  if (sentinels_ != nullptr) sentinels_->ask();
  want_slots();
}

void RedisStore::on_master(const Endpoint& endpoint) {
  nodes_[0].connection().set_endpoint(endpoint);
}

void RedisStore::want_slots() {
  if (slots_) wake(slots_->want(worker_.now()));
}

void RedisStore::on_slots(Node& node, const Reply& reply) {
  if (!slots_->take(node, reply, worker_.now())) return;
  unpark();
  tell_up();
}

void RedisStore::wake(TimePoint at) {
  if (!armed() || at < deadline()) worker_.wheel().arm(*this, at);
}

void RedisStore::on_timer(TimePoint now) {
  unpark();
  if (slots_) wake(slots_->look(now));
}

void RedisStore::end_of_turn(TimePoint) { nodes_.end_turn(); }

bool RedisStore::up() const noexcept { return slots_ ? slots_->admit() : !nodes_.is_away(); }

RedisStats RedisStore::stats() const {
  RedisStats out;
  out.up = up();
  for (auto& node : nodes_) {
    out.calls += node->calls();
    out.bytes_out += node->bytes_out();
    out.round_trips.add(node->round_trips());
    if (running_ && node->connection().is_off()) continue;
    ++out.nodes;
    if (node->breaker() != Breaker::State::closed) ++out.nodes_open;
    out.in_flight += node->in_flight();
  }
  out.connects = connects();
  out.refuses = refuses();
  out.operations = operations_;
  out.resent = resent_;
  out.errors = errors_;
  out.errors[static_cast<std::size_t>(SharedError::timed_out)] += pending_.timed_out();
  return out;
}

std::string RedisStore::why() const {
  if (refuses()) return complaint_;
  if (up()) return {};
  for (auto& node : nodes_) {
    const Connection& connection = node->connection();
    if (connection.is_off() || node->admits()) continue;
    const std::string& why = connection.why();
    if (!why.empty() || node->is_late())
      return connection.endpoint().to_string() + ": " + (why.empty() ? "it answers too late" : why);
  }
  if (std::string told = sentinels_ != nullptr ? sentinels_->why() : ""; !told.empty())
    return "Sentinel: " + told;
  if (!slots_) return "not connected yet";
  return !slots_->why().empty() ? slots_->why() : "not all slots have a node";
}

}  // namespace weir::store
