#include "policies/judge/driver.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/no_memory.h"
#include "policies/judgement/path_defect.h"

namespace weir::policies {
namespace {

using limiter::SharedError;

/// The number of renewals in one batch: an operation's place in its batch is a 16-bit number.
constexpr std::size_t kRenewedAtOnce = 1'024;

/// After every deadline that a pattern may have.
constexpr TimePoint kEndOfTime = from_ms(std::int64_t{1} << 50);

/// Adds the event's own time; one in the future counts as now.
Instant with_own_time(Instant at, const JudgeOptions& options) {
  at.has_own_time = options.own_time.has_value();
  at.event = std::min(options.own_time.value_or(at.wall), at.wall);
  return at;
}

}  // namespace

Driver::Driver(limiter::Bank& counters, limiter::ListBank& lists, const HashSecret& secret,
               Observer* observer)
    : work_(counters, lists, secret, observer) {
  work_.oracle = &lists_;
}

const Verdict* Driver::start(Judgement& judgement, const Occurrence& occurrence, Instant now,
                             const Options& options) {
  return judge(judgement, occurrence, now, options, false);
}

/// `out_of_time`: it has waited for the store as long as it may, so the store is not asked.
const Verdict* Driver::judge(Judgement& judgement, const Occurrence& occurrence, Instant now,
                             const Options& options, bool out_of_time) {
  const Instant at = with_own_time(now, options);
  judgement.begin(at, options.happened.value_or(at.now),
                  options.line != 0 ? options.line : occurrence.line());
  work_.judgement = &judgement;
  flat_.forget();
  if (begin(occurrence, options)) {
    if (out_of_time) {
      for (limiter::SharedReply& reply : judgement.asked.replies())
        reply.error = SharedError::timed_out;
    } else if (!outbox_->ask(judgement, judgement.asked, now.now)) {
      judgement.hold(work_.loaded, Judgement::Phase::suspended);
      work_.judgement = nullptr;
      survives_no_memory([&] { flush(now.now); });  // the next flush() sends the rest
      return nullptr;
    }
    counting_.note_in_store();
    counting_.take_replies(options);
  }
  return finish(occurrence, now, options);
}

bool Driver::begin(const Occurrence& occurrence, const Options& options) {
  const Instant at = work_.judgement->at;
  work_.at = at;
  work_.rows = options.rows;
  keys_.begin_event(options.prepared);
  store_.forget_keys();
  occurrence.visit(
      [&](const auto& event) { work_.frame.begin(work_.set->slots, event, work_.oracle); });
  matching_.match(occurrence, options.prepared, options.trace);
  const Request* const request = occurrence.request();
  if (request != nullptr && request->readings != nullptr && is_refused_for_path(*request))
    return false;
  if (lists_.look_at_lists(at, options.trace)) {
    if (work_.plan().would_refuse.empty() && flat_.charge(occurrence, at, options)) {
      if (!flat_.is_done()) counting_.charge_rest(flat_.write_plan(), at, options);
      return false;
    }
    if (!work_.set->policies.empty()) plan_policies(at, options);
    return !work_.plan().defect && !work_.plan().is_silent() && counting_.charge(at, options);
  }
  if (options.trace != nullptr) {
    for (const Policy& policy : work_.set->policies) {
      options.trace->skipped(policy, work_.plan().allowed ? Skip::exempt : Skip::denied, {},
                             MissReason::none);
    }
  }
  return false;
}

/// Runs before the lists are asked, because the path may decide which lists apply.
bool Driver::is_refused_for_path(const Request& request) {
  Plan& plan = work_.plan();
  plan.defect = path_defect(*work_.set, request);
  if (!plan.defect) add_path_defects_in_shadow(*work_.set, request, plan.would_refuse);
  return plan.defect.has_value();
}

bool Driver::would_refuse(const Policy& policy) const {
  const auto& noted = work_.plan().would_refuse;
  return std::any_of(noted.begin(), noted.end(),
                     [&](const Defect& defect) { return defect.policy == policy.index; });
}

void Driver::plan_policies(Instant at, const Options& options) {
  Trace* const trace = options.trace;
  matching_.gather_policies();
  if (trace != nullptr) {
    for (const Policy& policy : work_.set->policies) {
      const bool candidate =
          std::any_of(matching_.candidates().begin(), matching_.candidates().end(),
                      [&](const auto& c) { return c.policy == policy.index; });
      if (!candidate) trace->skipped(policy, Skip::not_watched, {}, MissReason::none);
    }
  }
  // If a policy watches several events, the first named event for which `when` holds counts; if it
  // holds for none, the first event whose `when` cannot be decided.
  int done = -1;
  const bool doubted = !work_.plan().would_refuse.empty();  // in shadow, for the path
  const PolicySet::Watcher* unread = nullptr;
  const PolicySet::Watcher* candidate = matching_.candidates().data();
  for (const auto* const end = candidate + matching_.candidates().size(); candidate != end;
       ++candidate) {
    if (candidate->policy == done) continue;
    const Policy& policy = work_.set->policies.data()[candidate->policy];
    if (doubted && policy.shadow && would_refuse(policy)) {
      if (trace != nullptr) trace->skipped(policy, Skip::when_unread, "path", MissReason::path);
      done = candidate->policy;
      continue;
    }
    const Binding& binding = policy.bindings.data()[candidate->binding];
    const bool is_last = candidate + 1 == end || candidate[1].policy != candidate->policy;
    if (binding.plain && trace == nullptr) {
      planning_.plan_plain(policy, binding, candidate->binding);
    } else if (policy.pattern) {
      patterns_.plan_pattern(policy, at, trace);
    } else {
      BindingResult result =
          planning_.plan_policy(policy, candidate->binding, is_last, false, at, options);
      if (result == BindingResult::unread && unread == nullptr) unread = candidate;
      if (is_last && result != BindingResult::takes && unread != nullptr) {
        result = planning_.plan_policy(policy, unread->binding, true, true, at, options);
      }
      if (is_last) unread = nullptr;
      if (result != BindingResult::takes) continue;
      unread = nullptr;
    }
    done = candidate->policy;
    if (work_.plan().defect) return;
  }
  if (!work_.plan().unread_events.empty()) planning_.plan_unread_events(at, options);
}

const Verdict* Driver::resume(Judgement& judgement, const Occurrence& occurrence, Instant now,
                              const Options& options) {
  WEIR_ASSERT(judgement.is_suspended());
  if (judgement.loaded == work_.loaded) {
    judgement.go_on();
    work_.judgement = &judgement;
    work_.at = judgement.at;
    flat_.forget();
    counting_.note_in_store();
    occurrence.visit(
        [&](const auto& event) { work_.frame.begin(work_.set->slots, event, work_.oracle); });
    matching_.mark_planned();
    counting_.take_replies(options);
    return finish(occurrence, now, options);
  }
  // Other policies are in force now. Counts for the old policies are taken back before the new
  // policies ask: they would find the event already counted otherwise. If the budget is used up,
  // the store may still count the event.
  const auto replies = judgement.asked.replies();
  const bool out_of_time = std::any_of(replies.begin(), replies.end(), [](const auto& reply) {
    return reply.error == SharedError::timed_out;
  });
  release(judgement, now);
  return judge(judgement, occurrence, now, options, out_of_time);
}

/// There is a verdict: determines what is left to observe.
const Verdict* Driver::finish(const Occurrence& occurrence, Instant now, const Options& options) {
  Judgement& judgement = *work_.judgement;
  conclude(work_.at, options);
  judgement.phase = Judgement::Phase::decided;
  using Kind = Verdict::Kind;
  const Verdict& verdict = work_.verdict;
  if (!options.dry && verdict.kind != Kind::wait && work_.observer != nullptr &&
      !verdict.standings.empty()) {
    occurrence.visit(
        [&](const auto& event) { work_.observer->judged(*work_.set, event, verdict); });
  }
  flush(now.now);
  if (!options.dry && (verdict.kind == Kind::pass || verdict.kind == Kind::hold)) {
    judgement.observes = settling_.must_observe() &&
                         (options.answer == nullptr || !settling_.settled_by(*options.answer));
    if (judgement.observes || options.keep_open) settling_.open();
  }
  if (!judgement.is_open()) judgement.close();
  work_.judgement = nullptr;
  return &verdict;
}

void Driver::conclude(Instant at, const Options& options) {
  work_.verdict.clear();
  ladder_.forget_winners();
  flat_.finish(options.rows);
  if (work_.plan().is_silent()) {
    if (!options.dry) view_counting_.observe_views(at);
    return;
  }
  ladder_.decide(options);
  if (work_.verdict.kind == Verdict::Kind::wait) {
    counting_.take_back(true, at);
    return;
  }
  if (options.insists && !options.dry) [[unlikely]]
    counting_.count_whole(at);
  if (!options.dry) {
    // First the fate of the event itself: a rung that clears also empties the counter of this
    // event.
    counting_.take_back(false, at);
    if (work_.plan().provisional) counting_.settle_provisional(at);
    memory_.write_memory(at);
    patterns_.feed_patterns();
  }
  ladder_.finish_verdict(at);
  if (!options.dry) {
    memory_.count_standings();
    view_counting_.observe_views(at);
  }
  work_.rows = options.rows;
  if (work_.rows != nullptr) row_reporting_.give_rows(*work_.rows);
}

void Driver::look_at(Judgement& judgement, const Answer& answer, Instant now) {
  WEIR_ASSERT(judgement.is_open() && !judgement.ended);
  const SetInUse in_use(matching_, judgement);
  settling_.answered(answer, now);
}

void Driver::abort(Judgement& judgement, Instant now) {
  WEIR_ASSERT(judgement.is_open() && !judgement.ended);
  try {
    {
      const SetInUse in_use(matching_, judgement);
      settling_.aborted(now);
    }
    settle(judgement, now);
  } catch (...) {
    settle_rest(judgement, now);
    throw;
  }
}

/// There is no memory to read the answer. Open reservations become counts, as after a client abort.
/// No rung is judged. Reservations that were already moved to `closing` are neither settled nor
/// released in Redis: they stay reserved until their lifetime ends.
void Driver::settle_rest(Judgement& judgement, Instant now) noexcept {
  if (judgement.settling) return;  // the store has been asked, and replied() continues
  judgement.reserved = judgement.open_patterns = false;
  judgement.closing.clear();
  survives_no_memory([&] {
    const SetInUse in_use(matching_, judgement);
    settling_.settle_rest(now);
  });
}

void Driver::cut_short(Judgement& judgement) noexcept {
  survives_no_memory([&] {
    const std::shared_ptr<const Loaded> set =
        judgement.loaded != nullptr ? judgement.loaded : work_.loaded;
    const SetInUse in_use(matching_, set);
    matching_.turn_to(&judgement);
    if (judgement.is_suspended()) {  // the store had replied when it was to be resumed
      counting_.drop();
    } else if (flat_.has_charged()) {
      flat_.take_back();
    } else {
      counting_.take_all_back();
    }
  });
  matching_.turn_to(nullptr);
  judgement.close();
}

/// Memory that depends on shared counters rests on their current values in the store.
void Driver::settle(Judgement& judgement, Instant now) {
  if (judgement.closing.empty()) return;
  judgement.settling = true;
  bool is_there = false;
  try {
    is_there = outbox_->ask(judgement, judgement.closing, now.now);
  } catch (...) {
    judgement.settling = false;  // nothing has been asked
    throw;
  }
  if (is_there) conclude_settlement(judgement, now);
}

void Driver::conclude_settlement(Judgement& judgement, Instant now) {
  WEIR_ASSERT(judgement.settling);
  judgement.settling = false;
  const SetInUse in_use(matching_, judgement);
  settling_.closed(now);
}

void Driver::replied(Judgement& judgement, Instant now) {
  // All is counted: without memory, the rungs of settled counts are not evaluated.
  survives_no_memory([&] { conclude_settlement(judgement, now); });
  if (judgement.ended) judgement.close();
  flush(now.now);
}

void Driver::release(Judgement& judgement, Instant now) {
  if (judgement.is_suspended()) {
    {
      const SetInUse in_use(matching_, judgement);
      counting_.drop();
    }
    judgement.close();
    return flush(now.now);
  }
  WEIR_ASSERT(judgement.is_open() && !judgement.ended);
  if (!judgement.reserved) return;
  const SetInUse in_use(matching_, judgement);
  settling_.released(now);
}

void Driver::end(Judgement& judgement, Instant now) {
  WEIR_ASSERT(judgement.is_open() && !judgement.ended);
  if (!judgement.in_flight.empty()) {
    const SetInUse in_use(matching_, judgement);
    settling_.ended();
  }
  judgement.ended = true;
  if (!judgement.settling) judgement.close();
  flush(now.now);
}

void Driver::renew(Judgement& judgement, TimePoint now, milliseconds least) {
  if (!judgement.is_open() || judgement.ended || now - judgement.at.now < least) return;
  {
    const SetInUse in_use(matching_, judgement);
    settling_.renew();
  }
  if (store_.best_effort().size() >= kRenewedAtOnce) flush(now);
}

void Driver::flush(TimePoint now) {
  if (outbox_ == nullptr) return;
  if (!store_.best_effort().empty()) outbox_->send(store_.best_effort(), now);
  outbox_->exchange(now);
  if (patterns_.has_news()) outbox_->deliver(patterns_, now);
}

void Driver::advance(TimePoint watermark) {
  patterns_.advance(watermark);
  if (patterns_.shared_due() <= watermark) outbox_->fire_due(patterns_, watermark);
}

void Driver::end_of_input(TimePoint last, bool flush) {
  patterns_.end_of_input(last, flush);
  if (flush && patterns_.shared_due() <= kEndOfTime) outbox_->fire_due(patterns_, kEndOfTime);
}

Value Driver::value(const Judgement& judgement, SlotId slot) {
  const SetInUse in_use(matching_, judgement.loaded != nullptr ? judgement.loaded : work_.loaded);
  return work_.frame.load(slot);
}

}  // namespace weir::policies
