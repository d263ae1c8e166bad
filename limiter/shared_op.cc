#include "limiter/shared_op.h"

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

}  // namespace

std::span<const SharedErrorRow> shared_errors() noexcept { return kErrors; }

const SharedErrorRow& row_of(SharedError error) noexcept {
  return kErrors[static_cast<std::size_t>(error)];
}

SharedCounter::SharedCounter(const Hash128& id, const CounterSpec& what)
    : identity(id), spec(what), rule(Rule::of(what)), kind(find_kind(what)) {
  constexpr char kDigits[] = "0123456789abcdef";
  for (int shift = 60; shift >= 0; shift -= 4) name += kDigits[(id.lo >> shift) & 15U];
}

}  // namespace weir::limiter
