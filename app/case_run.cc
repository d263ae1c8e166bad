#include "app/case_run.h"

#include <algorithm>
#include <boost/json/parse.hpp>

#include "app/case_flight.h"
#include "config/units.h"
#include "policies/compile.h"
#include "policies/describe.h"
#include "policies/explain.h"

namespace weir::app {
namespace {

constexpr std::string_view kClient = "203.0.113.7";

}  // namespace

std::string with_number(std::string_view text, std::int64_t number) {
  std::string out;
  while (true) {
    const std::size_t at = text.find("<n>");
    out += text.substr(0, at);
    if (at == std::string_view::npos) return out;
    out += std::to_string(number);
    text.remove_prefix(at + 3);
  }
}

std::string CaseRun::Flight::fill(std::string_view text) const { return with_number(text, number); }

CaseRun::CaseRun(const Configuration& configuration)
    : configuration_(configuration),
      bank_({configuration.model().server.limits.memory, configuration.model().server.limits.keys}),
      secret_(HashSecret::from_bytes({})),
      evaluator_(bank_, lists_, secret_, this) {
  evaluator_.use_patterns(&patterns_, this);
}

CaseRun::~CaseRun() = default;

std::vector<CaseFailure> CaseRun::run(const config::Case& one, TimePoint start) {
  // A set belongs to the banks that it is attached to: each case compiles its own.
  config::Problems none;
  std::shared_ptr<policies::PolicySet> set = policies::compile(configuration_.model(), none);
  if (set == nullptr || !set->attach(bank_, lists_, secret_, &patterns_)) {
    failures_.push_back({one.name.where, "the counters do not fit into limits.memory", {}, {}});
    return std::move(failures_);
  }
  set->attach_views(views_);
  set_ = set;
  evaluator_.use(policies::load_on_worker(set_, stats_, 0));
  trace_.use(*set_);
  start_ = now_ = start;
  if (!schedule(one, start)) return std::move(failures_);
  while (!due_.empty()) next();
  return std::move(failures_);
}

TimePoint CaseRun::time_of(const config::Text& when) const {
  if (const auto offset = config::parse_duration(when.value)) return start_ + *offset.value;
  return *config::parse_date(when.value).value;
}

void CaseRun::put(TimePoint at, Due::What what, std::shared_ptr<Flight> flight) {
  due_.emplace(std::pair{at, what}, Due{what, std::move(flight)});
}

bool CaseRun::schedule(const config::Case& one, TimePoint start) {
  TimePoint at = start;
  for (const config::CaseStep& step : one.steps) {
    const TimePoint before = at;
    if (step.after) at += step.after->value;
    if (step.at) {
      at = time_of(*step.at);
      if (at < before) {
        failures_.push_back({step.at->where,
                             "this is before the step above, at " + policies::time_text(before),
                             {},
                             {}});
        return false;
      }
    }
    for (std::int64_t n = 1; n <= step.repeat; ++n) {
      if (n > 1) at += step.every;
      auto flight = std::make_shared<Flight>();
      flight->step = &step;
      flight->number = n;
      put(at, Due::What::send, std::move(flight));
    }
  }
  return true;
}

void CaseRun::next() {
  const auto first = due_.begin();
  now_ = first->first.first;
  const Due due = std::move(first->second);
  due_.erase(first);
  evaluator_.advance(now_ - milliseconds{1});  // an event at the very deadline is in time
  switch (due.what) {
    case Due::What::send:
      due.flight->asked = now_;
      trace_.clear();
      if (!due.flight->is_event()) return check_state(*due.flight);
      if (std::string wrong = prepare(*due.flight); !wrong.empty()) {
        return fail(*due.flight, due.flight->step->where, std::move(wrong));
      }
      return send(due.flight, true);
    case Due::What::answer:
      settle(*due.flight);
      return wake();
    case Due::What::give_up:
      if (std::erase(waiting_, due.flight) != 0) send(due.flight, false);
      return;
  }
}

std::string CaseRun::prepare(Flight& flight) {
  const config::CaseStep& step = *flight.step;
  if (step.event) return prepare_record(flight);
  RequestText text;
  const std::string line = flight.fill(step.request->value);
  const std::size_t blank = line.find(' ');
  text.method = line.substr(0, blank);
  text.url = line.substr(blank + 1);
  if (step.body) text.body = flight.fill(step.body->value);
  for (const auto& [name, value] : step.headers) {
    text.headers.emplace_back(name.value, flight.fill(value.value));
  }
  if (!step.content_type.empty()) text.headers.emplace_back("Content-Type", step.content_type);
  const std::string ip = step.ip ? flight.fill(step.ip->value) : std::string(kClient);
  const auto client = Address::parse(ip);
  if (!client) return "\"" + ip + "\" is no address";
  text.client = *client;
  flight.draft.set_time(now_);
  return flight.draft.fill(std::move(text), configuration_.model().server.limits.body);
}

std::string CaseRun::prepare_record(Flight& flight) {
  namespace json = boost::json;
  const config::CaseStep& step = *flight.step;
  const auto event =
      std::find_if(set_->events.begin(), set_->events.end(),
                   [&](const policies::Event& e) { return e.name == step.event->value; });
  if (event == set_->events.end()) {
    std::vector<std::string_view> known;
    for (const policies::Event& e : set_->events) known.push_back(e.name);
    return "there is no event \"" + step.event->value + "\"; " +
           config::suggest(step.event->value, known);
  }
  flight.record.event = static_cast<std::uint16_t>(event - set_->events.begin());
  flight.record.time = step.happened ? time_of(*step.happened) : now_;
  for (const auto& [name, text] : step.fields) {
    std::optional<policies::SlotId> slot;
    if (!event->source.empty())
      slot = set_->slots.find("column " + event->source + "." + name.value);
    if (const auto own = event->fields.find(name.value); !slot && own != event->fields.end()) {
      slot = own->second;
    }
    if (!slot) slot = set_->slots.find(name.value);
    if (!slot) continue;  // nobody reads it
    const json::value value = json::parse(flight.fill(text.value));
    const bool as_text = set_->slots[*slot].type == Type::text;
    Value out = Value::null();
    if (value.is_string() || (as_text && !value.is_null())) {
      flight.texts.emplace_back(value.is_string() ? std::string(value.as_string())
                                                  : flight.fill(text.value));
      out = Value::text(flight.texts.back());
    } else if (value.is_bool()) {
      out = Value::boolean(value.as_bool());
    } else if (value.is_int64()) {
      out = Value::integer(value.as_int64());
    } else if (value.is_double()) {
      out = Value::real(value.as_double());
    } else if (!value.is_null()) {
      return "\"" + name.value + "\" is no single value";
    }
    flight.presets.push_back({*slot, out});
  }
  flight.record.values = flight.presets;
  return {};
}

void CaseRun::send(const std::shared_ptr<Flight>& flight, bool may_wait) {
  if (!judge(*flight, may_wait)) {
    waiting_.push_back(flight);
    if (flight->asked == now_) {
      put(now_ + configuration_.model().server.reserve_wait, Due::What::give_up, flight);
    }
    return;
  }
  if (flight->settlement.loaded == nullptr) return check_state(*flight);
  const milliseconds after = flight->step->answer.after;
  if (after.count() > 0) {
    check_state(*flight);
    put(now_ + after, Due::What::answer, flight);
    return;
  }
  settle(*flight);
  check_state(*flight);
  wake();
}

// False: it has to wait for others' reservations.
bool CaseRun::judge(Flight& flight, bool may_wait) {
  using Kind = policies::Verdict::Kind;
  policies::Evaluator::Options options;
  options.may_wait = may_wait;
  options.trace = &trace_;
  if (flight.step->happened) options.own_time = time_of(*flight.step->happened);
  trace_.clear();
  const policies::Verdict& verdict =
      flight.step->event ? evaluator_.judge(flight.record, instant(), options)
                         : evaluator_.judge(flight.draft.request(), instant(), options);
  if (verdict.kind == Kind::wait) return false;
  const Effect effect = text_.render(*set_, evaluator_.plan(), verdict, instant());
  check_event(flight, verdict, effect);
  if (verdict.kind != Kind::refuse && evaluator_.must_observe()) evaluator_.keep(flight.settlement);
  return true;
}

void CaseRun::settle(Flight& flight) {
  const config::CaseAnswer& said = flight.step->answer;
  using End = config::CaseAnswer::End;
  if (said.end == End::answered) {
    Answer answer;
    answer.status = said.status;
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [name, value] : said.headers)
      lines.emplace_back(name.value, flight.fill(value.value));
    std::vector<HeaderField> fields;
    for (const auto& [name, value] : lines) fields.push_back({name, value});
    answer.headers = fields;
    const std::string body = said.body ? flight.fill(said.body->value) : std::string{};
    answer.body_state = BodyState::complete;
    answer.body = body;
    evaluator_.answered(flight.settlement, answer, instant());
  } else if (said.end == End::aborted) {
    evaluator_.aborted(flight.settlement, instant());
  } else {
    evaluator_.released(flight.settlement, instant());
  }
  evaluator_.ended(flight.settlement);
}

void CaseRun::wake() {
  std::vector<std::shared_ptr<Flight>> again;
  again.swap(waiting_);
  for (const std::shared_ptr<Flight>& flight : again) send(flight, true);
}

void CaseRun::pattern(const policies::MatchedPattern& match) {
  std::string key;
  for (const std::string_view part : match.key) {
    if (!key.empty()) key += ", ";
    key += part;
  }
  const char* const kind = match.kind == limiter::MatchKind::matched   ? "matched"
                           : match.kind == limiter::MatchKind::timeout ? "timeout"
                                                                       : "unmatched";
  matches_[match.policy->name].push_back({kind, std::move(key), match.fires});
}

void CaseRun::listed(const policies::PolicySet& set, const Listed& news, TimePoint) {
  if (!news.created || !news.rung->notify) return;
  ++notified_[set.notify[*news.rung->notify].name.value];
}

}  // namespace weir::app
