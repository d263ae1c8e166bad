#include "tests/support/fake_judge.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>

namespace weir::test {
namespace {

const char* name(gate::End end) {
  switch (end) {
    case gate::End::complete:
      return "complete";
    case gate::End::not_sent:
      return "not_sent";
    case gate::End::upstream_failed:
      return "upstream_failed";
    case gate::End::aborted:
      return "aborted";
    case gate::End::unacceptable:
      return "unacceptable";
  }
  return "?";
}

const char* name(BodyState state) {
  switch (state) {
    case BodyState::not_read:
      return "not_read";
    case BodyState::complete:
      return "complete";
    case BodyState::too_large:
      return "too_large";
    case BodyState::broken:
      return "broken";
    case BodyState::encoded:
      return "encoded";
  }
  return "?";
}

}  // namespace

std::vector<std::string> FakeJudge::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

bool FakeJudge::wait_for(const std::string& line, int times) const {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, std::chrono::seconds(20),
                           [&] { return std::count(log_.begin(), log_.end(), line) >= times; });
}

void FakeJudge::note(std::string line) {
  const std::lock_guard lock(mutex_);
  log_.push_back(std::move(line));
  changed_.notify_all();
}

std::size_t FakeJudge::open_tickets() const {
  const std::lock_guard lock(mutex_);
  return tickets_.size();
}

std::size_t FakeJudge::parked() const {
  const std::lock_guard lock(mutex_);
  return parked_.size();
}

bool FakeJudge::wants_body(const Request& request) { return reads_body && reads_body(request); }

gate::Decision FakeJudge::judge(const Request& request, TimePoint /*now*/, bool may_wait,
                                gate::Waiter& /*waiter*/) {
  gate::Decision out;
  if (strict_paths && request.readings != nullptr && request.readings->is_ambiguous()) {
    out.effect.kind = Effect::Kind::answer;
    out.effect.status = 400;
  } else if (decide) {
    out.effect = decide(request, may_wait);
  }
  std::string line = "judge " + std::string(request.path);
  if (request.body_state != BodyState::not_read) {
    line += std::string(" ") + name(request.body_state) + " " + std::to_string(request.body.size());
  }
  if (!may_wait) line += " last";
  note(line);
  const bool goes_on =
      out.effect.kind == Effect::Kind::pass || out.effect.kind == Effect::Kind::delay;
  if (goes_on && gives_tickets) {
    const std::lock_guard lock(mutex_);
    tickets_.push_back({std::string(request.path)});
    out.ticket = &tickets_.back();
    out.reads_answer = asks_for_whole_answers;
  }
  return out;
}

gate::Decision FakeJudge::resume(const Request& /*request*/, TimePoint /*now*/, bool /*may_wait*/,
                                 gate::Waiter& /*waiter*/) {
  throw std::logic_error("the fake suspends no judgement");
}

bool FakeJudge::park(gate::Waiter& waiter, const gate::Decision& /*decision*/, TimePoint now) {
  {
    const std::lock_guard lock(mutex_);
    if (parked_.size() >= park_room) return false;
    parked_.push_back({&waiter, now + wait_time});
  }
  note("park");
  return true;
}

TimePoint FakeJudge::waiting_until(const gate::Waiter& waiter) const {
  const std::lock_guard lock(mutex_);
  for (const auto* list : {&parked_, &resumed_}) {
    for (const Parked& p : *list) {
      if (p.waiter == &waiter) return p.until;
    }
  }
  return {};
}

void FakeJudge::unpark(gate::Waiter& waiter) {
  std::size_t removed = 0;
  {
    const std::lock_guard lock(mutex_);
    removed = parked_.remove_if([&](const Parked& p) { return p.waiter == &waiter; });
  }
  if (removed != 0) note("unpark");
}

void FakeJudge::end_hold() { note("end_hold"); }

bool FakeJudge::answered(gate::Ticket& ticket, const Answer& answer, TimePoint /*now*/) {
  note("answered " + ticket.path + " " + std::to_string(answer.status));
  return reads_answers;
}

void FakeJudge::answered_body(gate::Ticket& ticket, const Answer& answer, TimePoint /*now*/) {
  note("body " + ticket.path + " " + name(answer.body_state) + " " +
       std::to_string(answer.body.size()));
}

void FakeJudge::finish(gate::Ticket& ticket, gate::End end, TimePoint /*now*/) {
  const std::string path = ticket.path;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(tickets_.begin(), tickets_.end(),
                                    [&](const gate::Ticket& t) { return &t == &ticket; });
    if (found == tickets_.end()) throw std::logic_error("a ticket was finished twice");
    tickets_.erase(found);
  }
  note("finish " + path + " " + name(end));
}

bool FakeJudge::has_waiters() const { return parked() != 0; }

void FakeJudge::release_waiters() {
  std::list<Parked> due;
  {
    const std::lock_guard lock(mutex_);
    due.swap(parked_);
    resumed_ = due;
  }
  for (const Parked& p : due) p.waiter->resume(TimePoint{});
}

void FakeJudge::tick(TimePoint now) {
  std::list<Parked> due;
  {
    const std::lock_guard lock(mutex_);
    for (auto p = parked_.begin(); p != parked_.end();) {
      const auto next = std::next(p);
      if (p->until <= now) due.splice(due.end(), parked_, p);
      p = next;
    }
    if (!due.empty()) resumed_ = due;
  }
  for (const Parked& p : due) p.waiter->resume(now);
}

}  // namespace weir::test
