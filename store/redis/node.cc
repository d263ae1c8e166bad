#include "store/redis/node.h"

#include <algorithm>
#include <utility>

#include "core/no_memory.h"
#include "core/ticks.h"
#include "store/redis/codec.h"
#include "store/resp/resp_writer.h"

namespace weir::store {

using limiter::SharedError;
using limiter::SharedOp;

Node::Node(net::Worker& worker, const Settings& settings, Connection::Greeting greeting,
           PendingBatches& pending, Owner& owner, std::uint64_t seed)
    : worker_(worker),
      pending_(pending),
      owner_(owner),
      breaker_(settings.budget, seed),
      repeats_(seed),
      connection_(worker, settings, settings.credentials, greeting, *this, seed),
      wants_functions_(settings.functions) {}

void Node::Group::clear() {
  plain.clear();
  keys.clear();
  arguments.clear();
  ops.clear();
  key_count = 0;
}

void Node::add(OpRef ref, const SharedOp& op, unsigned slot, bool asking, TimePoint wall) {
  guarded([&] { gather(ref, op, slot, asking, wall); });
}

// Runs a step. Without memory the connection is dropped, because half a call in out() or in a group
// would be answered as another one. Gathered operations are lost with the connection; operations
// that are not gathered yet fail at their deadline.
template <class Step>
bool Node::guarded(Step step) {
  const bool survived = survives_no_memory(step);
  if (!survived) connection_.drop(SharedError::unavailable);
  return survived;
}

void Node::gather(OpRef ref, const SharedOp& op, unsigned slot, bool asking, TimePoint wall) {
  const ScriptIndex index = script_of(op);
  Group& group = groups_[index];
  if (!group.empty() && (group.slot != slot || group.asking != asking)) send_group(index);
  group.slot = slot;
  group.asking = asking;
  const bool again = op.again || ref.unsure;
  if (ref.sent < 255) ++ref.sent;
  ++gathered_;
  ref.width = 1;
  if (!PlainCalls::is_plain(index, op, again) || !group.plain.add(ref, op, wall)) {
    group.plain.touch(op);
    group.key_count += append_keys(group.keys, op);
    append_argument(group.arguments, op, again,
                    {wall, op.pattern != nullptr ? clock_.at(ticks()) : std::nullopt});
    ref.width = static_cast<std::uint8_t>(answer_width(op));
    group.ops.push_back(ref);
  }
  if (group.size() + group.ops.size() >= kCallMax) send_group(index);
}

void Node::send_group(ScriptIndex index) {
  Group& group = groups_[index];
  std::string& out = connection_.out();
  const std::size_t before = out.size();
  const std::size_t plain = group.plain.refs().size(), first = knows_plain(index) ? 1 : 0;
  const auto keys = static_cast<unsigned>(group.key_count + plain);
  const unsigned commands = begin_call(store::script(index), unknown_[index], group.asking, keys,
                                       keys + first + group.ops.size());
  unknown_[index] = false;
  out += group.plain.keys();
  out += group.keys;
  if (first != 0) group.plain.append_argument(out);
  out += group.arguments;
  push({Call::What::script, index, static_cast<std::uint16_t>(group.size()), {}});
  for (const OpRef& ref : group.plain.refs()) flying_.push(ref);
  for (const OpRef& ref : group.ops) flying_.push(ref);
  bytes_out_ += out.size() - before;
  ++calls_made_;
  gathered_ -= group.size();
  group.clear();
  connection_.sent(commands);
}

bool Node::add_call(ScriptCall& call, bool asking) {
  return guarded([&] { send_call(call, asking); });
}

void Node::send_call(ScriptCall& call, bool asking) {
  std::string& out = connection_.out();
  const std::size_t before = out.size();
  const unsigned commands =
      begin_call(*call.script, call.bring_text_, asking, call.keys, call.count);
  out += call.words;
  push({Call::What::call, 0, 0, {}});
  single_.push(&call);
  call.flying_ = true;
  bytes_out_ += out.size() - before;
  ++calls_made_;
  connection_.sent(commands);
}

/// Everything of a call before its keys and arguments, of which there are `words`. Returns how many
/// commands it is.
unsigned Node::begin_call(const Script& script, bool bring, bool asking, unsigned keys,
                          std::size_t words) {
  std::string& out = connection_.out();
  unsigned commands = 1;
  if (bring && functions_) {  // FCALL cannot carry the text, as EVAL does
    append_command(out, {"FUNCTION", "LOAD", "REPLACE", function_library().text});
    push({Call::What::bring, 0, 0, {}});
    ++commands;
  }
  if (asking) {
    append_command(out, {"ASKING"});
    push({Call::What::asking, 0, 0, {}});
    ++commands;
  }
  append_count(out, '*', 3 + words);
  if (functions_) {
    append_bulk(out, "FCALL");
    append_bulk(out, script.function);
  } else {
    append_bulk(out, bring ? "EVAL" : "EVALSHA");
    append_bulk(out, bring ? script.text : script.sha1);
  }
  char digits[16];
  const auto end = std::to_chars(digits, digits + sizeof digits, keys).ptr;
  append_bulk(out, {digits, static_cast<std::size_t>(end - digits)});
  return commands;
}

void Node::push(const Call& call) {
  calls_.push(call);
  ++fresh_;
}

void Node::end_turn() {
  if (!connection_.ready()) return;
  guarded([this] { send_gathered(); });
}

void Node::send_gathered() {
  if (gathered_ != 0) {
    for (std::size_t i = 0; i < kScripts; ++i) {
      if (!groups_[i].empty()) send_group(static_cast<ScriptIndex>(i));
    }
  }
  if (fresh_ != 0) {
    const std::chrono::nanoseconds now = ticks();
    for (; fresh_ != 0; --fresh_) calls_[calls_.size() - fresh_].sent = now;
  }
  connection_.flush();
}

void Node::ask_slots() {
  if (!connection_.ready()) return;
  append_command(connection_.out(), {"CLUSTER", "SLOTS"});
  push({Call::What::slots, 0, 0, {}});
  connection_.sent(1);
}

void Node::on_ready() {
  net::Wheel::disarm(*this);
  unknown_.fill(false);
  clock_.forget();
  functions_ = wants_functions_;
  preparing_ = 0;
  ask_what_it_has();
}

void Node::ask_what_it_has() {
  std::string& out = connection_.out();
  if (functions_) {
    append_command(out, {"FUNCTION", "LIST", "LIBRARYNAME", function_library().name});
  } else {
    append_count(out, '*', 2 + kScripts);
    append_bulk(out, "SCRIPT");
    append_bulk(out, "EXISTS");
    for (std::size_t i = 0; i < kScripts; ++i)
      append_bulk(out, store::script(static_cast<ScriptIndex>(i)).sha1);
  }
  prepare(Call::What::exist);
}

void Node::prepare(Call::What what) {
  push({what, 0, 0, {}});
  ++preparing_;
  connection_.sent(1);
}

/// Sends the scripts that the server lacks. After an error, calls bring the text.
void Node::learn_what_it_has(const Reply& reply) {
  std::string& out = connection_.out();
  if (functions_) {
    if (reply.is_error() && error_of(reply.text()) == SharedError::denied) {
      functions_ = false;  // older than Redis 7, or FUNCTION is forbidden
      ask_what_it_has();
    } else if (reply.root().type == Reply::Type::array && reply.root().length == 0) {
      append_command(out, {"FUNCTION", "LOAD", "REPLACE", function_library().text});
      prepare(Call::What::load);
    }
    return;
  }
  if (reply.root().type != Reply::Type::array || reply.size() != 1 + kScripts) return;
  for (std::size_t i = 0; i < kScripts; ++i) {
    if (reply[1 + i].type != Reply::Type::integer || reply[1 + i].integer != 0) continue;
    append_command(out, {"SCRIPT", "LOAD", store::script(static_cast<ScriptIndex>(i)).text});
    prepare(Call::What::load);
  }
}

/// Any script will do: without operations it answers the time, which is none.
void Node::probe() {
  breaker_.probe_sent(worker_.now());
  const auto any = static_cast<ScriptIndex>(limiter::SharedForm::tally);
  const unsigned commands = begin_call(store::script(any), false, false, 0, 0);
  push({Call::What::probe, 0, 0, {}});
  connection_.sent(commands);
}

std::string Node::refusal(std::string_view text) const {
  constexpr std::size_t kTextMax = 160;
  std::string out = connection_.endpoint().to_string() + " refuses: ";
  return out += text.substr(0, kTextMax);
}

bool Node::probed(const Reply& reply) {
  const bool answers = reply.root().type == Reply::Type::array && reply.size() == 2 &&
                       reply[1].type == Reply::Type::integer;
  if (!answers && !reply.is_error()) return false;
  // The operations report an error themselves: the server is there.
  breaker_.probe_answered(worker_.now());
  if (breaker_.admits()) {
    connection_.worked();
    net::Wheel::disarm(*this);
    owner_.on_up(*this);
  }
  return true;
}

// Lists operations that were never sent: they cannot have been counted.
void Node::list_unsent() {
  for (const Group& group : groups_) {
    lost_.insert(lost_.end(), group.plain.refs().begin(), group.plain.refs().end());
    lost_.insert(lost_.end(), group.ops.begin(), group.ops.end());
  }
  for (OpRef& ref : lost_) --ref.sent;
}

void Node::on_down(SharedError why) {
  breaker_.trip(worker_.now());
  net::Wheel::disarm(*this);
  preparing_ = 0;
  lost_.clear();
  // Moved, not copied: all of these get their error, also without memory.
  Ring<OpRef> flying = std::exchange(flying_, {});
  Ring<ScriptCall*> single = std::exchange(single_, {});
  survives_no_memory([this] { list_unsent(); });  // the others fail at their deadline
  for (Group& group : groups_) group.clear();
  calls_.clear();
  fresh_ = 0;
  gathered_ = 0;
  owner_.on_down(*this, why);
  const SharedError error = why == SharedError::timed_out   ? SharedError::timed_out
                            : why == SharedError::malformed ? SharedError::malformed
                                                            : SharedError::lost;
  while (!flying.empty()) {
    OpRef ref = flying.pop();
    ref.unsure = true;
    owner_.on_error(*this, ref, error, {});
  }
  for (std::size_t i = 0; i < lost_.size(); ++i) owner_.on_error(*this, lost_[i], error, {});
  while (!single.empty()) {
    ScriptCall& call = *single.pop();
    call.flying_ = false;
    owner_.on_call_error(*this, call, error, connection_.why());
  }
}

void Node::on_timer(TimePoint) {
  if (breaker_.state() != Breaker::State::open || !connection_.ready() || preparing_ != 0) return;
  probe();
}

void Node::on_reply(const Reply& reply) {
  const Call call = calls_.pop();
  fresh_ = std::min(fresh_, calls_.size());  // a socket with room again may have had it already
  switch (call.what) {
    case Call::What::asking:
    case Call::What::bring:
      return;
    case Call::What::exist:
      learn_what_it_has(reply);
      [[fallthrough]];
    case Call::What::load:
      if (--preparing_ == 0) probe();
      return;
    case Call::What::slots:
      return owner_.on_slots(*this, reply);
    case Call::What::probe:
      if (!probed(reply)) return connection_.drop(SharedError::malformed);
      break;
    case Call::What::script:
      answer(call, reply, ticks());
      break;
    case Call::What::call:
      answer_single(reply);
      break;
  }
  if (breaker_.state() == Breaker::State::open && connection_.ready() && preparing_ == 0)
    worker_.wheel().arm(*this, breaker_.probe_at());
}

void Node::answer(const Call& call, const Reply& reply, std::chrono::nanoseconds heard) {
  if (call.sent.count() != 0) round_trips_.add(heard - call.sent);
  const std::uint64_t before = connection_.connects();
  if (reply.is_error()) {
    const SharedError error = error_of(reply.text());
    if (error == SharedError::no_script) unknown_[call.script] = true;
    for (unsigned i = 0; i < call.ops; ++i) {
      if (flying_.empty()) return;  // the receiver of an error closed the connection
      const OpRef ref = flying_.pop();
      if (pending_.batch(ref) != nullptr) owner_.on_error(*this, ref, error, reply.text());
    }
    return;
  }
  bool sound = reply.root().type == Reply::Type::array && reply.size() > 1 &&
               reply[1].type == Reply::Type::integer;
  const TimePoint store_time = from_ms(sound ? reply[1].integer : 0);
  if (sound) clock_.learn(store_time, heard);
  std::size_t at = 2;
  for (unsigned i = 0; i < call.ops; ++i) {
    if (flying_.empty()) return;  // the receiver of an answer closed the connection
    const OpRef ref = flying_.pop();
    answer_one(ref, reply, at, store_time, sound);
  }
  sound = sound && at == reply.size();
  if (!sound && connection_.ready() && connection_.connects() == before)
    connection_.drop(SharedError::malformed);
}

void Node::answer_single(const Reply& reply) {
  ScriptCall& call = *single_.pop();
  call.flying_ = false;
  if (reply.is_error()) {
    owner_.on_call_error(*this, call, error_of(reply.text()), reply.text());
  } else {
    call.on_answer(reply);
  }
}

void Node::answer_one(OpRef ref, const Reply& reply, std::size_t& at, TimePoint store_time,
                      bool& sound) {
  const bool plain = ref.width == 1;
  const std::size_t next = plain ? at + 1 : skip_answer(reply, at, ref.width);
  Batch* const batch = pending_.batch(ref);
  if (batch == nullptr) {  // too late
    breaker_.failed(worker_.now());
    at = next;
    return;
  }
  breaker_.succeeded();
  limiter::SharedReply& out = batch->replies[ref.op];
  const SharedOp& op = batch->ops[ref.op];
  sound = sound && next <= reply.size() &&
          (plain ? read_plain_answer(reply, at++, op, out) : read_answer(reply, at, op, out));
  if (!sound) {
    ref.unsure = true;
    owner_.on_error(*this, ref, SharedError::malformed, {});
    return;
  }
  out.at = store_time;
  if (out.error != SharedError::none) {
    owner_.on_error(*this, ref, out.error, reply.text(reply[at - 1]));
  } else {
    owner_.on_answer(*this, ref);
  }
}

}  // namespace weir::store
