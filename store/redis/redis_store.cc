#include "store/redis/redis_store.h"

#include <algorithm>
#include <utility>

#include "store/redis/codec.h"

namespace weir::store {
namespace {

using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedReply;

constexpr milliseconds kSlotsAgain{100};  // between two questions for the slots, at least
constexpr milliseconds kSlotsEvery{5'000};
constexpr milliseconds kComplains{1'000};  // where some operations fail and others don't
constexpr milliseconds kForgets{5'000};    // where none has been asked for since
constexpr std::size_t kComplaintMax = 160;
constexpr milliseconds kTryAgain{8};  // TRYAGAIN, LOADING: a tick of the wheel
// While no server takes operations, a look at all parked ones finds only those whose time is over.
// A server that comes up is told of at once.
constexpr milliseconds kLookAgain{100};
// A slot that is on its way may have arrived, or stayed: then its node knows.
constexpr milliseconds kAskAgain{100};

}  // namespace

RedisStore::RedisStore(net::Worker& worker, Settings settings, std::uint64_t seed)
    : worker_(worker), settings_(std::move(settings)), seed_(seed), tickets_(worker.wheel()) {
  Node::Owner& self = *this;
  if (is_cluster()) {
    slots_.assign(kSlots, 0);
    settings_.database = 0;
    for (const Endpoint& endpoint : settings_.endpoints) node_at(endpoint);
    seeds_ = nodes_.size();
  } else {
    const bool sentinel = settings_.mode == Settings::Mode::sentinel;
    nodes_.push_back(std::make_unique<Node>(
        worker_, settings_, sentinel ? Connection::Greeting::master : Connection::Greeting::ping,
        tickets_, self, seed_));
    if (sentinel) {
      sentinels_ = std::make_unique<Sentinels>(worker_, settings_,
                                               static_cast<Sentinels::Owner&>(*this), seed_ + 1);
    } else {
      nodes_[0]->connection().set_endpoint(settings_.endpoints.front());
    }
  }
}

RedisStore::~RedisStore() { disconnect(); }

void RedisStore::start() {
  if (running_) return;
  running_ = true;
  worker_.reactor().add_hook(*this);
  for (auto& node : nodes_) node->connection().start();
  if (sentinels_ != nullptr) sentinels_->start();
  if (is_cluster()) want_slots(worker_.now());
}

void RedisStore::stop() {
  disconnect();
  tickets_.cancel_all();
}

void RedisStore::disconnect() {
  if (!running_) return;
  running_ = false;
  worker_.reactor().remove_hook(*this);
  net::Wheel::disarm(*this);
  if (sentinels_ != nullptr) sentinels_->stop();
  for (auto& node : nodes_) {
    node->end_turn();  // sends as much as possible
    node->connection().stop();
  }
  parked_.clear();
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
  if (!is_cluster()) return nodes_[0].get();
  const std::uint16_t at = slots_[slot];
  return at == 0 ? nullptr : nodes_[at - 1U].get();
}

Node* RedisStore::node_at(const Endpoint& endpoint) {
  Node* retired = nullptr;
  for (auto& node : nodes_) {
    if (running_ && node->connection().is_off()) retired = node.get();
    if (node->connection().endpoint() != endpoint) continue;
    if (running_) node->connection().start();
    return node.get();
  }
  if (retired != nullptr) {
    retired->connection().set_endpoint(endpoint);
    retired->connection().start();
    return retired;
  }
  if (nodes_.size() >= kNodesMax) return nullptr;
  Node::Owner& self = *this;
  nodes_.push_back(std::make_unique<Node>(worker_, settings_, Connection::Greeting::ping, tickets_,
                                          self, seed_ + nodes_.size() * 7919));
  Node* const made = nodes_.back().get();
  made->connection().set_endpoint(endpoint);
  if (running_) made->connection().start();
  return made;
}

bool RedisStore::submit(Batch& batch, TimePoint deadline) { return submit(batch, deadline, true); }

bool RedisStore::submit_cells(Batch& cells, TimePoint deadline) {
  return submit(cells, deadline, false);
}

void RedisStore::on_near(OpRef ref, const SharedReply& reply) {
  Batch* const batch = tickets_.batch(ref);
  if (batch == nullptr) return;
  SharedReply& out = batch->replies[ref.op];
  out.error = reply.error;
  out.admitted = reply.admitted;
  out.at = reply.at;
  out.parts[0] = reply.parts[0];
  tickets_.answered(ref, worker_.now());
}

/// whole: a radius has not been taken apart yet.
bool RedisStore::submit(Batch& batch, TimePoint deadline, bool whole) {
  OpRef ref = tickets_.open(batch, deadline);
  try {
    for (std::size_t i = 0; i < batch.ops.size() && tickets_.batch(ref) != nullptr; ++i) {
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
  } catch (...) {  // no memory: whoever submits ends what the batch is for
    tickets_.submitted(ref);
    cancel(batch);
    throw;
  }
  tickets_.submitted(ref);
  if (batch.ops.empty()) cancel(batch);
  return tickets_.batch(ref) == nullptr;
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

void RedisStore::cancel(Batch& batch) noexcept { tickets_.cancel(batch); }

bool RedisStore::send(OpRef ref, const SharedOp& op) {
  const unsigned at = slot(op);
  Node* const node = node_of(at);
  if (node == nullptr || !node->admits()) {
    if (is_cluster()) want_slots(worker_.now());
    return false;
  }
  if (!node->has_room()) return false;
  if (ref.sent > 0 || ref.moved > 0) ++resent_;
  node->add(ref, op, at, false, Clock::wall());
  return true;
}

void RedisStore::finish(OpRef ref, SharedError error) {
  Batch* const batch = tickets_.batch(ref);
  if (batch == nullptr) return;
  batch->replies[ref.op].error = error;
  ++errors_[static_cast<std::size_t>(error)];
  tickets_.answered(ref, worker_.now());
}

void RedisStore::on_answer(Node& node, OpRef ref) {
  helped_at_ = worker_.now();
  if (ref.sent > 1) node.repeats().helped();
  tickets_.answered(ref, worker_.now());
}

/// A server that is there and refuses (NOPERM, OOM, READONLY, MOVED outside of a cluster) looks
/// healthy by its connection alone. A wrong type concerns one key only.
void RedisStore::complain(Node& node, SharedError error, std::string_view text) {
  if (text.empty() || error == SharedError::wrong_type) return;
  complained_at_ = worker_.now();
  complaint_ = node.connection().endpoint().to_string() + " refuses: ";
  complaint_ += text.substr(0, kComplaintMax);
  if (error == SharedError::moved && !is_cluster())
    complaint_ += " (it is a node of a Cluster, which redis.cluster is for)";
}

bool RedisStore::refuses() const noexcept {
  const milliseconds lasts = helped_at_ < complained_at_ ? kForgets : kComplains;
  return !complaint_.empty() && worker_.now() < complained_at_ + lasts;
}

void RedisStore::on_error(Node& node, OpRef ref, SharedError error, std::string_view text) {
  const SharedOp* const op = tickets_.op(ref);
  if (op == nullptr) return;
  if (error == SharedError::moved) return redirect(node, ref, text);
  if (error == SharedError::read_only) {  // the server is not the master any more
    if (sentinels_ != nullptr) sentinels_->ask();
    if (is_cluster()) want_slots(worker_.now());
  }
  if (error == SharedError::cluster_down && is_cluster()) want_slots(worker_.now());
  // The connection broke. What it had not sent yet has not been executed.
  const bool broke = error == SharedError::lost || error == SharedError::timed_out ||
                     error == SharedError::malformed;
  if (broke && ref.unsure && !counts_once(*op)) return finish(ref, error);
  ref.unsure = ref.unsure || (!broke && limiter::may_have_happened(error));
  const bool patient = tickets_.batch(ref)->patient && !op->renews;
  const limiter::SharedRetry retry = limiter::row_of(error).retry;
  // If there is no time for another attempt, the server's answer is final.
  const bool in_time = worker_.now() + kTryAgain < tickets_.deadline(ref);
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
  const SharedOp& op = *tickets_.op(ref);
  --ref.sent;  // nothing was executed
  if (!target->admits() || !target->has_room()) {
    if (op.renews) return finish(ref, SharedError::moved);
    --ref.moved;  // it did not get there: an attempt counts when it is made
    return park(ref, worker_.now() + kTryAgain, to->ask ? target : nullptr);
  }
  ++resent_;
  target->add(ref, op, to->slot, to->ask, Clock::wall());
}

/// Where an operation or call is to go instead. Null: too many nodes.
Node* RedisStore::target_of(Node& node, const Redirect& to) {
  Endpoint endpoint = to.to;
  if (endpoint.host.empty()) endpoint.host = node.connection().endpoint().host;
  Node* const target = node_at(endpoint);
  if (target == nullptr || to.ask) return target;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].get() == target) slots_[to.slot] = static_cast<std::uint16_t>(i + 1);
  }
  want_slots(worker_.now());
  return target;
}

bool RedisStore::call(ScriptCall& call) {
  Node* const node = node_of(is_cluster() ? call.slot : 0);
  if (node == nullptr || !node->admits()) {
    if (is_cluster()) want_slots(worker_.now());
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
  if ((error == SharedError::read_only || error == SharedError::cluster_down) && is_cluster())
    want_slots(worker_.now());
  ++errors_[static_cast<std::size_t>(error)];
  call.on_failure(error, text);
}

void RedisStore::park(OpRef ref, TimePoint not_before, Node* asking) {
  if (parked_.size() >= kParkedMax) return finish(ref, SharedError::full);
  parked_.push_back({ref, not_before, asking, worker_.now() + kAskAgain});
  wake(is_away() ? worker_.now() + kLookAgain : not_before);
}

bool RedisStore::is_away() const noexcept {
  return std::none_of(nodes_.begin(), nodes_.end(),
                      [](const auto& node) { return node->admits(); });
}

bool RedisStore::send_parked(const Parked& parked, const SharedOp& op) {
  Node* const node = parked.asking;
  if (node == nullptr || worker_.now() >= parked.ask_again) return send(parked.ref, op);
  if (!node->admits() || !node->has_room()) return false;
  ++resent_;
  node->add(parked.ref, op, slot(op), true, Clock::wall());
  return true;
}

void RedisStore::unpark() {
  const TimePoint now = worker_.now();
  unparking_.clear();
  unparking_.swap(parked_);
  for (const Parked& parked : unparking_) {
    const SharedOp* const op = tickets_.op(parked.ref);
    if (op == nullptr) continue;
    if (parked.not_before <= now && send_parked(parked, *op)) continue;
    parked_.push_back(parked);
  }
  if (!parked_.empty()) wake(now + (is_away() ? kLookAgain : kTryAgain));
}

void RedisStore::when_up(std::function<void()> then) {
  up_ = std::move(then);
  tell_up();
}

void RedisStore::tell_up() {
  if (up_ && stats().up) std::exchange(up_, nullptr)();
}

void RedisStore::on_up(Node&) {
  if (slots_wanted_) want_slots(worker_.now());
  unpark();
  tell_up();
}

void RedisStore::on_down(Node&, SharedError) {
  if (sentinels_ != nullptr) sentinels_->ask();
  if (is_cluster()) want_slots(worker_.now());
}

void RedisStore::on_master(const Endpoint& endpoint) {
  nodes_[0]->connection().set_endpoint(endpoint);
}

void RedisStore::want_slots(TimePoint now) {
  slots_wanted_ = true;
  if (now < slots_asked_ + kSlotsAgain) return wake(slots_asked_ + kSlotsAgain);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = *nodes_[(slots_turn_ + i) % nodes_.size()];
    if (!node.connection().ready()) continue;
    slots_turn_ += i + 1;
    slots_asked_ = now;
    slots_wanted_ = false;
    node.ask_slots();
    break;
  }
  wake(now + kSlotsAgain);
}

void RedisStore::on_slots(Node& node, const Reply& reply) {
  if (reply.is_error()) {  // asked again in a while, of another
    slots_why_ = node.connection().endpoint().to_string() + " refuses: ";
    slots_why_ += reply.text().substr(0, kComplaintMax);
    return;
  }
  const std::string& here = node.connection().endpoint().host;
  std::vector<std::uint16_t> fresh(kSlots, 0);
  const bool good = read_slots(reply, [&](unsigned first, unsigned last, const Endpoint& master) {
    Endpoint endpoint = master;
    if (endpoint.host.empty()) endpoint.host = here;
    Node* const owner = node_at(endpoint);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].get() != owner) continue;
      std::fill(fresh.begin() + first, fresh.begin() + last + 1, static_cast<std::uint16_t>(i + 1));
    }
  });
  if (!good) return;
  slots_.swap(fresh);
  slots_why_.clear();
  retire();
  slots_known_ = worker_.now();
  unpark();
  tell_up();
}

/// Nodes that have left, perhaps for another address, as they do in Kubernetes.
void RedisStore::retire() {
  std::vector<bool> owns(nodes_.size());
  for (const std::uint16_t at : slots_) {
    if (at != 0) owns[at - 1U] = true;
  }
  for (std::size_t i = seeds_; i < nodes_.size(); ++i) {
    Node& node = *nodes_[i];
    if (!owns[i] && !node.connection().ready() && node.in_flight() == 0) node.connection().stop();
  }
}

void RedisStore::wake(TimePoint at) {
  if (!armed() || at < deadline()) worker_.wheel().arm(*this, at);
}

void RedisStore::on_timer(TimePoint now) {
  unpark();
  if (!is_cluster()) return;
  if (slots_wanted_ || now - slots_known_ >= kSlotsEvery) {
    want_slots(now);
  } else {
    wake(slots_known_ + kSlotsEvery);
  }
}

void RedisStore::end_of_turn(TimePoint) {
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->end_turn();
}

RedisStats RedisStore::stats() const {
  RedisStats out;
  out.up = true;
  bool any = false;
  for (auto& node : nodes_) {
    out.calls += node->calls();
    out.bytes_out += node->bytes_out();
    out.connects += node->connection().connects();
    out.round_trips.add(node->round_trips());
    if (running_ && node->connection().is_off()) continue;
    ++out.nodes;
    if (node->breaker() != Breaker::State::closed) ++out.nodes_open;
    any = any || node->admits();
    out.in_flight += node->in_flight();
  }
  if (is_cluster()) {
    for (const std::uint16_t at : slots_) {
      if (at == 0 || !nodes_[at - 1U]->admits()) {
        out.up = false;
        break;
      }
    }
  }
  out.up = out.up && any;
  out.refuses = refuses();
  out.operations = operations_;
  out.resent = resent_;
  out.errors = errors_;
  out.errors[static_cast<std::size_t>(SharedError::timed_out)] += tickets_.timed_out();
  return out;
}

std::string RedisStore::why() const {
  const RedisStats now = stats();
  if (now.refuses) return complaint_;
  if (now.up) return {};
  for (auto& node : nodes_) {
    const Connection& connection = node->connection();
    if (connection.is_off() || node->admits()) continue;
    const std::string& why = connection.why();
    if (!why.empty() || node->is_late())
      return connection.endpoint().to_string() + ": " + (why.empty() ? "it answers too late" : why);
  }
  if (std::string told = sentinels_ != nullptr ? sentinels_->why() : ""; !told.empty())
    return "Sentinel: " + told;
  if (!slots_why_.empty()) return slots_why_;
  return is_cluster() ? "not all slots have a node" : "not connected yet";
}

}  // namespace weir::store
