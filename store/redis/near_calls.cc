#include "store/redis/near_calls.h"

#include "core/chars/hex.h"

namespace weir::store {
namespace {

using limiter::PlaceGrid;
using limiter::SharedError;
using limiter::SharedOp;
using limiter::SharedReply;
using limiter::SharedVerb;

/// A `+` and the cell: no key that people can read has one (limiter::ReadableKey).
void spell(std::string_view key, PlaceGrid::Cell cell, std::string& out) {
  out = key;
  append_hex(out += '+', cell, 16);
}

bool admits(SharedVerb verb) noexcept {
  return verb == SharedVerb::add || verb == SharedVerb::reserve;
}

/// Whether its reading is one with the event.
bool has_event(SharedVerb verb) noexcept { return admits(verb) || verb == SharedVerb::look; }

/// Whether the operation reads the cells around.
bool reads(SharedVerb verb) noexcept {
  return verb != SharedVerb::release && verb != SharedVerb::take_back;
}

}  // namespace

void NearCalls::start(OpRef ref, const SharedOp& op, bool patient, TimePoint now,
                      TimePoint deadline) {
  Call& call = calls_.lend(*this);
  call.ref = ref;
  call.began = now;
  call.patient = patient;
  call.takes_back = false;
  const limiter::SharedPart& part = op.parts.front();
  call.counter.emplace(*part.counter);
  call.ceiling = part.ceiling;
  call.part = {&*call.counter, {}, part.undo};
  const PlaceGrid::Cells around = part.counter->grid->around(op.place);
  const std::size_t size = reads(op.verb) ? around.size : 1;
  for (std::size_t i = 0; i < size; ++i) {
    spell(op.key, around.cells[i], call.keys[i]);
    SharedOp& cell = call.cells[i] = op;
    if (i != 0 && op.verb != SharedVerb::reset) cell.verb = SharedVerb::read;
    cell.key = call.keys[i];
    cell.parts = {&call.part, 1};
  }
  submit(call, size, deadline);
}

void NearCalls::submit(Call& call, std::size_t cells, TimePoint deadline) {
  call.ops = std::span(call.cells).first(cells);
  call.replies = std::span(call.answers).first(cells);
  if (owner_.submit_cells(call, deadline)) gather(call);
}

void NearCalls::put_together(Call& call) {
  SharedReply& out = call.reply;
  const SharedReply& own = call.replies.front();
  out.error = SharedError::none;
  out.admitted = own.admitted;
  out.at = own.at;
  out.parts[0] = own.parts[0];
  limiter::Reading& reading = out.parts[0].reading;
  reading.in_flight = 0;
  reading_.start(call.counter->spec);
  for (const SharedReply& cell : call.replies) {
    if (out.error == SharedError::none) out.error = cell.error;
    if (out.error == SharedError::none && !reading_.add(cell.text))
      out.error = SharedError::malformed;
    reading.in_flight += cell.parts[0].reading.in_flight;
  }
  if (out.error != SharedError::none) return;
  reading_.write(reading);
  const SharedVerb verb = call.ops.front().verb;
  if (call.counter->spec.metric == Metric::exists && !has_event(verb))
    reading.value = reading.settled = Number(0);  // the cell is empty
  if (admits(verb) && call.ceiling && reading.has_value && call.ceiling->broken_by(reading.value)) {
    out.admitted = false;
  }
  reading.refused = !out.admitted;
  reading.stored = out.admitted && verb != SharedVerb::read;
}

void NearCalls::gather(Call& call) {
  if (call.takes_back) return calls_.take_back(call);
  const SharedReply& own = call.replies.front();
  SharedOp& cell = call.cells.front();
  put_together(call);
  // Also events that the caller takes for not counted, because a cell could not be read.
  const bool counted =
      admits(cell.verb) && !cell.renews && own.error == SharedError::none && own.admitted;
  call.takes_back = counted && (call.reply.error != SharedError::none || !call.reply.admitted);
  if (!call.takes_back) {
    owner_.on_near(call.ref, call.reply);
    return calls_.take_back(call);
  }
  // This precedes the caller's notification, so that the caller's next question finds it done.
  cell.verb = cell.verb == SharedVerb::add ? SharedVerb::take_back : SharedVerb::release;
  cell.at = own.at;
  call.part.undo = own.parts[0].undo;
  call.patient = true;
  const OpRef ref = call.ref;
  const SharedReply reply = call.reply;
  submit(call, 1, call.began + kTakeBackWithin);
  owner_.on_near(ref, reply);
}

}  // namespace weir::store
