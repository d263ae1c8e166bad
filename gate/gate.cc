#include "gate/gate.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"
#include "core/no_memory.h"

namespace weir::gate {

using telemetry::Metric;

namespace {

// The interval at which a request looks again, if other replicas may hold the reservations that it
// waits for.
constexpr milliseconds kPoll{25};

/// The key whose reservations make the event wait.
Decision::Wait wait_of(const policies::Plan& plan) {
  Decision::Wait out;
  out.elsewhere = plan.provisional;  // other workers do not announce verdicts either
  for (const policies::PlannedCounter& counter : plan.counters) {
    const limiter::Reading& reading = counter.reading;
    const bool reserved = counter.reserves || counter.provisional;
    // A policy that guards this request and counts others only reads: no ceiling refuses it.
    const bool reads_open = !counter.counts && reading.value != reading.settled;
    if (!reads_open && (!reading.refused || (!reserved && !reading.doubtful))) continue;
    out.key = counter.key;
    out.elsewhere =
        out.elsewhere || reading.doubtful || counter.shared_key != policies::PlannedCounter::kNone;
  }
  return out;
}

}  // namespace

Gate::Gate(Shared& shared, std::size_t worker, const GateLimits& limits,
           telemetry::MetricCells& metrics, policies::Observer* observer)
    : shared_(shared),
      worker_(worker),
      limits_(limits),
      metrics_(metrics),
      driver_(shared.counters, shared.lists, shared.secret, observer),
      waiters_(limits.waiting) {
  driver_.use_patterns(shared.patterns);
}

Gate::~Gate() = default;

void Gate::use(std::shared_ptr<const policies::PolicySet> set) {
  const auto loaded = policies::load_on_worker(std::move(set), shared_.stats, worker_);
  driver_.use(loaded);
  routes_.assign(loaded->set->events.size(), telemetry::kOtherRoute);
  for (std::size_t i = 0; shared_.latency != nullptr && i < routes_.size(); ++i) {
    if (i == policies::kRequestEvent) continue;
    routes_[i] = static_cast<std::uint8_t>(shared_.latency->route(loaded->set->events[i].name));
  }
  announces_ = std::any_of(loaded->set->policies.begin(), loaded->set->policies.end(),
                           [](const policies::Policy& policy) { return policy.announce; });
  if (clock_) clock_->use(loaded);
  if (recorder_ != nullptr) recorder_->use(driver_.set());
}

void Gate::use_store(store::SharedStore& store, const policies::Sharing& sharing,
                     milliseconds budget, net::Wheel* wheel) {
  WEIR_ASSERT(!outbox_ && tickets_.all().empty());  // nothing has been judged
  sharing_ = sharing;
  outbox_.emplace(store, budget, driver_.patterns(), shared_, metrics_, wheel);
  driver_.use_store(sharing_, *outbox_);
}

void Gate::fire_patterns(net::Wheel& wheel, std::uint64_t seed) {
  WEIR_ASSERT(outbox_);  // use_store() has been called
  clock_.emplace(outbox_->store(), driver_.patterns(), outbox_->post(), shared_, metrics_, wheel,
                 seed);
}

void Gate::begin_exchange(net::Wheel& wheel, std::uint64_t origin) {
  WEIR_ASSERT(outbox_);  // use_store() has been called
  if (shared_.synced == nullptr) return;
  driver_.use_synced(outbox_->begin_exchange(*shared_.synced, shared_, wheel, origin));
}

void Gate::record_to(Recorder* recorder) {
  WEIR_ASSERT(routes_.empty());  // use() has not been called
  recorder_ = recorder;
}

policies::Instant Gate::instant(TimePoint now) const noexcept {
  return {now, now + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

bool Gate::wants_body(const Request& request) {
  const bool refused =
      request.readings != nullptr && set().refuses_path(request.method, *request.readings);
  return !refused && driver_.wants_body(request);
}

/// Begins a judgement.
Gate::Decided Gate::begin(const policies::Occurrence& occurrence, policies::Instant at,
                          const policies::Driver::Options& options, const Waiter& waiter) {
  WEIR_ASSERT(waiter.suspended_ == nullptr);
  advance_patterns(at.now);
  Ticket& ticket = tickets_.lend();
  try {
    return {ticket, driver_.start(ticket, occurrence, at, options)};
  } catch (...) {
    cut_short(ticket);
    throw;
  }
}

/// Goes on with the judgement that the waiter has waited with.
Gate::Decided Gate::go_on(const policies::Occurrence& occurrence, policies::Instant at,
                          const policies::Driver::Options& options, Waiter& waiter) {
  WEIR_ASSERT(waiter.suspended_ != nullptr && waiter.suspended_->is_resumed);
  advance_patterns(at.now);
  Ticket& ticket = *std::exchange(waiter.suspended_, nullptr);
  ticket.waiter = nullptr;
  ticket.is_resumed = false;
  try {
    return {ticket, driver_.resume(ticket, occurrence, at, options)};
  } catch (...) {
    cut_short(ticket);
    throw;
  }
}

/// Ends a judgement that has no memory to continue, without a verdict. Takes back its counts
/// and its ticket.
void Gate::cut_short(Ticket& ticket) noexcept {
  driver_.cut_short(ticket);
  ticket.row.text.clear();
  give_back(ticket);
}

/// Sets the names by which logs and metrics identify a judgement.
void Gate::name(const policies::Verdict& verdict, const policies::Plan& plan,
                Decision& out) const noexcept {
  const policies::PolicySet& set = driver_.set();
  // A route of its own says more than a condition on any request.
  policies::EventIndex event =
      plan.bases.size() > 1 ? plan.bases.data()[1] : policies::kRequestEvent;
  for (std::size_t i = 0; event == policies::kRequestEvent && i < plan.events.size(); ++i) {
    event = plan.events[i];
  }
  if (event != policies::kRequestEvent) {
    out.event = set.events.data()[event].name;
    out.route = routes_.data()[event];
  }
  if (verdict.effect != Action::none) {
    out.verdict = row_of(verdict.effect).name;
  } else if (verdict.exempt) {
    out.verdict = "allow";
  } else {
    out.verdict = verdict.kind == policies::Verdict::Kind::refuse ? "deny" : "pass";
  }
  if (verdict.decider < 0) return;
  const policies::Standing& standing = verdict.standings[static_cast<std::size_t>(verdict.decider)];
  if (standing.list) {
    out.policy = set.lists[*standing.list].name;
  } else if (standing.policy) {
    out.policy = set.policies[*standing.policy].name;
  }
}

void Gate::give_back(Ticket& ticket) {
  WEIR_ASSERT(ticket.is_closed() && ticket.waiter == nullptr && !ticket.is_resumed);
  ticket.answered = false;
  tickets_.take_back(ticket);
}

/// Call it after a verdict that passes the event. False: nothing is left to observe.
bool Gate::keep(Ticket& ticket, bool recorded, TimePoint now) {
  if (recorded) std::swap(ticket.row, row_);
  if (recorded || ticket.observes) return true;
  if (ticket.is_open()) driver_.end(ticket, instant(now));
  give_back(ticket);
  return false;
}

policies::Driver::Options Gate::door_options(bool may_wait, const Waiter& waiter) const {
  policies::Driver::Options options;
  options.may_wait = may_wait;
  options.longest_hold = held_ < limits_.held ? waiter.longest_hold() : milliseconds{-1};
  options.rows = rows_;
  options.keep_open = recorder_ != nullptr;
  options.plan_of = announces_ ? policies::PlanOf::all : policies::PlanOf::loud;
  return options;
}

Decision Gate::judge(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) {
  const policies::Instant at = instant(now);
  return decision_of(begin(request, at, door_options(may_wait, waiter), waiter), request, at);
}

Decision Gate::resume(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) {
  const policies::Instant at = instant(now);
  return decision_of(go_on(request, at, door_options(may_wait, waiter), waiter), request, at);
}

Decision Gate::decision_of(const Decided& decided, const Request& request, policies::Instant at) {
  const auto [ticket, verdict] = decided;
  if (verdict != nullptr) {
    try {
      return conclude(ticket, *verdict, request, at);
    } catch (...) {
      cut_short(ticket);
      throw;
    }
  }
  Decision out;
  out.effect.kind = Effect::Kind::wait;
  out.wait.suspended = &ticket;
  return out;
}

/// Makes the door's decision of a verdict.
Decision Gate::conclude(Ticket& ticket, const policies::Verdict& verdict, const Request& request,
                        policies::Instant at) {
  const TimePoint now = at.now;
  Decision out{text_.render(set(), ticket.plan, verdict, at)};
  name(verdict, ticket.plan, out);
  switch (verdict.kind) {
    case policies::Verdict::Kind::wait:
      out.wait = wait_of(ticket.plan);
      give_back(ticket);
      return out;  // not recorded: it is judged once more
    case policies::Verdict::Kind::refuse:
      if (record(ticket, &request, nullptr, now)) recorder_->write(row_);
      if (verdict.crowded && verdict.effect != Action::delay)
        metrics_.add(Metric::requests_refused_in_flight);
      else if (verdict.crowded && held_ >= limits_.held)
        metrics_.add(Metric::limit_held);
      give_back(ticket);
      return out;
    case policies::Verdict::Kind::hold:
    case policies::Verdict::Kind::pass:
      break;
  }
  if (keep(ticket, record(ticket, &request, nullptr, now), now)) {
    out.ticket = &ticket;
    out.reads_answer = ticket.wants_readable_answer();
  }
  // Last: the caller calls end_hold() only for a hold in the decision that it gets.
  if (verdict.kind == policies::Verdict::Kind::hold)
    metrics_.set(Metric::requests_held, static_cast<std::int64_t>(++held_));
  return out;
}

/// Begins the row of the event under judgement. False: it is not recorded.
bool Gate::record(const Ticket& ticket, const Request* request, const policies::Record* record,
                  TimePoint now) {
  return recorder_ != nullptr && recorder_->begin(driver_, ticket, request, record, now, row_);
}

namespace {

/// A record without a time of its own has that at which it is judged.
std::optional<TimePoint> own_time_of(const policies::Record& record, TimePoint now) {
  return record.time == now ? std::nullopt : std::optional(record.time);
}

policies::Driver::Options query_options(const policies::Record& record, TimePoint now,
                                        policies::Trace& trace) {
  policies::Driver::Options options;
  options.may_wait = false;
  options.own_time = own_time_of(record, now);
  options.dry = true;
  options.trace = &trace;
  return options;
}

}  // namespace

policies::Driver::Options Gate::record_options(const policies::Record& event, TimePoint now,
                                               bool insists) const {
  policies::Driver::Options options;
  options.may_wait = false;
  options.insists = insists;
  options.own_time = own_time_of(event, now);
  options.rows = rows_;
  options.keep_open = recorder_ != nullptr;
  return options;
}

std::optional<Gate::Judged> Gate::judge(const policies::Record& event, const Answer& answer,
                                        TimePoint now, Waiter& waiter, bool insists) {
  const policies::Instant at = instant(now);
  const Decided decided = begin(event, at, record_options(event, now, insists), waiter);
  return settled_result(decided, event, answer, at, waiter);
}

std::optional<Gate::Judged> Gate::resume(const policies::Record& event, const Answer& answer,
                                         TimePoint now, Waiter& waiter, bool insists) {
  const policies::Instant at = instant(now);
  const Decided decided = go_on(event, at, record_options(event, now, insists), waiter);
  return settled_result(decided, event, answer, at, waiter);
}

std::optional<Gate::Judged> Gate::settled_result(const Decided& decided,
                                                 const policies::Record& event,
                                                 const Answer& answer, policies::Instant at,
                                                 Waiter& waiter) {
  Ticket& ticket = decided.ticket;
  if (decided.verdict == nullptr) {
    suspend(ticket, waiter);
    return std::nullopt;
  }
  const TimePoint now = at.now;
  const policies::Verdict& verdict = *decided.verdict;
  Effect effect;
  bool is_kept = false;
  try {
    effect = text_.render(set(), ticket.plan, verdict, at);
    const bool recorded = record(ticket, event.request, &event, now);
    if (verdict.kind == policies::Verdict::Kind::refuse) {
      if (recorded) recorder_->write(row_);
      give_back(ticket);
    } else {
      is_kept = keep(ticket, recorded, now);
    }
  } catch (...) {
    cut_short(ticket);
    throw;
  }
  if (is_kept) {
    // The event is counted and will be settled. If this threw, the app would report the event
    // again.
    survives_no_memory([&] { answered_body(ticket, answer, now); });
    finish(ticket, End::complete, now);
  }
  return Judged{verdict, ticket.plan, effect.status, effect};
}

std::optional<Gate::Judged> Gate::query(const policies::Record& event, TimePoint now,
                                        policies::Trace& trace, Waiter& waiter) {
  const policies::Instant at = instant(now);
  // Patterns that fire now would have fired without the query as well.
  return dry_result(begin(event, at, query_options(event, now, trace), waiter), at, waiter);
}

std::optional<Gate::Judged> Gate::resume_query(const policies::Record& event, TimePoint now,
                                               policies::Trace& trace, Waiter& waiter) {
  const policies::Instant at = instant(now);
  return dry_result(go_on(event, at, query_options(event, now, trace), waiter), at, waiter);
}

std::optional<Gate::Judged> Gate::dry_result(const Decided& decided, policies::Instant at,
                                             Waiter& waiter) {
  Ticket& ticket = decided.ticket;
  if (decided.verdict == nullptr) {
    suspend(ticket, waiter);
    return std::nullopt;
  }
  Effect effect;
  try {
    effect = text_.render(set(), ticket.plan, *decided.verdict, at);
  } catch (...) {
    cut_short(ticket);
    throw;
  }
  give_back(ticket);
  return Judged{*decided.verdict, ticket.plan, effect.status, effect};
}

void Gate::renew_places(TimePoint now) {
  if (!outbox_) return;
  // A request that is younger than the time between two calls is renewed by the next one.
  const milliseconds least = std::min(sharing_.flight, sharing_.reservation) / 4;
  for (const auto& ticket : tickets_.all()) driver_.renew(*ticket, now, least);
  driver_.flush(now);
}

/// The waiter is resumed when the store has replied to the judgement.
void Gate::suspend(Ticket& ticket, Waiter& waiter) noexcept {
  WEIR_ASSERT(ticket.is_suspended() && ticket.waiter == nullptr && waiter.suspended_ == nullptr);
  waiter.suspended_ = &ticket;
  ticket.waiter = &waiter;
}

bool Gate::park(Waiter& waiter, const Decision& decision, TimePoint now) {
  WEIR_ASSERT(decision.effect.kind == Effect::Kind::wait);
  const Decision::Wait& wait = decision.wait;
  if (wait.suspended != nullptr) {
    suspend(*wait.suspended, waiter);
    return true;
  }
  if (!waiters_.park(waiter, wait.key, now, limits_.reserve_wait)) {
    metrics_.add(Metric::limit_waiting);
    return false;
  }
  polls_ = polls_ || wait.elsewhere;
  // Another worker may have settled before it could know about this waiter, and then has sent no
  // notice: the first waiter looks again once.
  if (!poll_at_ && (polls_ || waiters_.size() == 1)) poll_at_ = now + kPoll;
  note_waiting();
  return true;
}

void Gate::note_waiting() {
  const auto size = static_cast<std::uint32_t>(waiters_.size());
  // The difference, added to a shared count: settlements elsewhere are only announced while it is
  // not 0.
  shared_.waiting.fetch_add(size - waiting_noted_, std::memory_order_relaxed);
  waiting_noted_ = size;
  metrics_.set(Metric::requests_waiting, size);
}

TimePoint Gate::waiting_until(const Waiter& waiter) const {
  const TimePoint deadline = WaitQueue::deadline(waiter);
  return deadline == TimePoint{} ? TimePoint::max() : deadline;  // it has waited only for the store
}

void Gate::unpark(Waiter& waiter) {
  // Its replies are on their way, or there: then tick() takes the judgement back.
  if (waiter.suspended_ != nullptr) std::exchange(waiter.suspended_, nullptr)->waiter = nullptr;
  // A resumed waiter that does not wait any more wakes the next: perhaps all of them are refused
  // now.
  if (WaitQueue::resumed(waiter) && waiters_.size() != 0) wake_.push_back(WaitQueue::key(waiter));
  waiters_.unpark(waiter);
  note_waiting();
}

void Gate::give_up(Waiter& waiter, TimePoint now) {
  if (waiter.suspended_ == nullptr) return;
  Ticket& ticket = *std::exchange(waiter.suspended_, nullptr);
  ticket.waiter = nullptr;
  if (!std::exchange(ticket.is_resumed, false)) return;  // tick() takes the judgement back
  survives_no_memory([&] { driver_.release(ticket, instant(now)); });
  give_back(ticket);
}

void Gate::end_hold() {
  WEIR_ASSERT(held_ > 0);
  metrics_.set(Metric::requests_held, static_cast<std::int64_t>(--held_));
}

bool Gate::answered(Ticket& ticket, const Answer& answer, TimePoint now) {
  if (answer.body_state == BodyState::not_read && ticket.needs_answer_body()) return true;
  answered_body(ticket, answer, now);
  return false;
}

void Gate::answered_body(Ticket& ticket, const Answer& answer, TimePoint now) {
  ticket.answered = true;
  driver_.answer(ticket, answer, instant(now), [&] {
    note_unread(driver_.unread_answer());
    if (ticket.row.open()) recorder_->answered(driver_, ticket, answer, ticket.row);
  });
  settled(ticket);
}

void Gate::note_unread(policies::MissReason why) {
  switch (why) {
    case policies::MissReason::too_large:
      return metrics_.add(Metric::answers_too_large);
    case policies::MissReason::encoded:
      return metrics_.add(Metric::answers_encoded);
    case policies::MissReason::unreadable:
      return metrics_.add(Metric::answers_unreadable);
    default:
      return;
  }
}

void Gate::finish(Ticket& ticket, End end, TimePoint now) {
  const policies::Instant at = instant(now);
  const bool counts = end == End::aborted || end == End::unacceptable;
  // The caller has no second chance: without memory a step ends early, and the next one runs.
  survives_no_memory([&] {
    if (!ticket.answered) counts ? driver_.abort(ticket, at) : driver_.release(ticket, at);
  });
  survives_no_memory([&] { driver_.end(ticket, at); });
  survives_no_memory([&] {
    if (!ticket.row.open()) return;
    if (!ticket.answered && counts) Recorder::aborted(ticket.row);
    recorder_->write(ticket.row);
  });
  ticket.row.text.clear();
  survives_no_memory([&] {
    if (!ticket.answered) settled(ticket);
  });
  if (ticket.is_closed()) give_back(ticket);
}

void Gate::settled(const Ticket& ticket) {
  if (shared_.waiting.load(std::memory_order_relaxed) == 0) return;
  for (const policies::PlannedCounter& counter : ticket.plan.counters) {
    shared_.settlements.note(counter.key);
    settlements_seen_.note_own(counter.key);
    if (waiters_.size() != 0) wake_.push_back(counter.key);
  }
}

/// The store has replied: first to those who wait for a verdict, then to settlements.
void Gate::take_replies(TimePoint now) {
  std::vector<Ticket*>& replied = outbox_->replied();
  for (std::size_t i = 0; i < replied.size(); ++i) {
    if (replied[i] == nullptr || !replied[i]->is_suspended()) continue;
    Ticket& ticket = *std::exchange(replied[i], nullptr);
    outbox_->note_taken();
    if (ticket.waiter != nullptr) {
      ticket.is_resumed = true;
      survives_no_memory([&] { ticket.waiter->resume(now); });  // judges on the spot
      // Where there was no memory for that, it has left without a judgement.
      if (!ticket.is_resumed || ticket.waiter != nullptr) continue;
      ticket.is_resumed = false;
    }
    survives_no_memory([&] { driver_.release(ticket, instant(now)); });
    give_back(ticket);
  }
  for (std::size_t i = 0; i < replied.size(); ++i) {
    if (replied[i] == nullptr) continue;
    Ticket& ticket = *std::exchange(replied[i], nullptr);
    outbox_->note_taken();
    survives_no_memory([&] {
      driver_.replied(ticket, instant(now));
      settled(ticket);
    });
    if (ticket.is_closed()) give_back(ticket);
  }
  replied.clear();
}

void Gate::tick(TimePoint now) {
  if (outbox_) {
    take_replies(now);
    driver_.flush(now);
  }
  // A resumed waiter judges at once, and a refusal wakes the next one: wake_ grows during the loop.
  for (std::size_t i = 0; i < wake_.size(); ++i) {
    const Hash128 key = wake_[i];
    waiters_.wake(key, now);
  }
  wake_.clear();
  SettledGroups settled_elsewhere;
  if (waiters_.size() != 0 && settlements_seen_.read(shared_.settlements, settled_elsewhere))
    waiters_.wake_groups(settled_elsewhere, now);
  waiters_.expire(now);
  if (poll_at_ && *poll_at_ <= now) {
    waiters_.wake_all(now);
    poll_at_.reset();
    polls_ = polls_ && waiters_.size() != 0;
    if (polls_) poll_at_ = now + kPoll;
  }
  note_waiting();
}

}  // namespace weir::gate
