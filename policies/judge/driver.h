#pragma once

#include <memory>
#include <utility>

#include "core/event.h"
#include "policies/judge/counting.h"
#include "policies/judge/flat_judging.h"
#include "policies/judge/settling.h"
#include "policies/judgement/judge_options.h"
#include "policies/judgement/judgement.h"
#include "policies/judgement/occurrence.h"
#include "policies/judgement/outbox.h"

namespace weir::policies {

/// Judges events by a policy set: the one path of the proxy, replay, `weir test` and explain. One
/// per worker, used by its thread alone; no allocation after warm-up but where a key is put on a
/// list. Times are arguments; the banks are shared by all workers.
///
///   start() -> verdict, or suspended -> resume() -> verdict
///   of a judgement that is open then: answer(), abort() or release(); last, end()
class Driver final {
 public:
  Driver(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
         Observer* observer = nullptr);

  /// Judges by this set from now on. Suspended judgements are judged again by it; open ones are
  /// settled by the set that judged them.
  void use(std::shared_ptr<const Loaded> loaded) {
    matching_.use(std::move(loaded));
    work_.loud.forget();
  }
  /// Call it after use(), if the banks hold no counts yet and no other code will write to them.
  void count_alone() { work_.loud.begin(work_.set->policies.size()); }
  /// Where the patterns' open matches are; without it they never match. `sink` may be null.
  void use_patterns(limiter::PatternBank* bank, PatternSink* sink = nullptr) {
    patterns_.use_patterns(bank, sink);
  }
  /// Sets the store behind `outbox` for counters with `share: redis`, and their names; without it
  /// they are counted locally, as in a single process. Both must outlive the use.
  void use_store(const Sharing& sharing, Outbox& outbox) noexcept {
    store_.use_store(sharing);
    outbox_ = &outbox;
  }
  /// Sets the bank that exchanges counters with `sync`; without it they ask the store each time.
  /// Must outlive the use.
  void use_synced(limiter::SyncedBank& synced) noexcept { work_.counts.use_synced(synced); }

  using Options = JudgeOptions;
  /// Judges an event; the judgement must be closed. Null: it is suspended until the store has
  /// replied. The verdict lives until the next start() or resume(), the judgement's plan as long as
  /// the judgement is not started again.
  const Verdict* start(Judgement& judgement, const Occurrence& occurrence, Instant now,
                       const Options& options);
  /// The store has replied to a suspended judgement; pass the same event again. If another set is
  /// in use now, counts of the old set are taken back, and the event is judged again: null, as
  /// start().
  const Verdict* resume(Judgement& judgement, const Occurrence& occurrence, Instant now,
                        const Options& options);
  /// The store has replied to the operations of the judgement's settlement (Judgement::settling).
  void replied(Judgement& judgement, Instant now);
  /// The answer of an open judgement (with its body, if needs_answer_body()) is here.
  void answer(Judgement& judgement, const Answer& answer, Instant now) {
    this->answer(judgement, answer, now, [] {});
  }
  /// The same; calls `looked` while value() reads from the answer.
  template <class Looked>
  void answer(Judgement& judgement, const Answer& answer, Instant now, Looked looked) {
    try {
      look_at(judgement, answer, now);
      looked();
      settle(judgement, now);
      flush(now.now);
    } catch (...) {
      settle_rest(judgement, now);
      throw;
    }
  }
  /// The client left after its request had reached the app: counts as a match, never for `reset`.
  void abort(Judgement& judgement, Instant now);
  /// Open: the app gave no good answer, or got no request; releases the reservations. Suspended,
  /// and the store has replied: the verdict is no longer needed; takes everything back.
  void release(Judgement& judgement, Instant now);
  /// Exactly once for an open judgement, last: frees the place in flight. The judgement is closed
  /// now, or when replied() has been called if its settlement waits for the store.
  void end(Judgement& judgement, Instant now);
  /// start() or resume() has thrown, or the caller has no memory to enforce their verdict: takes
  /// back the counts of the event, and closes the judgement. Its entries on lists, its events in
  /// patterns and its counts in views stay. Before the next start() or resume(), and not where
  /// start() has given no verdict.
  void cut_short(Judgement& judgement) noexcept;
  /// Fires the deadlines of patterns at or before the watermark: no event as old as that will come
  /// any more. Cheap if there are none. Entries begin at the time of their deadline.
  void advance(TimePoint watermark);

  /// After the last event of all files: see PatternBank::end_of_input.
  void end_of_input(TimePoint last, bool flush);
  /// Every so often while a request lasts: moves the end of the reservations and places in flight
  /// that the store holds for it. One younger than `least` has nothing to renew yet. flush() sends
  /// a batch that is not full.
  void renew(Judgement& judgement, TimePoint now, milliseconds least);
  void flush(TimePoint now);

  const PolicySet& set() const noexcept { return *work_.set; }
  /// The lists that `inList()` asks, at the event judged last.
  const ListOracle& lists() const noexcept { return lists_; }
  /// Whether some policy reads the body of such a request before it is judged.
  bool wants_body(const Request& request) { return matching_.wants_body(request); }
  /// The value of a slot, of the event that was judged last or of the answer that is looked at; a
  /// view until the next call that judges or settles. `judgement`: of that event or answer.
  Value value(const Judgement& judgement, SlotId slot);
  /// While an answer is handled: why the body that policies need could not be read; none if it
  /// could, or no policy needs it.
  MissReason unread_answer() const noexcept { return work_.frame.unread_answer(); }
  /// The connection between patterns and the store.
  PatternJudging& patterns() noexcept { return patterns_; }

 private:
  bool begin(const Occurrence& occurrence, const Options& options);  ///< true: it asks
  bool is_refused_for_path(const Request& request);
  bool would_refuse(const Policy& policy) const;
  void plan_policies(Instant at, const Options& options);
  const Verdict* judge(Judgement& judgement, const Occurrence& occurrence, Instant now,
                       const Options& options, bool out_of_time);
  const Verdict* finish(const Occurrence& occurrence, Instant now, const Options& options);
  void conclude(Instant at, const Options& options);
  void look_at(Judgement& judgement, const Answer& answer, Instant now);
  void settle(Judgement& judgement, Instant now);
  void settle_rest(Judgement& judgement, Instant now) noexcept;
  void conclude_settlement(Judgement& judgement, Instant now);

  Judging work_;
  Outbox* outbox_ = nullptr;  // null: no shared policies
  EventKeys keys_{work_};
  EventMatching matching_{work_, keys_};
  ListChecks lists_{work_, keys_, matching_};
  StoreCalls store_{work_, keys_};
  Planning planning_{work_, keys_, matching_, lists_, store_};
  Ladder ladder_{work_};
  Memory memory_{work_, keys_, store_, ladder_};
  RowReporting row_reporting_{work_, keys_, ladder_};
  ViewCounting view_counting_{work_, keys_, matching_};
  PatternJudging patterns_{work_,     keys_,   matching_, lists_,        store_,
                           planning_, ladder_, memory_,   row_reporting_};
  FlatJudging flat_{work_, keys_, matching_, lists_, ladder_, row_reporting_};
  Counting counting_{work_, lists_, store_, planning_, ladder_, patterns_};
  Settling settling_{work_,   keys_,   matching_,      store_,         planning_,
                     ladder_, memory_, row_reporting_, view_counting_, patterns_};
};

}  // namespace weir::policies
