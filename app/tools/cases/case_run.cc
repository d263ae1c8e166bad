#include "app/tools/cases/case_run.h"

#include <algorithm>

#include "app/remote/list_feeds.h"
#include "app/tools/cases/case_flight.h"
#include "config/text/units.h"
#include "core/http_status.h"
#include "core/text.h"
#include "policies/explain/explain.h"
#include "policies/explain/rate_limit.h"
#include "policies/set/compile.h"
#include "policies/set/describe.h"

namespace weir::app {
namespace {

constexpr std::string_view kClient = "203.0.113.7";

/// The result of one descriptor, with copies of the texts of its effect.
struct Answered {
  policies::Verdict verdict;
  Effect effect;
  std::string upstream, response, body;
};

Answered kept(const policies::Verdict& verdict, const Effect& effect) {
  Answered out{verdict, effect, std::string(effect.upstream_headers),
               std::string(effect.response_headers), std::string(effect.body)};
  return out;
}

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
      driver_(bank_, lists_, secret_, this) {
  driver_.use_patterns(&patterns_, this);
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
  for (const auto& [list, wrong] : fill_lists(*set, secret_, start, false))
    failures_.push_back({one.name.where, "list \"" + list + "\": " + wrong, {}, {}});
  set_ = set;
  driver_.use(policies::load_on_worker(set_, stats_, 0));
  if (CaseStore::is_needed_by(*set_)) {
    const config::Server::Limits& limits = configuration_.model().server.limits;
    store_.emplace(limiter::BankLimits{limits.memory, limits.keys}, bank_).serve(driver_);
  }
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
  bool sound = true;
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
        sound = false;
        at = before;
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
  return sound;
}

void CaseRun::next() {
  const auto first = due_.begin();
  now_ = first->first.first;
  const Due due = std::move(first->second);
  due_.erase(first);
  if (store_) store_->advance(now_);
  driver_.advance(now_ - milliseconds{1});  // an event at the very deadline is in time
  switch (due.what) {
    case Due::What::send:
      due.flight->asked = now_;
      trace_.clear();
      if (!due.flight->is_event()) return check_state(*due.flight);
      if (due.flight->step->domain) return call(*due.flight);
      if (prepare(*due.flight)) send(due.flight, true);
      return;
    case Due::What::answer:
      settle(*due.flight);
      return wake();
    case Due::What::give_up:
      if (std::erase(waiting_, due.flight) != 0) send(due.flight, false);
      return;
  }
}

bool CaseRun::prepare(Flight& flight) {
  const config::CaseStep& step = *flight.step;
  if (step.event) return prepare_event(flight);
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
  if (!client) {
    fail(flight, step.where, "\"" + ip + "\" is not an address");
    return false;
  }
  text.client = *client;
  flight.draft.set_time(now_);
  const std::string wrong = flight.draft.fill(
      std::move(text), configuration_.model().server.limits.body, *configuration_.set);
  if (wrong.empty()) return true;
  fail(flight, step.where, wrong);
  return false;
}

/// Writes an event as the body of `POST /v1/events`, and reads it with the reader of that API.
bool CaseRun::prepare_event(Flight& flight) {
  const config::CaseStep& step = *flight.step;
  flight.json = "{\"event\":";
  append_json(flight.json, step.event->value);
  std::vector<std::pair<std::size_t, config::Where>> begins{{0, step.event->where}};
  for (const auto& [name, value] : step.fields) {
    begins.emplace_back(flight.json.size(), name.where);
    flight.json += ',';
    append_json(flight.json, name.value);
    flight.json += ':' + flight.fill(value.value);
  }
  flight.json += '}';
  flight.reader = std::make_unique<api::EventReader>();
  const auto wrong =
      flight.reader->read(flight.json, *set_, step.happened ? time_of(*step.happened) : now_);
  if (!wrong) return true;
  const auto behind = std::find_if(begins.begin(), begins.end(),
                                   [&](const auto& b) { return b.first > wrong->at; });
  fail(flight, std::prev(behind)->second, wrong->what);
  return false;
}

void CaseRun::send(const std::shared_ptr<Flight>& flight, bool may_wait) {
  if (!judge(*flight, may_wait)) {
    waiting_.push_back(flight);
    if (flight->asked == now_) {
      put(now_ + configuration_.model().server.reserve_wait, Due::What::give_up, flight);
    }
    return;
  }
  if (!flight->judgement.is_open()) return check_state(*flight);
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
  policies::Driver::Options options;
  options.may_wait = may_wait;
  options.trace = &trace_;
  if (flight.step->happened) options.own_time = time_of(*flight.step->happened);
  if (flight.reader != nullptr && flight.reader->record().time != now_) {
    options.own_time = flight.reader->record().time;
  }
  trace_.clear();
  const policies::Occurrence occurrence = flight.reader != nullptr
                                              ? policies::Occurrence(flight.reader->record())
                                              : flight.draft.request();
  const policies::Verdict& verdict =
      *driver_.start(flight.judgement, occurrence, instant(), options);
  if (verdict.kind == policies::Verdict::Kind::wait) return false;
  const policies::Plan& plan = flight.judgement.plan;
  flight.judged = true;
  trace_.note_unread(verdict);
  check_event(flight, plan, verdict, text_.render(*set_, plan, verdict, instant()));
  return true;
}

void CaseRun::call(Flight& flight) {
  const config::CaseStep& step = *flight.step;
  std::vector<std::vector<std::string>> texts;
  std::vector<std::vector<DescriptorEntry>> entries(step.descriptors.size());
  const std::string domain = flight.fill(step.domain->value);
  for (const auto& descriptor : step.descriptors) {
    auto& own = texts.emplace_back();
    for (const auto& [key, value] : descriptor) {
      own.push_back(flight.fill(key.value));
      own.push_back(flight.fill(value.value));
    }
  }
  std::vector<Descriptor> descriptors;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    for (std::size_t k = 0; k < texts[i].size(); k += 2)
      entries[i].push_back({texts[i][k], texts[i][k + 1]});
    descriptors.push_back({domain, entries[i], step.hits_addend, {}});
  }
  std::vector<policies::FoundDescriptor> found;
  policies::find_events(*set_, descriptors, found);

  flight.judged = true;
  std::vector<policies::DescriptorStatus> statuses;
  std::optional<Answered> refused, last;
  policies::Driver::Options options;
  options.may_wait = false;
  options.trace = &trace_;
  trace_.clear();
  for (std::size_t i = 0; i < descriptors.size(); ++i) {
    if (!found[i].event) {
      statuses.push_back(policies::status_of(found[i]));
      continue;
    }
    const policies::Record record = policies::record_of(found[i], descriptors[i], now_);
    const policies::Verdict& verdict = *driver_.start(flight.judgement, record, instant(), options);
    trace_.note_unread(verdict);
    const policies::Plan& plan = flight.judgement.plan;
    const Effect effect = text_.render(*set_, plan, verdict, instant());
    statuses.push_back(policies::status_of(*set_, plan, verdict, found[i], instant()));
    (statuses.back().over && !refused ? refused : last) = kept(verdict, effect);
    if (flight.judgement.is_open()) {
      driver_.answer(flight.judgement, Answer{}, instant());
      driver_.end(flight.judgement, instant());
    }
  }
  const bool over = policies::is_over(statuses, set_->ratelimit.quota) && !set_->ratelimit.shadow;
  Answered came;
  if (over && refused) {
    came = std::move(*refused);
  } else if (last && last->verdict.kind != policies::Verdict::Kind::refuse) {
    came = std::move(*last);  // a quota that is over refuses nothing by itself
  }
  came.effect.upstream_headers = came.upstream;
  came.effect.response_headers = came.response;
  came.effect.body = came.body;
  check_event(flight, flight.judgement.plan, came.verdict, came.effect);
  check_state(flight);
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
    if (flight.says_answer()) answer = flight.reader->answer();
    mark_partial(answer, flight.method() == "HEAD");
    driver_.answer(flight.judgement, answer, instant());
  } else if (said.end == End::aborted) {
    driver_.abort(flight.judgement, instant());
  } else {
    driver_.release(flight.judgement, instant());
  }
  driver_.end(flight.judgement, instant());
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
