#include "limiter/exchange/shared_op.h"

#include "core/assert.h"
#include "core/chars/hex.h"

namespace weir::limiter {
namespace {

constexpr std::array<SharedErrorRow, kSharedErrors> kErrors = {{
    {SharedError::none, "none", SharedRetry::none, "no error"},
    {SharedError::unavailable, "unavailable", SharedRetry::later, "no connection to the store"},
    {SharedError::timed_out, "timed_out", SharedRetry::later, "no answer by the deadline"},
    {SharedError::lost, "lost", SharedRetry::again, "the connection broke before the answer"},
    {SharedError::full, "full", SharedRetry::later, "too many operations are in flight"},
    {SharedError::loading, "loading", SharedRetry::later, "the store is loading its data"},
    {SharedError::busy, "busy", SharedRetry::again,
     "the store is busy with a script or moves keys"},
    {SharedError::read_only, "read_only", SharedRetry::again, "the node takes no writes"},
    {SharedError::moved, "moved", SharedRetry::later,
     "the cluster's nodes send each other's keys away"},
    {SharedError::cluster_down, "cluster_down", SharedRetry::later,
     "a part of the cluster is away"},
    {SharedError::out_of_memory, "out_of_memory", SharedRetry::later,
     "the store has no memory left"},
    {SharedError::misconfigured, "misconfigured", SharedRetry::later, "the store cannot persist"},
    {SharedError::denied, "denied", SharedRetry::never, "user, password or permissions are wrong"},
    {SharedError::wrong_type, "wrong_type", SharedRetry::never, "a key holds something else"},
    {SharedError::no_script, "no_script", SharedRetry::again, "the store forgot the script"},
    {SharedError::malformed, "malformed", SharedRetry::later, "the answer makes no sense"},
    {SharedError::invalid, "invalid", SharedRetry::never, "the event cannot be counted"},
    {SharedError::refused, "refused", SharedRetry::later, "any other error of the store"},
}};

/// Enters the names of counters that remember nothing: their values have another layout than those
/// of the same counter where it is exchanged, or was kept by an earlier version.
constexpr std::uint64_t kLayout = 0x9e3779b97f4a7c15U;

/// The most times of a log that remembers nothing: 24 KB. All of them are read when an event is
/// taken back, and written when some leave the window.
constexpr std::size_t kTimesMax = 4096;

bool must_remember(const CounterSpec& what, const Kind* kind) noexcept {
  if (kind == nullptr || what.real || what.outcome) return true;
  switch (kind->shared) {
    case SharedForm::fixed:
      return what.window == Window::every_first;
    case SharedForm::ring:
      return false;
    case SharedForm::log:
      return what.metric != Metric::count || what.window != Window::log || what.keep > kTimesMax;
    default:
      return true;
  }
}

}  // namespace

const SharedErrorRow& row_of(SharedError error) noexcept {
  return kErrors[static_cast<std::size_t>(error)];
}

bool may_have_happened(SharedError error) noexcept {
  switch (error) {
    case SharedError::timed_out:
    case SharedError::lost:
    case SharedError::malformed:
    case SharedError::refused:  // a script may have failed in its middle
      return true;
    default:
      return false;
  }
}

std::string name_in_store(const Hash128& identity) {
  std::string out;
  append_hex(out, identity.lo, 16);
  return out;
}

SharedCounter::SharedCounter(const Hash128& id, const CounterSpec& what, bool exchanged)
    : identity(id),
      spec(in_whole_parts(what)),
      rule(Rule::of(what)),
      kind(find_kind(what)),
      form(kind != nullptr ? kind->shared : SharedForm::fixed),
      remembers(exchanged || must_remember(what, kind)),
      name(name_in_store(remembers ? id : Hash128{id.lo ^ kLayout, id.hi})) {
  if (what.radius != 0) grid.emplace(what.radius);
}

SharedCounter SharedCounter::decimal(const Hash128& id, const CounterSpec& what) {
  SharedCounter out(id, what);
  WEIR_ASSERT(out.form == SharedForm::fixed && what.window == Window::every && !what.real &&
              !what.outcome);
  out.form = SharedForm::decimal;
  return out;
}

}  // namespace weir::limiter
