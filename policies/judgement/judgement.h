#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/assert.h"
#include "policies/judgement/loaded.h"
#include "policies/judgement/plan.h"
#include "policies/judgement/store_ops.h"
#include "policies/lang/frame.h"

namespace weir::policies {

/// The base of an object that has a judgement and takes it to an Outbox whose replies come later.
/// The Outbox knows which class that is.
class JudgementCarrier {
 protected:
  JudgementCarrier() = default;
  ~JudgementCarrier() = default;
};

/// One event, from the first look at it to the last settlement:
///
///   closed -> planned -> (suspended -> planned ->) decided -> open -> closed
///
/// A judgement that waits, for the shared store or for the app's answer, holds the policy set that
/// planned it as long as it waits, so a reload does not destroy that set. The object that carries
/// the event owns and reads the judgement; only the Driver changes it. Reused: keeps its memory.
struct Judgement {
  /// The state of a judgement.
  enum class Phase : std::uint8_t {
    closed,     ///< nothing is left to do; may be started
    planned,    ///< within Driver::start() and resume() only
    suspended,  ///< the shared store has been asked: Driver::resume() continues
    decided,    ///< within Driver::start() and resume() only
    open,       ///< the event was passed: its answer is awaited, or its end
  };
  Phase phase = Phase::closed;
  bool observes = false;       ///< open: the answer, or the end, changes something
  bool reserved = false;       ///< open: reservations have to be settled
  bool open_patterns = false;  ///< open: patterns wait for the answer
  bool settling = false;       ///< open: the store has been asked about `closing`
  bool ended = false;          ///< only the replies to `closing` are missing

  std::shared_ptr<const Loaded> loaded;  ///< while suspended or open; else null
  Plan plan;
  Instant at{};          ///< when it was judged: the events' ts
  TimePoint happened{};  ///< when the event did, to patterns and views: at.now, or its row's time
  std::uint64_t line = 0;
  StoreOps asked;     ///< the judgement's operations in the store, which hold its reservations and
                      ///< places in flight there
  StoreOps closing;   ///< ends those of them whose readings are judged
  Captured captured;  ///< values of the event for the answer side
  std::vector<PlannedCounter> in_flight;
  JudgementCarrier* carrier = nullptr;  ///< null: only an Outbox that replies at once may be asked

  bool is_closed() const noexcept { return phase == Phase::closed; }
  bool is_suspended() const noexcept { return phase == Phase::suspended; }
  bool is_open() const noexcept { return phase == Phase::open; }
  /// Open: whether the answer cannot be judged without its body.
  bool needs_answer_body() const;
  /// Open: whether an enforced policy reads the body, so that the app must be asked for one that
  /// can be read.
  bool wants_readable_answer() const;
  /// The answer's instant: its event is still the request's.
  Instant answered_at(Instant now) const noexcept {
    return {now.now, now.wall, at.event, at.has_own_time};
  }

  /// The first look: forgets the event before.
  void begin(Instant now, TimePoint when, std::uint64_t where);
  /// Holds the set from now on.
  void hold(const std::shared_ptr<const Loaded>& set, Phase until) {
    loaded = set;
    phase = until;
  }
  /// Suspended, and the store has replied: continues with the plan. The set is the driver's own, so
  /// the judgement need not hold the set.
  void go_on() {
    WEIR_ASSERT(is_suspended());
    hold(nullptr, Phase::planned);
  }
  /// Lets go of the set. The plan can be read until the next begin().
  void close() {
    WEIR_ASSERT(!settling);
    phase = Phase::closed;
    reserved = open_patterns = false;
    if (loaded != nullptr) loaded.reset();  // most judgements are never open
    if (!in_flight.empty()) in_flight.clear();
    if (!closing.empty()) closing.clear();
  }
};

}  // namespace weir::policies
