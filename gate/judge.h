#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>

#include "core/clock.h"
#include "core/effect.h"
#include "core/event.h"
#include "core/key.h"
#include "core/path_readings.h"

namespace weir::gate {

/// The remaining work for a request: reservations to settle, a place in flight to return. Owned by
/// the Judge that made it, until finish().
class Ticket;

/// The action of a door on a request, and the data that it must pass to the Judge later.
struct Decision {
  /// The reason why a request waits; for park().
  struct Wait {
    /// The judgement that waits for the shared store; null: the request waits for reservations of
    /// others, and is then judged from the start.
    Ticket* suspended = nullptr;
    Hash128 key = {};        ///< of the counter whose reservations are in the way
    bool elsewhere = false;  ///< other replicas may hold them, and announce no settlements
  };
  Effect effect;
  Ticket* ticket = nullptr;  ///< null: nothing to observe; never set when effect is answer or wait
  /// An enforced policy reads the body of the answer: ask the app for all of it, in a coding that
  /// can be read.
  bool reads_answer = false;
  // For logs and metrics; names of the policy set, alive as long as the views of the effect.
  std::string_view event = {};  ///< the named event that the request is; empty: none but `request`
  std::string_view verdict =
      {};  ///< an action's name, `pass`, or `allow`: an allow list ended judging
  std::string_view policy = {};  ///< the policy or list that decided; empty: none
  std::uint8_t route = 0;        ///< class of the event (telemetry::Latency)
  Wait wait = {};                ///< effect wait: for park()
};

/// How a request that was not answered by us ended.
enum class End : std::uint8_t {
  complete,         ///< the app's answer went through (or at least its head was seen: answered())
  not_sent,         ///< no byte of it reached the app (client left while held, connect failed)
  upstream_failed,  ///< the app took it, but gave no answer (cut, time-out)
  aborted,          ///< the client left after a byte had reached the app, before the answer's head
  unacceptable,  ///< the app answered, and the door cannot accept the answer: it counts as aborted
};

/// A request that waits for reservations of others to settle, or for the shared store. Lives in the
/// session of the door; linked into the Judge's queue between park() and resume() or unpark().
class Waiter {
 public:
  /// Judge again, now or later: by Judge::resume() if it waits_for_store(), else by Judge::judge().
  /// The Waiter is no longer parked. Called only from within tick(), and once. If there is no
  /// memory to judge again, it must end the request that waits, for it is not called again.
  /// std::bad_alloc goes no further than tick().
  virtual void resume(TimePoint now) = 0;
  /// Whether its judgement waits for the shared store, and not (any more) for others.
  bool waits_for_store() const noexcept { return suspended_ != nullptr; }
  /// The next judgement refuses a `delay` that holds the request for longer, because the caller of
  /// the door would have left: 429 with Retry-After, and nothing is counted. Without it: no limit.
  void set_longest_hold(milliseconds hold) noexcept {
    longest_hold_ms_ =
        static_cast<std::uint32_t>(std::clamp<std::int64_t>(hold.count(), 0, kNoLongestHold));
  }
  milliseconds longest_hold() const noexcept {
    return longest_hold_ms_ == kNoLongestHold ? milliseconds::max()
                                              : milliseconds{longest_hold_ms_};
  }

 protected:
  ~Waiter() = default;

 private:
  friend class WaitQueue;
  friend class Gate;
  static constexpr std::uint32_t kNoLongestHold = 0xFFFF'FFFF;
  Waiter* previous_ = nullptr;  // among those whose keys fall into one group
  Waiter* next_ = nullptr;
  Hash128 key_;           // of the counter whose reservations are in the way
  TimePoint deadline_{};  // of the whole wait, also over several parks; epoch: not waiting
  bool parked_ = false;
  std::uint32_t longest_hold_ms_ = kNoLongestHold;
  Ticket* suspended_ = nullptr;  // whose judgement waits for the shared store
};

/// The one path from a request to an effect, as front doors see it. One per worker, used by its
/// thread alone; nothing here blocks or allocates after warm-up.
class Judge {
 public:
  virtual ~Judge() = default;

  /// Whether some policy of this request reads its body, so that the door must buffer it (up to
  /// `limits.body`) before judge(). Looks at method, path and headers only; body_state is not_read.
  /// Not of a request that is refused for its path.
  virtual bool wants_body(const Request& request) = 0;

  /// Begins the judgement of a request. With `may_wait` false the request does not wait for
  /// reservations of others (its wait is over, or the queue is full): it is refused instead. It
  /// still waits for the shared store, for `redis.budget` at most. Views in the effect are valid
  /// until the next judge() or resume(). `waiter`: the session's own, the same for every judgement
  /// of a request; it does not wait for the store.
  virtual Decision judge(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) = 0;
  /// Goes on with a judgement that was suspended: the waiter was parked with it, waits for the
  /// store, and has been resumed. Pass the same request.
  virtual Decision resume(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) = 0;

  /// Parks a session by its decision, whose effect is `wait`; before the next tick(), which takes
  /// back a judgement without a waiter. False: the queue is full; judge() with may_wait false. A
  /// resumed session judges again (see judge_or_park()); may_wait is `now < waiting_until(waiter)`.
  virtual bool park(Waiter& waiter, const Decision& decision, TimePoint now) = 0;
  virtual TimePoint waiting_until(const Waiter& waiter) const = 0;
  /// Ends the wait: the verdict is not `wait`, or the client left. Does nothing if the wait never
  /// began.
  virtual void unpark(Waiter& waiter) = 0;

  /// A `delay` is over (or its client left): gives the place among the held back. Call it exactly
  /// once per delay effect, before the request goes upstream or finish(not_sent).
  virtual void end_hold() = 0;

  /// The head of the final answer (not 1xx) is here. True: some policy reads its body; then the
  /// door copies up to `limits.body` bytes beside the stream and calls answered_body() when the
  /// body ends, however it ends: a body that is not whole is `broken`.
  virtual bool answered(Ticket& ticket, const Answer& answer, TimePoint now) = 0;
  virtual void answered_body(Ticket& ticket, const Answer& answer, TimePoint now) = 0;

  /// Exactly once per ticket, last.
  virtual void finish(Ticket& ticket, End end, TimePoint now) = 0;

  /// Call it at the end of every event-loop turn while has_waiters(), and at least every 20 ms:
  /// resumes waiters with replies of the store, waiters whose reservations have settled, here or on
  /// another worker, and waiters whose deadline has passed.
  virtual bool has_waiters() const = 0;
  virtual void tick(TimePoint now) = 0;
};

}  // namespace weir::gate
