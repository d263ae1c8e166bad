#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/key.h"
#include "limiter/exchange/shared_pattern.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/place_grid.h"
#include "limiter/kinds/windows.h"

namespace weir::limiter {

/// The name of this identity in keys of the store: 16 hexadecimal digits.
std::string name_in_store(const Hash128& identity);

/// A counter that all replicas share, made once when the policies are loaded. Immutable.
struct SharedCounter {
  /// Does not throw; `kind` is null if there is no such kind (the caller checks). `exchanged`:
  /// replicas send their counts, and send them again if no answer came.
  SharedCounter(const Hash128& id, const CounterSpec& what, bool exchanged = false);
  /// The same for keys that others write too: SharedForm::decimal. Of counts and sums of integers
  /// in `every` windows of whole seconds, without outcomes; the key of an operation says which
  /// window.
  static SharedCounter decimal(const Hash128& id, const CounterSpec& what);

  Hash128 identity;
  CounterSpec spec;
  Rule rule;
  const Kind* kind;
  SharedForm form;  ///< meaningless without a kind
  /// The store keeps with each key which events came last, so that one that is sent again counts
  /// once. Without that adding one costs the store half, and is not sent again (store/redis).
  bool remembers;
  std::string name;               ///< of the counter in keys of the store: 16 hexadecimal digits
  std::optional<PlaceGrid> grid;  ///< of a counter with a radius
};

/// Names one event for the store, so that an operation that is sent twice counts once. A worker has
/// a random origin of its own and numbers its events upwards: events of one millisecond then keep
/// their order. The low 48 bits of each count.
struct SharedId {
  std::uint64_t origin = 0;
  std::uint64_t sequence = 0;
  friend auto operator<=>(const SharedId&, const SharedId&) = default;
};

/// The effect of an operation on its key in the store.
enum class SharedVerb : std::uint8_t {
  add = 1,    ///< adds the event unless a part's ceiling is broken (all parts or none)
  read,       ///< the reading now; changes nothing
  look,       ///< the reading with the event; changes nothing
  reset,      ///< empties the settled count; reservations stay
  reserve,    ///< judges settled + in flight + event, then holds it for `lifetime`; once more with
              ///< the same id and event it moves the end of the reservation
  settle,     ///< ends the reservation of `id`; the event is counted at `at`
  release,    ///< ends the reservation of `id`
  take_back,  ///< undoes the add of `id` with its `at` and `undo`; in_flight: the event ended
  due,        ///< of patterns alone (PatternAsk), whose other verbs are add and look
  done,       ///< as due
};

/// One window of an operation: the counter's own, or that of a rung with `in:`.
struct SharedPart {
  const SharedCounter* counter = nullptr;
  std::optional<Ceiling>
      ceiling;      ///< add, reserve: refused if the reading with the event breaks it
  double undo = 0;  ///< take_back: the value of SharedReply
};

/// One operation on one key of a shared counter, as plain data. The objects that it points to must
/// live until the reply is there.
struct SharedOp {
  static constexpr std::size_t kPartsMax = 4;

  SharedVerb verb = SharedVerb::add;
  std::span<const SharedPart> parts;  ///< 1 .. kPartsMax, on the same key; of a pattern: none
  const PatternAsk* pattern = nullptr;
  /// As limiter/exchange/shared_key.h spells it; of SharedForm::decimal the whole key, whose window
  /// is the event's.
  std::string_view key;
  Place place;  ///< of a counter with a radius: where it happened; no part of the key
  Amount event;
  SharedId id;
  TimePoint at{};            ///< settle: the request's time; take_back: SharedReply::at of the add
  milliseconds lifetime{0};  ///< reserve, in_flight: until the reservation of a dead replica ends
  std::optional<TimePoint> now;  ///< replay only; else the store's own clock
  bool again = false;  ///< add: it may have been counted before, and then it is not counted again
  /// add, reserve: once more, to move the end. Sent once: later it could come after the end of the
  /// event, and begin it again. The next renewal makes up for one that failed.
  bool renews = false;
};

/// Whether an operation that failed may be tried again.
enum class SharedRetry : std::uint8_t {
  none,   ///< no failure
  again,  ///< elsewhere or at once; the store does so by itself while there is time
  later,  ///< the store is away or busy: apply on_error now; the next event may succeed
  never,  ///< an operator must fix the cause
};

/// The reason why an operation failed; none: it has not failed.
enum class SharedError : std::uint8_t {
  none,
  unavailable,    ///< no connection, or its breaker is open
  timed_out,      ///< no answer by the deadline; it may have been counted
  lost,           ///< the connection broke; it may have been counted
  full,           ///< too much is in flight
  loading,        ///< LOADING
  busy,           ///< BUSY, TRYAGAIN
  read_only,      ///< READONLY, NOREPLICAS
  moved,          ///< MOVED or ASK without end
  cluster_down,   ///< CLUSTERDOWN, MASTERDOWN
  out_of_memory,  ///< OOM
  misconfigured,  ///< MISCONF
  denied,         ///< NOAUTH, WRONGPASS, NOPERM, unknown command
  wrong_type,     ///< the key holds something else
  no_script,      ///< NOSCRIPT, even after EVAL
  malformed,      ///< not RESP, or not an answer to this command
  invalid,        ///< the operation itself: amount, parts
  refused,        ///< any other error
};
inline constexpr std::size_t kSharedErrors = static_cast<std::size_t>(SharedError::refused) + 1;

/// The name, the retry and the help of an error: a row of a table.
struct SharedErrorRow {
  SharedError error;
  std::string_view name;  ///< a label of metrics
  SharedRetry retry;
  std::string_view help;
};
const SharedErrorRow& row_of(SharedError error) noexcept;
/// Whether an operation with this error may have taken effect all the same, in whole or in part.
bool may_have_happened(SharedError error) noexcept;

/// The store's answer for one part of an operation.
struct SharedReading {
  /// value, settled, has_value, in_flight, datum. With add, look and reserve they include the
  /// event.
  Reading reading;
  double undo = 0;  ///< the argument of take_back
  /// read, and add `again`, of a count or sum over every_first: when the window began, by the
  /// store's clock. The epoch: there is none, or it was not asked in that way.
  TimePoint began{};
};

/// The store's answer to an operation.
struct SharedReply {
  SharedError error = SharedError::none;  ///< any other: nothing else here means anything
  bool admitted = false;                  ///< add, reserve: counted; settle: counted
  TimePoint at{};                         ///< the store's time
  std::array<SharedReading, SharedOp::kPartsMax> parts;
  Datum datum;       ///< `last`: the value that the reading points to
  std::string text;  ///< the datum's text
  PatternReply pattern;
};

}  // namespace weir::limiter
