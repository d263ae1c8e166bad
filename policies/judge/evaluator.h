#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "core/event.h"
#include "policies/judge/counting.h"
#include "policies/judge/settling.h"
#include "policies/judgement/aside.h"
#include "policies/judgement/judge_options.h"

namespace weir::policies {

/// Judges requests by a policy set: match, build keys, charge (begin), thresholds to a verdict
/// (conclude), and later the answer (keep, answered or aborted or released, ended). One per worker,
/// used by its thread alone; no allocation after warm-up but where a key is put on a list. Times
/// are arguments; the banks are shared by all workers.
class Evaluator final {
 public:
  Evaluator(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
            Observer* observer = nullptr);
  void use(std::shared_ptr<const Loaded> loaded) { matching_.use(std::move(loaded)); }
  /// Where the patterns' open matches are; without it they never match. `sink` may be null.
  void use_patterns(limiter::PatternBank* bank, PatternSink* sink = nullptr) {
    patterns_.use_patterns(bank, sink);
  }
  /// Counters with `share: redis` are asked of the shared store, by these names; without it they
  /// are counted here alone, as if nobody else were there. Must outlive the use.
  void share(const Sharing& sharing) noexcept { store_.share(sharing); }
  /// Those with `sync` are exchanged by this bank; without it they are asked of the store as well.
  /// Must outlive the use.
  void exchange(limiter::SyncedBank& synced) noexcept { work_.counts.exchange(synced); }
  const PolicySet& set() const noexcept { return *work_.set; }
  /// What `inList()` asks, as of the event judged last.
  const ListOracle& lists() const noexcept { return lists_; }
  using Options = JudgeOptions;
  /// Whether some policy reads the body of such a request before it is judged.
  bool wants_body(const Request& request) { return matching_.wants_body(request); }
  /// The verdict lives until the next judge(). Of kind `ask`: submit asking(); when its replies are
  /// there at once, told() gives the verdict, else put_aside() and later told_again().
  const Verdict& judge(const Request& request, Instant at, const Options& options);
  /// The same for an event that is no request.
  const Verdict& judge(const Record& record, Instant at, const Options& options);
  Asking& asking() noexcept { return store_.asking(); }
  const Verdict& told(const Request& request, const Options& options);
  const Verdict& told(const Record& record, const Options& options);
  /// Takes the judgement under way, but for asking(), which whoever submits has taken. The event
  /// must be given again.
  void put_aside(Aside& into);
  /// By the set that began it: only while that is in use (is_of()), else drop() it and judge anew.
  const Verdict& told_again(const Request& request, Aside& aside, const Options& options);
  const Verdict& told_again(const Record& record, Aside& aside, const Options& options);
  bool is_of(const Aside& aside) const noexcept { return aside.loaded == work_.loaded; }
  /// Its replies are there, and nobody waits for the verdict any more: all is taken back.
  void drop(Aside& aside);
  /// Operations that nobody waits for: what ends reservations, takes back, empties. To be submitted
  /// after every call, and cleared.
  Asking& errands() noexcept { return store_.errands(); }
  const Plan& plan() const noexcept { return work_.plan; }
  /// The value of a slot of the set in use, for the event that was judged last. A view until the
  /// next judgement or settlement.
  Value value(SlotId slot) { return work_.frame.load(slot); }
  /// The value of a slot of the set that judged, for the answer that answered() was given last. A
  /// view until the next judgement or settlement.
  Value value(const Settlement& settlement, SlotId slot);
  /// After a verdict that passes the request: whether anything is left to observe, and what.
  bool must_observe() const noexcept { return settling_.must_observe(); }
  /// After a judgement with Options::answer: this answer changes nothing, so that it need not be
  /// observed. False: keep() and answered(), as ever. The request must still be there.
  bool settled_by(const Answer& answer) { return settling_.settled_by(answer); }
  /// Takes it, out of the plan: plan() is empty then but for its list hits and its defect.
  void keep(Settlement& into) { settling_.keep(into); }
  /// The answer (with its body, if answer_needs_body()) is here.
  bool answer_needs_body(const Settlement& settlement) const {
    return settling_.answer_needs_body(settlement);
  }
  /// Whether an enforced policy does, so that the app must be asked for one that can be read.
  bool wants_readable_answer(const Settlement& settlement) const {
    return settling_.wants_readable_answer(settlement);
  }
  /// After answered(): why the body that policies asked for could not be read; none if it could, or
  /// nobody asked.
  MissReason unread_answer() const noexcept { return settling_.unread_answer(); }
  void answered(Settlement& settlement, const Answer& answer, Instant now) {
    settling_.answered(settlement, answer, now);
  }
  /// The client left after its request had reached the app: counts as a match, never for `reset`.
  void aborted(Settlement& settlement, Instant now) { settling_.aborted(settlement, now); }
  /// The app gave no good answer, or got no request: reservations are released.
  void released(Settlement& settlement, Instant now) { settling_.released(settlement, now); }
  /// The replies to Settlement::closing are there: what rests on them is judged.
  void closed(Settlement& settlement, Instant now) { settling_.closed(settlement, now); }
  /// Every so often while the request lasts: moves the end of the reservations and places in flight
  /// that the store holds for it. A request younger than `least` has nothing to renew yet.
  void renew(const Settlement& settlement, TimePoint now, milliseconds least) {
    settling_.renew(settlement, now, least);
  }
  /// Last: gives back the place in flight.
  void ended(Settlement& settlement) { settling_.ended(settlement); }
  /// Events that shared patterns must hear of: to be told to the store after every call, in their
  /// order. Who has told one says told_of() and gives it back.
  std::vector<std::unique_ptr<Telling>>& tellings() noexcept { return patterns_.tellings(); }
  /// How many matches of shared patterns their own rungs have refused, since the last call: the
  /// store, which has only been asked, does not know of them. Those of others count in the bank.
  std::uint64_t take_refused_matches() noexcept { return patterns_.take_refused_matches(); }
  /// The store has heard. here: the event is still the one that was judged or answered last.
  void told_of(const Telling& telling, const limiter::PatternReply& reply, Instant now, bool here) {
    patterns_.told_of(telling, reply, now, here);
  }
  /// The store is away. True: meanwhile its pattern knows of it here (`on_error: local`).
  bool keep_here(Telling& telling, Instant now) { return patterns_.keep_here(telling, now); }
  void give_back(std::unique_ptr<Telling> telling) { patterns_.give_back(std::move(telling)); }
  /// Asks all shards of a shared pattern what is due at `at`; with a lease, as PatternAsk says.
  void ask_due(const Loaded& loaded, std::size_t pattern, TimePoint at, milliseconds lease,
               Asking& into) const {
    patterns_.ask_due(loaded, pattern, at, lease, into);
  }
  /// One shard's answer, of a pattern of the set in use; when all have been taken, fire_due().
  void take_due(std::size_t pattern, const limiter::SharedReply& reply, unsigned shard, Instant now,
                bool lent) {
    patterns_.take_due(pattern, reply, shard, now, lent);
  }
  void fire_due() { patterns_.fire_due(); }
  /// At or before the earliest deadline of shared patterns that answers have told of.
  TimePoint& shared_due() noexcept { return patterns_.shared_due(); }
  /// Fires the patterns' deadlines at or before the watermark: no event as old is waited for any
  /// more. Cheap if there are none. What they list is listed at the time of their deadline.
  void advance(TimePoint watermark) { patterns_.advance(watermark); }
  /// After the last event of all files: see PatternBank::end_of_input.
  void end_of_input(TimePoint last, bool flush) { patterns_.end_of_input(last, flush); }

 private:
  template <class Occurrence>
  bool begin(const Occurrence& occurrence, Instant at, const Options& options);  ///< true: it asks
  void plan_policies(Instant at, const Options& options);
  template <class Occurrence>
  void restore(const Occurrence& occurrence, Aside& aside);
  template <class Occurrence>
  const Verdict& finish_judging(const Occurrence& occurrence, const Options& options);
  const Verdict& conclude(Instant at, const Options& options);
  const Verdict& ask_first();

  Judging work_;
  EventKeys keys_{work_};
  EventMatching matching_{work_, keys_};
  ListChecks lists_{work_, keys_, matching_};
  StoreCalls store_{work_, keys_};
  Planning planning_{work_, keys_, matching_, lists_, store_};
  Ladder ladder_{work_};
  Memory memory_{work_, keys_, store_, ladder_};
  RowGiving row_giving_{work_, keys_, ladder_};
  ViewCounting view_counting_{work_, keys_, matching_};
  PatternJudging patterns_{work_,     keys_,   matching_, lists_,     store_,
                           planning_, ladder_, memory_,   row_giving_};
  Counting counting_{work_, lists_, store_, planning_, ladder_, patterns_};
  Settling settling_{work_,   keys_,   matching_,   store_,         planning_,
                     ladder_, memory_, row_giving_, view_counting_, patterns_};
};

}  // namespace weir::policies
