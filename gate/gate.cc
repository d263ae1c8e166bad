#include "gate/gate.h"

#include <algorithm>
#include <utility>

#include "core/assert.h"

namespace weir::gate {

using telemetry::Metric;

namespace {

// How often who waits for reservations that other replicas may hold looks again.
constexpr milliseconds kPoll{25};

// The number of renewals in one batch: an operation's place in its batch is a 16-bit number.
constexpr std::size_t kRenewedAtOnce = 1'024;

}  // namespace

class Ticket final : public store::Batch {
 public:
  explicit Ticket(std::vector<Ticket*>& closed) : closed_(closed) {}
  void on_replies() override { closed_.push_back(this); }

  policies::Settlement settlement;
  Recorder::Row row;  // open: the event is recorded
  bool answered = false;
  bool closing = false;   // the store is asked for what it has settled
  bool finished = false;  // nothing is left but that

 private:
  std::vector<Ticket*>& closed_;
};

Gate::Gate(Shared& shared, std::size_t worker, const GateLimits& limits,
           telemetry::MetricCells& metrics, policies::Observer* observer)
    : shared_(shared),
      worker_(worker),
      limits_(limits),
      metrics_(metrics),
      evaluator_(shared.counters, shared.lists, shared.secret, observer),
      waiters_(limits.waiting) {
  evaluator_.use_patterns(shared.patterns);
}

Gate::~Gate() = default;

void Gate::use(std::shared_ptr<const policies::PolicySet> set) {
  const auto loaded = policies::load_on_worker(std::move(set), shared_.stats, worker_);
  evaluator_.use(loaded);
  routes_.assign(loaded->set->events.size(), telemetry::kOtherRoute);
  for (std::size_t i = 0; shared_.latency != nullptr && i < routes_.size(); ++i) {
    if (i == policies::kRequestEvent) continue;
    routes_[i] = static_cast<std::uint8_t>(shared_.latency->route(loaded->set->events[i].name));
  }
  if (clock_) clock_->use(loaded);
  if (recorder_ != nullptr) recorder_->use(evaluator_.set());
}

void Gate::share(store::SharedStore& store, const policies::Sharing& sharing, milliseconds budget,
                 net::Wheel* wheel) {
  sharing_ = sharing;
  desk_.emplace(store, budget);
  evaluator_.share(sharing_);
  post_.emplace(store, evaluator_, shared_, metrics_, wheel);
}

void Gate::fire_patterns(net::Wheel& wheel, std::uint64_t seed) {
  clock_.emplace(desk_->store(), evaluator_, *post_, shared_, metrics_, wheel, seed);
}

void Gate::exchange(net::Wheel& wheel, std::uint64_t origin) {
  if (shared_.synced == nullptr || !desk_) return;
  exchange_.emplace(desk_->store(), *shared_.synced, shared_, wheel, origin);
  evaluator_.exchange(exchange_->bank());
}

policies::Instant Gate::instant(TimePoint now) const noexcept {
  return {now, now + milliseconds{shared_.wall_offset_ms.load(std::memory_order_relaxed)}};
}

bool Gate::refuses_path(std::string_view method, const PathReadings& readings) {
  return set().refuses_path(method, readings);
}

bool Gate::wants_body(const Request& request) { return evaluator_.wants_body(request); }

/// The verdict, or null: the store must be asked, which asked_ does.
template <class Occurrence>
const policies::Verdict* Gate::decide(const Occurrence& occurrence, policies::Instant at,
                                      const policies::Evaluator::Options& options, Waiter* waiter) {
  bool out_of_time = false;
  if (waiter != nullptr && waiter->inquiry_ != nullptr) {
    Inquiry& inquiry = *std::exchange(waiter->inquiry_, nullptr);
    if (evaluator_.is_of(inquiry.aside)) {
      const policies::Verdict& verdict = evaluator_.told_again(occurrence, inquiry.aside, options);
      desk_->give_back(inquiry);
      return &verdict;
    }
    // Other policies are in force by now. What was counted for the old ones is taken back before
    // the new ones ask, or they would find the request there already.
    out_of_time = std::any_of(
        inquiry.replies.begin(), inquiry.replies.end(),
        [](const auto& reply) { return reply.error == limiter::SharedError::timed_out; });
    evaluator_.drop(inquiry.aside);
    desk_->give_back(inquiry);
    desk_->run(evaluator_.errands(), at.now);
  }
  const policies::Verdict& verdict = evaluator_.judge(occurrence, at, options);
  if (verdict.kind != policies::Verdict::Kind::ask) return &verdict;
  if (out_of_time) {  // it has waited its budget, and the store may count it still
    for (limiter::SharedReply& reply : evaluator_.asking().replies())
      reply.error = limiter::SharedError::timed_out;
    return &evaluator_.told(occurrence, options);
  }
  asked_ = desk_->ask(evaluator_, at.now);
  return asked_ != nullptr ? nullptr : &evaluator_.told(occurrence, options);
}

void Gate::run_errands(TimePoint now) {
  if (desk_) desk_->run(evaluator_.errands(), now);
  if (exchange_) exchange_->run(now);
  if (post_) post_->run(now);
}

/// By what logs and metrics call a judgement.
void Gate::name(const policies::Verdict& verdict, Judgement& out) const noexcept {
  const policies::PolicySet& set = evaluator_.set();
  const policies::Plan& plan = evaluator_.plan();
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
  using policies::Action;
  if (verdict.effect != Action::none) {
    out.verdict = policies::action_row(verdict.effect).name;
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

Judgement Gate::judge(const Request& request, TimePoint now, bool may_wait, Waiter& waiter) {
  const policies::Instant at = instant(now);
  policies::Evaluator::Options options;
  options.may_wait = may_wait;
  options.can_hold = held_ < limits_.held;
  options.rows = rows_;
  advance_patterns(now);
  const policies::Verdict* const decided = decide(request, at, options, &waiter);
  run_errands(now);
  Judgement out;
  if (decided == nullptr) {
    out.effect.kind = Effect::Kind::wait;
    return out;
  }
  const policies::Verdict& verdict = *decided;
  out.effect = text_.render(evaluator_.set(), evaluator_.plan(), verdict, at);
  name(verdict, out);
  switch (verdict.kind) {
    case policies::Verdict::Kind::ask:
      break;
    case policies::Verdict::Kind::wait:
      crowded_key_ = {};
      crowded_elsewhere_ = evaluator_.plan().provisional;  // nobody announces verdicts either
      for (const policies::PlannedCounter& counter : evaluator_.plan().counters) {
        const limiter::Reading& reading = counter.reading;
        const bool reserved = counter.reserves || counter.provisional;
        // A policy that guards this request and counts others only reads: no ceiling refuses it.
        const bool reads_open = !counter.counts && reading.value != reading.settled;
        if (!reads_open && (!reading.refused || (!reserved && !reading.doubtful))) continue;
        crowded_key_ = counter.key;
        crowded_elsewhere_ = crowded_elsewhere_ || reading.doubtful ||
                             counter.shared_key != policies::PlannedCounter::kNone;
      }
      return out;  // not recorded: it is judged once more
    case policies::Verdict::Kind::refuse:
      if (recorder_ != nullptr && recorder_->begin(evaluator_, &request, nullptr, now, row_)) {
        recorder_->write(row_);
      }
      if (verdict.crowded && verdict.effect == policies::Action::delay)
        metrics_.add(Metric::limit_held);
      return out;
    case policies::Verdict::Kind::hold:
      metrics_.set(Metric::requests_held, static_cast<std::int64_t>(++held_));
      break;
    case policies::Verdict::Kind::pass:
      break;
  }
  const bool recorded =
      recorder_ != nullptr && recorder_->begin(evaluator_, &request, nullptr, now, row_);
  if (recorded || evaluator_.must_observe()) {
    out.ticket = take_ticket(recorded);
    evaluator_.keep(out.ticket->settlement);
    out.reads_answer = evaluator_.wants_readable_answer(out.ticket->settlement);
  }
  return out;
}

namespace {

/// A record without a time of its own has that at which it is judged.
std::optional<TimePoint> own_time_of(const policies::Record& record, TimePoint now) {
  return record.time == now ? std::nullopt : std::optional(record.time);
}

}  // namespace

std::optional<Gate::Judged> Gate::judge(const policies::Record& record, const Answer& answer,
                                        TimePoint now, Waiter& waiter) {
  const policies::Instant at = instant(now);
  policies::Evaluator::Options options;
  options.may_wait = false;
  options.own_time = own_time_of(record, now);
  options.rows = rows_;
  advance_patterns(now);
  const policies::Verdict* const decided = decide(record, at, options, &waiter);
  run_errands(now);
  if (decided == nullptr) return std::nullopt;
  const policies::Verdict& verdict = *decided;
  const Effect effect = text_.render(evaluator_.set(), evaluator_.plan(), verdict, at);
  const bool recorded =
      recorder_ != nullptr && recorder_->begin(evaluator_, record.request, &record, now, row_);
  if (verdict.kind == policies::Verdict::Kind::refuse) {
    if (recorded) recorder_->write(row_);
  } else if (recorded || evaluator_.must_observe()) {
    Ticket* const ticket = take_ticket(recorded);
    evaluator_.keep(ticket->settlement);
    answered_body(*ticket, answer, now);
    finish(*ticket, End::complete, now);
  }
  return Judged{verdict, evaluator_.plan(), effect.status, effect};
}

std::optional<Gate::Judged> Gate::query(const policies::Record& record, TimePoint now,
                                        policies::Trace& trace, Waiter& waiter) {
  const policies::Instant at = instant(now);
  policies::Evaluator::Options options;
  options.may_wait = false;
  options.own_time = own_time_of(record, now);
  options.dry = true;
  options.trace = &trace;
  advance_patterns(now);  // what fires now would have fired without the query as well
  const policies::Verdict* const decided = decide(record, at, options, &waiter);
  run_errands(now);
  if (decided == nullptr) return std::nullopt;
  const Effect effect = text_.render(evaluator_.set(), evaluator_.plan(), *decided, at);
  return Judged{*decided, evaluator_.plan(), effect.status, effect};
}

Ticket* Gate::take_ticket(bool recorded) {
  Ticket* const ticket = &tickets_.lend(closed_);
  if (recorded) std::swap(ticket->row, row_);
  return ticket;
}

void Gate::renew_places(TimePoint now) {
  if (!desk_) return;
  // A request that is younger than the time between two calls is renewed by the next one.
  const milliseconds least = std::min(sharing_.flight, sharing_.reservation) / 4;
  for (const auto& ticket : tickets_.all()) {
    evaluator_.renew(ticket->settlement, now, least);
    if (evaluator_.errands().size() >= kRenewedAtOnce) run_errands(now);
  }
  run_errands(now);
}

bool Gate::park(Waiter& waiter, TimePoint now) {
  if (asked_ != nullptr) {
    waiter.inquiry_ = std::exchange(asked_, nullptr);
    waiter.inquiry_->waiter = &waiter;
    return true;
  }
  if (!waiters_.park(waiter, crowded_key_, now, limits_.reserve_wait)) {
    metrics_.add(Metric::limit_waiting);
    return false;
  }
  polls_ = polls_ || crowded_elsewhere_;
  // Another worker may have settled before it could know that somebody waits here, and has told
  // nobody: the first one looks again once.
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
  return deadline == TimePoint{} ? TimePoint::max() : deadline;  // it has waited for the store only
}

void Gate::unpark(Waiter& waiter) {
  // Its replies are on their way, or told() has them: then tick() drops the judgement.
  if (waiter.inquiry_ != nullptr) std::exchange(waiter.inquiry_, nullptr)->waiter = nullptr;
  // Whoever was resumed and need not wait any more tells the next: perhaps all of them are refused
  // now.
  if (WaitQueue::resumed(waiter) && waiters_.size() != 0) wake_.push_back(WaitQueue::key(waiter));
  waiters_.unpark(waiter);
  note_waiting();
}

void Gate::give_up(Waiter& waiter, TimePoint now) {
  if (waiter.inquiry_ == nullptr) return;
  Inquiry& inquiry = *std::exchange(waiter.inquiry_, nullptr);
  if (!inquiry.told) {  // tick() drops it
    inquiry.waiter = nullptr;
    return;
  }
  evaluator_.drop(inquiry.aside);
  desk_->give_back(inquiry);
  run_errands(now);
}

void Gate::unhold(TimePoint) {
  WEIR_ASSERT(held_ > 0);
  metrics_.set(Metric::requests_held, static_cast<std::int64_t>(--held_));
}

bool Gate::answered(Ticket& ticket, const Answer& answer, TimePoint now) {
  if (answer.body_state == BodyState::not_read && evaluator_.answer_needs_body(ticket.settlement)) {
    return true;
  }
  answered_body(ticket, answer, now);
  return false;
}

void Gate::answered_body(Ticket& ticket, const Answer& answer, TimePoint now) {
  ticket.answered = true;
  evaluator_.answered(ticket.settlement, answer, instant(now));
  switch (evaluator_.unread_answer()) {
    case policies::MissReason::too_large:
      metrics_.add(Metric::answers_too_large);
      break;
    case policies::MissReason::encoded:
      metrics_.add(Metric::answers_encoded);
      break;
    case policies::MissReason::unreadable:
      metrics_.add(Metric::answers_unreadable);
      break;
    default:
      break;
  }
  if (ticket.row.open()) {
    recorder_->answered(evaluator_, ticket.settlement, answer, ticket.row);
  }
  close(ticket, now);
  run_errands(now);
  settled(ticket);
}

/// What the rungs remember of shared counters rests on what the store says of them now.
void Gate::close(Ticket& ticket, TimePoint now) {
  policies::Asking& closing = ticket.settlement.closing;
  if (closing.empty()) return;
  ticket.patient = true;
  ticket.ops = closing.ops();
  ticket.replies = closing.replies();
  if (desk_->store().submit(ticket, now + Desk::kPatience)) {
    evaluator_.closed(ticket.settlement, instant(now));
  } else {
    ticket.closing = true;
    ++closing_;
  }
}

void Gate::finish(Ticket& ticket, End end, TimePoint now) {
  if (!ticket.answered) {
    if (end == End::aborted || end == End::unacceptable) {
      evaluator_.aborted(ticket.settlement, instant(now));
      close(ticket, now);
    } else {
      evaluator_.released(ticket.settlement, instant(now));
    }
  }
  evaluator_.ended(ticket.settlement);
  run_errands(now);
  if (!ticket.answered) settled(ticket);
  if (ticket.row.open()) {
    const bool counts = end == End::aborted || end == End::unacceptable;
    if (!ticket.answered && counts) Recorder::aborted(ticket.row);
    recorder_->write(ticket.row);
  }
  ticket.finished = true;
  if (!ticket.closing) release(ticket);
}

void Gate::release(Ticket& ticket) {
  ticket.answered = ticket.finished = false;
  ticket.settlement.clear();
  tickets_.take_back(ticket);
}

void Gate::settled(const Ticket& ticket) {
  if (shared_.waiting.load(std::memory_order_relaxed) == 0) return;
  for (const policies::PlannedCounter& counter : ticket.settlement.counters) {
    shared_.settlements.note(counter.key);
    settlements_seen_.note_own(counter.key);
    if (waiters_.size() != 0) wake_.push_back(counter.key);
  }
}

void Gate::tick(TimePoint now) {
  for (std::size_t i = 0; desk_ && i < desk_->told().size(); ++i) {
    Inquiry& inquiry = *desk_->told()[i];
    inquiry.told = true;
    if (inquiry.waiter != nullptr) {
      inquiry.waiter->resume(now);  // judges on the spot
    } else {
      evaluator_.drop(inquiry.aside);
      desk_->give_back(inquiry);
    }
  }
  if (desk_) desk_->told().clear();
  for (std::size_t i = 0; i < closed_.size(); ++i) {
    Ticket& ticket = *closed_[i];
    ticket.closing = false;
    --closing_;
    evaluator_.closed(ticket.settlement, instant(now));
    settled(ticket);
    if (ticket.finished) release(ticket);
  }
  closed_.clear();
  run_errands(now);
  // A resumed waiter judges on the spot, and a refusal there asks for the next one: wake_ grows
  // meanwhile.
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
