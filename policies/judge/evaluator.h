#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/event.h"
#include "core/key.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "policies/judge/asking.h"
#include "policies/judge/counts.h"
#include "policies/judge/observer.h"
#include "policies/judge/pattern_sink.h"
#include "policies/judge/plan.h"
#include "policies/judge/row_sink.h"
#include "policies/judge/stats.h"
#include "policies/judge/telling.h"
#include "policies/judge/trace.h"
#include "policies/judge/unread.h"
#include "policies/judge/verdict.h"
#include "policies/lang/frame.h"
#include "policies/set/policy_set.h"
#include "policies/set/sharing.h"

namespace weir::limiter {
class Reader;
}

namespace weir::policies {

/// A policy set in use on one worker: the set, and where its statistics go.
struct Loaded {
  std::shared_ptr<const PolicySet> set;
  std::vector<StatsCells*> policy_cells;
  std::vector<StatsCells*> list_cells;
};
std::shared_ptr<const Loaded> load_on_worker(std::shared_ptr<const PolicySet> set, StatsBank& stats,
                                             std::size_t worker);

/// What must be observed of a request after it was passed: reservations, places in flight, resets.
/// Owned by whoever carries the request; reused: keeps its memory.
struct Settlement {
  std::shared_ptr<const Loaded> loaded;
  Captured captured;
  Instant at{};  ///< of the request: the events' ts
  std::vector<EventIndex> events, open_events;
  std::vector<PlannedPolicy> policies;  ///< those that reserved
  std::vector<PlannedCounter> counters;
  std::vector<std::uint16_t> counter_refs;
  std::vector<std::optional<Number>> limits;
  std::vector<PlannedCounter> in_flight;
  Asking asked;    ///< what holds the shared reservations and places in flight
  Asking closing;  ///< ends those of them whose readings are judged; not empty: submit it, then
                   ///< Evaluator::closed()
  std::vector<std::uint16_t> views;      ///< that wait for the answer
  TimePoint time{};                      ///< the event's own
  bool judged = true;                    ///< false: an allow list ended judging, only views count
  std::vector<PlannedPattern> patterns;  ///< those for which the answer decides what happened
  std::uint64_t line = 0;
  bool reserved = false;  ///< still to be settled
  /// The answer's instant: its event is still the request's.
  Instant answered_at(Instant now) const noexcept { return {now.now, now.wall, at.event, at.told}; }
  void clear();
};

/// A judgement that waits for the shared store. Reused: keeps its memory.
struct Aside {
  std::shared_ptr<const Loaded> loaded;
  Plan plan;
  Asking asking;
  Instant at{};
  TimePoint happened{};
  std::uint64_t line = 0;
};

/// What `last` remembers of a value; none: null, an error, a list, or a text that is too long.
limiter::Datum datum_of(const Value& value);
/// An address as its canonical text, which `last` can remember; other values as they are.
Value spelled(Frame& frame, const Value& value);

/// Judges requests by a policy set: match, build keys, charge (begin), thresholds to a verdict
/// (conclude), and later the answer (keep, answered or aborted or released, ended). One per worker,
/// used by its thread alone; no allocation after warm-up but where a key is put on a list. Times
/// are arguments; the banks are shared by all workers.
class Evaluator final : private ListOracle {
 public:
  Evaluator(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
            Observer* observer = nullptr);

  void use(std::shared_ptr<const Loaded> loaded);
  /// Where the patterns' open matches are; without it they never match. `sink` may be null.
  void use_patterns(limiter::PatternBank* bank, PatternSink* sink = nullptr) {
    pattern_bank_ = bank;
    pattern_sink_ = sink;
  }
  /// Counters with `share: redis` are asked of the shared store, by these names; without it they
  /// are counted here alone, as if nobody else were there. Must outlive the use.
  void share(const Sharing& sharing) noexcept { sharing_ = &sharing; }
  /// Those with `sync` are exchanged by this bank; without it they are asked of the store as well.
  /// Must outlive the use.
  void exchange(limiter::SyncedBank& synced) noexcept { counts_.exchange(synced); }
  const PolicySet& set() const noexcept { return *set_; }
  /// What `inList()` asks, as of the event judged last.
  const ListOracle& lists() const noexcept { return *this; }

  struct Options {
    bool may_wait = true;  ///< a Verdict of kind wait may be given
    bool can_hold = true;  ///< there is room among the held
    bool dry = false;      ///< change nothing: what would the verdict be
    Trace* trace = nullptr;
    RowSink* rows = nullptr;  ///< takes what is read and found, also at the answer; for replay
    /// When the event happened, to patterns and views; none: now. Live their deadlines and windows
    /// end by the clock, so what is told late happens when it is told; files have their rows'
    /// times.
    std::optional<TimePoint> happened;
    /// When the event says itself that it happened, to policies of `clock: event`; none: it does
    /// not, so that it happens now. Nothing happens later than now.
    std::optional<TimePoint> own_time;
    std::uint64_t line =
        0;  ///< where the event stands in its file; 0: nowhere, or as its Record says
    /// The app's answer, where it is in hand already, as in a log: nothing needs to be reserved for
    /// what it decides, and most answers leave nothing to observe (settled_by()).
    const Answer* answer = nullptr;
  };
  /// Whether some policy reads the body of such a request before it is judged.
  bool wants_body(const Request& request);
  /// The verdict lives until the next judge(). Of kind `ask`: submit asking(); when its replies are
  /// there at once, told() gives the verdict, else put_aside() and later told_again().
  const Verdict& judge(const Request& request, Instant at, const Options& options);
  /// The same for an event that is no request.
  const Verdict& judge(const Record& record, Instant at, const Options& options);
  Asking& asking() noexcept { return asking_; }
  const Verdict& told(const Request& request, const Options& options);
  const Verdict& told(const Record& record, const Options& options);
  /// Takes the judgement under way, but for asking(), which whoever submits has taken. The event
  /// must be given again.
  void put_aside(Aside& into);
  /// By the set that began it: only while that is in use (is_of()), else drop() it and judge anew.
  const Verdict& told_again(const Request& request, Aside& aside, const Options& options);
  const Verdict& told_again(const Record& record, Aside& aside, const Options& options);
  bool is_of(const Aside& aside) const noexcept { return aside.loaded == loaded_; }
  /// Its replies are there, and nobody waits for the verdict any more: all is taken back.
  void drop(Aside& aside);
  /// Operations that nobody waits for: what ends reservations, takes back, empties. To be submitted
  /// after every call, and cleared.
  Asking& errands() noexcept { return errands_; }
  const Plan& plan() const noexcept { return plan_; }
  /// The value of a slot of the set in use, for the event that was judged last. A view until the
  /// next judgement or settlement.
  Value value(SlotId slot) { return frame_.load(slot); }
  /// The value of a slot of the set that judged, for the answer that answered() was given last. A
  /// view until the next judgement or settlement.
  Value value(const Settlement& settlement, SlotId slot);

  /// After a verdict that passes the request: whether anything is left to observe, and what.
  bool must_observe() const noexcept;
  /// After a judgement with Options::answer: this answer changes nothing, so that it need not be
  /// observed. False: keep() and answered(), as ever. The request must still be there.
  bool settled_by(const Answer& answer);
  /// Takes it, out of the plan: plan() is empty then but for its list hits and its defect.
  void keep(Settlement& into);

  /// The answer (with its body, if answer_needs_body()) is here.
  bool answer_needs_body(const Settlement& settlement) const;
  /// Whether an enforced policy does, so that the app must be asked for one that can be read.
  bool wants_readable_answer(const Settlement& settlement) const;
  /// After answered(): why the body that policies asked for could not be read; none if it could, or
  /// nobody asked.
  MissReason unread_answer() const noexcept;
  void answered(Settlement& settlement, const Answer& answer, Instant now);
  /// The client left after its request had reached the app: counts as a match, never for `reset`.
  void aborted(Settlement& settlement, Instant now);
  /// The app gave no good answer, or got no request: reservations are released.
  void released(Settlement& settlement, Instant now);
  /// The replies to Settlement::closing are there: what rests on them is judged.
  void closed(Settlement& settlement, Instant now);
  /// Every so often while the request lasts: moves the end of the reservations and places in flight
  /// that the store holds for it. A request younger than `least` has nothing to renew yet.
  void renew(const Settlement& settlement, TimePoint now, milliseconds least);
  /// Last: gives back the place in flight.
  void ended(Settlement& settlement);

  /// Events that shared patterns must hear of: to be told to the store after every call, in their
  /// order. Who has told one says told_of() and gives it back.
  std::vector<std::unique_ptr<Telling>>& tellings() noexcept { return tellings_; }
  /// How many matches of shared patterns their own rungs have refused, since the last call: the
  /// store, which has only been asked, does not know of them. Those of others count in the bank.
  std::uint64_t take_refused_matches() noexcept { return std::exchange(refused_matches_, 0); }
  /// The store has heard. here: the event is still the one that was judged or answered last.
  void told_of(const Telling& telling, const limiter::PatternReply& reply, Instant now, bool here);
  /// The store is away. True: meanwhile its pattern knows of it here (`on_error: local`).
  bool keep_here(Telling& telling, Instant now);
  void give_back(std::unique_ptr<Telling> telling);
  /// Asks all shards of a shared pattern what is due at `at`; with a lease, as PatternAsk says.
  void ask_due(const Loaded& loaded, std::size_t pattern, TimePoint at, milliseconds lease,
               Asking& into) const;
  /// One shard's answer, of a pattern of the set in use; when all have been taken, fire_due().
  void take_due(std::size_t pattern, const limiter::SharedReply& reply, unsigned shard, Instant now,
                bool lent);
  void fire_due();
  /// At or before the earliest deadline of shared patterns that answers have told of.
  TimePoint& shared_due() noexcept { return shared_due_; }

  /// Fires the patterns' deadlines at or before the watermark: no event as old is waited for any
  /// more. Cheap if there are none. What they list is listed at the time of their deadline.
  void advance(TimePoint watermark);
  /// After the last event of all files: see PatternBank::end_of_input.
  void end_of_input(TimePoint last, bool flush);

 private:
  /// The way into everything that continues or ends an earlier judgement: while it lives, the
  /// evaluator works with the set that judged, which a reload may have replaced since. What such a
  /// function asks of the store then belongs to that set, and errand() keeps the set alive until
  /// the store has answered. Indices of a Plan or a Settlement mean nothing in another set.
  class SetInUse {
   public:
    SetInUse(Evaluator& evaluator, const std::shared_ptr<const Loaded>& loaded)
        : evaluator_(evaluator) {
      if (loaded == evaluator.loaded_) return;  // nearly always
      before_ = evaluator.loaded_;
      evaluator_.use(loaded);
    }
    ~SetInUse() {
      if (before_ != nullptr) evaluator_.use(std::move(before_));
    }
    SetInUse(const SetInUse&) = delete;
    SetInUse& operator=(const SetInUse&) = delete;

   private:
    Evaluator& evaluator_;
    std::shared_ptr<const Loaded> before_;  // null: that one is in use already
  };

  // evaluator_match.cc
  void next_epoch();
  void match(const Request& request, Trace* trace);
  void match(const Record& record, Trace* trace);
  void match_family(EventIndex base, Trace* trace);
  void mark_happened(EventIndex event) noexcept;
  void happen(const std::vector<EventIndex>& open_events);
  void mark_planned();  ///< what the plan says has happened
  bool look_at_lists(Instant at, Trace* trace);
  bool may_release(const List& list) const noexcept;
  bool contains(std::size_t list_index, std::span<const Value> key) const noexcept override;
  // What a mark says of an event, besides the epoch in which it was set.
  static constexpr std::uint32_t kHappened = 1, kOpen = 2, kUntold = 3;
  bool happened(EventIndex event) const noexcept {
    return event_marks_.data()[event] == epoch_ * 4 + kHappened;
  }
  /// The answer is here, and cannot be read.
  bool untold(EventIndex event) const noexcept {
    return event_marks_.data()[event] == epoch_ * 4 + kUntold;
  }
  bool may_happen(EventIndex event) const noexcept {
    return happened(event) || event_marks_.data()[event] == epoch_ * 4 + kOpen;
  }

  // evaluator_begin.cc
  template <class Occurrence>
  bool begin(const Occurrence& occurrence, Instant at, const Options& options);  ///< true: it asks
  /// Who watches what has happened, or may have, into candidates_, in the order of the file.
  void gather(const std::vector<std::vector<PolicySet::Watcher>>& watchers);
  void plan_policies(Instant at, const Options& options);
  enum class Part : std::uint8_t { none, takes, unread };
  Part plan_policy(const Policy& policy, std::uint16_t binding_index, bool is_last, bool as_if,
                   Instant at, const Options& options);
  void plan_plain(const Policy& policy, const Binding& binding, std::uint16_t binding_index);
  bool in_time(const Policy& policy, bool counts, Instant at, bool dry);
  bool own_lists_refuse(const Policy& policy, Instant at);
  bool load_policy_key(const Policy& policy, const Binding& binding, Trace* trace) {
    return hash_key(binding.key, binding.key_id) || hash_with_gaps(policy, binding, trace);
  }
  bool hash_with_gaps(const Policy& policy, const Binding& binding, Trace* trace);
  bool load_amount(const Policy& policy, const Binding& binding, limiter::Amount& amount,
                   Trace* trace);
  std::optional<std::size_t> load_member(const Binding& binding, std::uint64_t& member);
  bool missing(const Policy& policy, std::size_t field, std::string_view name, MissReason reason,
               Skip skip, Trace* trace);
  bool refuses_unread(const Policy& policy, std::string_view name, MissReason reason);
  void plan_unread_events(Instant at, const Options& options);
  bool plan_limits(const Policy& policy, const Binding& binding);
  void keep_datum(PlannedCounter& planned);
  std::optional<Number> load_limit(const Limit& limit);
  void plan_counters(const Policy& policy, const Binding& binding, const limiter::Amount& amount,
                     PlannedPolicy& planned);
  PlannedCounter* find_planned(std::uint16_t index, const limiter::CounterKey& key);
  void note_ceilings(const Policy& policy, const Binding& binding, const PlannedPolicy& planned);
  bool charge(Instant at, const Options& options);  ///< true: it asks the shared store
  bool plan_asks() const;
  void plan_asked();
  bool foretell(PlannedCounter& planned, Instant at);
  void charge_deferred(const Options& options);
  bool charge_here(PlannedCounter& planned, Instant at, bool refused, const Options& options);
  bool refused_by_list() const;
  void trace_counters(Trace& trace);

  // evaluator_shared.cc: counters of all replicas
  std::uint16_t spell_key(const std::vector<KeySlot>& key);
  void touch_synced(const Counter& counter, const limiter::CounterKey& key,
                    const std::vector<KeySlot>& key_slots);
  void ask(bool refused, const Options& options);
  void take_replies(const Options& options);
  void go_alone(const Options& options);
  void mirror(PlannedCounter& planned, Instant at);
  Asking::Item& errand(limiter::SharedVerb verb, std::string_view key, const limiter::Amount& event,
                       const limiter::SharedId& id);
  Asking::Item& errand_for(const PlannedCounter& planned, limiter::SharedVerb verb,
                           const Asking& asked);
  const limiter::SharedPart& part_of(const PlannedCounter& planned, const Asking& asked) const;
  bool uses_set_of(const Settlement& settlement) const noexcept {
    return settlement.loaded == loaded_;
  }
  void give_up_place(const PlannedCounter& planned, const Asking& asked);
  void end_in_store(PlannedCounter& planned, limiter::SharedVerb verb, const Asking& asked);
  void settle_in_store(Settlement& settlement, PlannedCounter& counter, bool looks_back);
  void read_in_store(Settlement& settlement, PlannedCounter& counter);
  void reset_in_store(const Counter& counter, std::string_view key, const Place& place);
  void keep_for_closing(Settlement& settlement);
  template <class Occurrence>
  void restore(const Occurrence& occurrence, Aside& aside);
  template <class Occurrence>
  const Verdict& finish_judging(const Occurrence& occurrence, const Options& options);

  // combine.cc
  struct Winner {
    int rung = -1;
    Action effect = Action::none;
    Value value;
  };
  /// Of the rungs that hold the severest one; of equal ones the later: ladders are written upwards.
  /// `holds(r, rung, value)` says whether rung r does, and with which value.
  template <class Holds>
  static Winner best_rung(const Policy& policy, bool shadow, Holds holds) {
    Winner best;
    std::size_t next = 0;
    for (const Rung& rung : policy.rungs) {
      const std::size_t r = next++;
      if (rung.disabled || rung.shadow != shadow) continue;
      Value value;
      if (!holds(r, rung, value)) continue;
      if (best.rung < 0 || severity(rung.effect) >= severity(best.effect))
        best = {static_cast<int>(r), rung.effect, value};
    }
    return best;
  }
  /// The rungs of one planned policy that won. Most events come under no rung, so only policies
  /// with a winner are kept, and all that follows from winners is free for the others.
  struct Won {
    std::size_t planned = 0;  // index into Plan::policies
    Winner enforced;          // what judges this request
    Winner settled;           // the same without others' reservations: what is remembered
    Winner shadow;
    Winner shadow_settled;  // as `settled` is to `enforced`
  };
  const Won* won_by(std::size_t planned) const noexcept;  ///< null: nothing
  /// What the rungs that won give the request: enforced ones, and enforced and shadow ones
  /// together; each also by what has settled.
  struct Scores {
    std::int64_t enforced = 0, settled = 0, all = 0, all_settled = 0;
  };
  bool rung_holds(const Policy& policy, const Binding& binding, std::size_t rung,
                  const Value& value, std::optional<Number> limit);
  void set_metrics(const Policy& policy, const std::vector<PlannedPolicy>& policies,
                   const std::vector<PlannedCounter>& counters,
                   const std::vector<std::uint16_t>& refs, bool settled);
  Winner winner(const Policy& policy, const PlannedPolicy& planned, bool shadow, bool settled,
                Trace* trace);
  void decide(const Options& options);
  void judge_planned(std::size_t planned, const Options& options);
  void add_list_standings();
  void add_standing(const PlannedPolicy& planned, const Winner& won, bool shadow);
  bool is_crowded(const Standing& standing) const;
  void choose_decider();
  void settle_provisional(Instant at);
  const Verdict& conclude(Instant at, const Options& options);
  void finish_verdict(Instant at);
  void take_back(bool all, Instant at);
  void take_back(PlannedCounter& planned);
  const Verdict& ask_first();

  // evaluator_patterns.cc
  struct Parts {
    std::uint8_t steps = 0, open_steps = 0;
    bool among = false, open_among = false;
    bool any() const noexcept { return steps != 0 || open_steps != 0 || among || open_among; }
  };
  Parts parts_of(const Policy& policy, const Pattern& pattern, std::uint16_t binding);
  void plan_pattern(const Policy& policy, Instant at, Trace* trace);
  void feed_patterns();
  void feed(const PlannedPattern& planned, std::uint8_t steps, bool among, TimePoint time,
            std::uint64_t line);
  void feed_answered(Settlement& settlement, Instant now, bool told);
  void keep_patterns(Settlement& into);
  bool own_rung_refuses(const PlannedPattern& planned) const;
  void judge_pattern(const Policy& policy, const Pattern& pattern, const PlannedPattern& planned);
  // evaluator_shared_patterns.cc: patterns of all replicas
  bool is_shared(const Pattern& pattern) const noexcept;
  void plan_asking(const Pattern& pattern, const Binding& binding, PlannedPattern& planned);
  static bool must_ask(const Pattern& pattern, PlannedPattern& planned, bool traced);
  void ask_about_patterns();
  void take_pattern_replies(const Options& options);
  bool is_told_later(const Policy& policy) const noexcept;
  void report_refused(const PlannedPattern& planned, const Policy& policy);
  Telling& new_telling();
  void tell(const PlannedPattern& planned, std::uint8_t steps, bool among, TimePoint time,
            std::uint64_t line, bool remembered);
  void remember_told(const Telling& telling, Instant now, bool here);
  // pattern_firing.cc
  std::string_view payload_of(const Policy& policy, const PlannedPattern& planned);
  void fire(const limiter::PatternMatches& matches);
  void fire_rungs(const Policy& policy, const limiter::PatternMatch& match);
  static bool read_texts(limiter::Reader& in, std::vector<std::string_view>& texts);
  void list_from_payload(const Policy& policy, std::size_t rung, std::string_view payload,
                         std::uint8_t events, Instant at);
  void for_winning_rungs(const Policy& policy, const Binding& binding, std::uint8_t events,
                         const std::function<void(std::size_t)>& what);
  void report_matches(const Policy& policy, const Binding& binding);
  void report(const Policy& policy, const limiter::PatternMatch& match);
  void load_texts();

  // evaluator_memory.cc
  void write_memory(Instant at);
  void put_on_list(const Policy& policy, const Rung& rung, std::size_t rung_index,
                   const Value& value, std::optional<Number> limit, const Hash128& key, Instant at);
  void remember(const Policy& policy, const PlannedPolicy& planned, const Rung& rung,
                std::size_t rung_index, const Value& value, std::optional<Number> limit,
                const std::vector<PlannedCounter>& counters, const std::vector<std::uint16_t>& refs,
                Instant at);
  bool lists_again(const Rung& rung) const;
  bool load_listed_key(const Policy& policy, std::uint16_t binding, std::size_t rung);
  void count_standings();

  // evaluator_answer.cc
  void note_capture(SlotId id);
  /// What the answer says of something.
  enum class Told : std::uint8_t {
    no,
    yes,
    unread,   ///< it cannot be read
    unclear,  ///< it hangs on something of the request that cannot be read
  };
  Told came_true(const PlannedPolicy& planned);
  Told load_late_amount(const PlannedPolicy& planned, limiter::Amount& amount);
  bool settles_as_match(PlannedPolicy& planned, limiter::Amount& late, bool& late_known);
  void settle_reserved(Settlement& settlement, Instant now, bool every_one_matches);
  Winner settled_winner(const Settlement& settlement, const PlannedPolicy& planned, bool shadow);
  void judge_settled(Settlement& settlement, const PlannedPolicy& planned, Instant now);
  void apply_resets(Settlement& settlement, Instant now);

  // evaluator_views.cc
  void observe_views(Instant at);
  void observe_answered_views(const Settlement& settlement);
  bool count_in_view(const View& view, const View::Binding& binding, TimePoint time, Instant at);
  bool load_view_value(const View& view, const View::Binding& binding, limiter::ViewEvent& event);

  // evaluator_rows.cc
  class RowMaker;
  void give_row(RowSink& rows, const PlannedPolicy& planned, const PlannedCounter* counter,
                const Winner& won, std::optional<Number> limit, bool settled);
  void give_rows(RowSink& rows);
  void give_settled_rows(RowSink& rows, const Settlement& settlement);

  // Keys: loads the parts into parts_, addresses masked; false at the first missing one (its index
  // in bad_).
  bool load_key(const std::vector<KeySlot>& key);
  void load_key_with_gaps(const std::vector<KeySlot>& key);  ///< missing parts are null
  Hash128 key_hash();                                        ///< of parts_, nobody's yet
  /// Hashes the parts into hash_ while a request is planned; false as load_key. Policies, lists and
  /// patterns that share a key hash it once; parts_ is not to be relied on then.
  bool hash_key(const std::vector<KeySlot>& key, KeyId id) {
    if (id == kNoKey || hashed_.data()[id].round != round_) return hash_new_key(key, id);
    hash_ = hashed_.data()[id].hash;
    return true;
  }
  bool hash_new_key(const std::vector<KeySlot>& key, KeyId id);
  /// `hash`: of parts_; a place that counts within a radius stands beside it.
  limiter::CounterKey counter_key(const Counter& counter, const Hash128& hash) {
    return counter.near() ? place_key(counter) : limiter::CounterKey(hash.owned_by(counter.what));
  }
  Hash128 hash_without_place();                           ///< of parts_
  limiter::CounterKey place_key(const Counter& counter);  ///< of parts_
  // The indices are the compiler's of the set. Hardened vectors would check each of them again, by
  // a division: an event of five policies has some hundred.
  const Counter& counter_of(const PlannedCounter& planned) const {
    return set_->counters.data()[planned.counter];
  }
  const Policy& policy_of(const PlannedPolicy& planned) const {
    return set_->policies.data()[planned.policy];
  }
  const Binding& binding_of(const PlannedPolicy& planned) const {
    return policy_of(planned).bindings.data()[planned.binding];
  }
  /// The k-th of the policy's counters, in the plan.
  PlannedCounter& planned_counter(const PlannedPolicy& planned, std::size_t k) {
    return plan_.counters.data()[plan_.counter_refs.data()[planned.first_counter + k]];
  }

  limiter::Bank& bank_;
  Counts counts_;  // by which the bank is read and written
  limiter::ListBank& list_bank_;
  const HashSecret& secret_;
  Observer* observer_;
  std::shared_ptr<const Loaded> loaded_;
  const PolicySet* set_ = nullptr;

  Frame frame_;
  Plan plan_;
  Verdict verdict_;
  Scores scores_;
  std::vector<Won> won_;  // in the order of Plan::policies
  const Sharing* sharing_ = nullptr;
  std::uint64_t sequence_ = 0;  // of this worker's events in the store
  Asking asking_;               // of the event under judgement
  Asking errands_;
  const Asking* asked_ = nullptr;  // what PlannedCounter::asked means now
  std::vector<std::string> shared_keys_;
  std::size_t shared_keys_used_ = 0;

  RowSink* rows_ = nullptr;  // of the judgement under way, or before: its answer gives rows too
  Instant at_{};             // of the judgement or settlement under way

  std::vector<std::uint32_t> event_marks_;  // by event: epoch * 4 + state
  std::uint32_t epoch_ = 0;
  std::vector<PolicySet::Watcher> candidates_;
  std::vector<Value> parts_;
  std::vector<Address> masked_;
  std::size_t bad_part_ = 0;
  std::size_t place_part_ = kNoPart;  // which of parts_ is a place, if one is
  static constexpr std::size_t kNoPart = ~std::size_t{0};
  Place place_;
  struct HashedKey {
    std::uint64_t round = 0;
    Hash128 hash;
  };
  std::vector<HashedKey> hashed_;  // by KeyId
  std::uint64_t round_ = 0;        // of planning: what has another one is of a former event
  Hash128 no_parts_;               // the hash of a key without parts: one counter for all
  Hash128 hash_;
  KeyBuilder builder_;
  mutable KeyBuilder list_builder_;  // inList(): an expression may ask while a key is half built
  std::vector<std::string> texts_;   // canonical texts of table dimensions and printable keys
  std::vector<std::optional<std::string_view>> dimensions_;
  std::vector<std::string_view> views_;
  std::vector<SlotId> captures_;

  TimePoint happened_{};  // the event under judgement, to patterns and views
  limiter::PatternBank* pattern_bank_ = nullptr;
  PatternSink* pattern_sink_ = nullptr;
  limiter::PatternMatches matches_;
  std::string payload_;
  std::vector<MatchedPattern::Event> matched_events_;
  std::uint64_t line_ = 0;  // of the record under judgement
  std::vector<std::unique_ptr<Telling>> tellings_, spare_tellings_;
  std::uint64_t refused_matches_ = 0;
  TimePoint shared_due_ = limiter::kNever;
  limiter::PatternMatches due_;  // taken, and not fired yet
};

}  // namespace weir::policies
