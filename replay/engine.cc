#include "replay/engine.h"

#include <algorithm>

namespace weir::replay {
namespace {

constexpr std::array<std::uint8_t, 16> kSecret{'w', 'e', 'i', 'r', ' ', 'r',
                                               'e', 'p', 'l', 'a', 'y'};

}  // namespace

Engine::Engine(const config::Model& model, std::shared_ptr<policies::PolicySet> set, Order order)
    : model_(model),
      set_(std::move(set)),
      bank_({model.server.limits.memory, model.server.limits.keys, true}),
      patterns_({limiter::pattern_memory(model.server.limits.memory), 1, order == Order::time}),
      forgets_(order == Order::time),
      secret_(HashSecret::from_bytes(kSecret)),
      stats_(1),
      driver_(bank_, lists_, secret_) {}

std::unique_ptr<Engine> Engine::make(const config::Model& model,
                                     std::shared_ptr<policies::PolicySet> set, Order order,
                                     std::string& problem) {
  std::unique_ptr<Engine> engine(new Engine(model, std::move(set), order));
  // Rows that are put in order by their times, which may be whole seconds, have no other order.
  for (policies::Pattern& pattern : engine->set_->patterns)
    pattern.spec.tied = order == Order::time;
  const auto attached =
      engine->set_->attach(engine->bank_, engine->lists_, engine->secret_, &engine->patterns_);
  if (!attached) {
    problem = attached.error().message();
    return nullptr;
  }
  engine->set_->attach_views(engine->views_);
  engine->report_patterns_to(nullptr);
  engine->driver_.use(policies::load_on_worker(engine->set_, engine->stats_, 0));
  engine->driver_.count_alone();
  return engine;
}

void Engine::use_store(const policies::Sharing& sharing, Ask ask) {
  sharing_ = sharing;
  sharing_.forgets = forgets_;
  driver_.use_store(sharing_, outbox_.emplace(std::move(ask)));
}

std::optional<Engine::Kind> Engine::find_event(std::string_view name) const {
  for (std::size_t i = 0; i < set_->events.size(); ++i) {
    if (set_->events[i].name != name) continue;
    return Kind{static_cast<policies::EventIndex>(i), set_->events[i].source.empty()};
  }
  return std::nullopt;
}

const policies::Verdict& Engine::judge(const Row& row, std::uint64_t line, Kind kind, TimePoint now,
                                       policies::RowSink* rows) {
  policies::Driver::Options options;
  options.may_wait = false;  // no other request holds reservations that could end
  options.rows = rows;
  options.line = line;
  options.happened = row.time;
  options.own_time = row.time;
  const policies::Instant at{now, now};
  if (row.recorded) {
    // As the gate did: an event without a time of its own has the time of its judgement.
    options.own_time.reset();
    if (row.own_time != row.time) options.own_time = row.own_time;
  }
  const bool request = kind.request && !row.recorded;
  options.plan_of = policies::PlanOf::none;
  if (request && !outbox_) options.answer = &row.answer;
  if (request) options.prepared = row.prepared;
  const policies::Record record = request ? policies::Record{} : record_of(row, kind.event);
  const policies::Verdict& verdict =
      *driver_.start(judgement_, request ? policies::Occurrence(row.request) : record, at, options);
  if (!judgement_.is_open()) return verdict;
  for (const policies::Preset& value : row.answered) judgement_.captured.add(value);
  answering_ = true;
  if (row.aborted) {
    driver_.abort(judgement_, at);
  } else {
    driver_.answer(judgement_, kind.request ? row.answer : Answer{}, at);
  }
  driver_.end(judgement_, at);
  answering_ = false;
  return verdict;
}

void Engine::collect(std::size_t view, const limiter::ViewWindow& window) {
  Result& result = results_.emplace_back();
  result.view = view;
  result.window = window;
  for (const limiter::ViewRow& row : window.rows) {
    result.parts += row.parts;
    result.sizes.push_back(row.parts.size());
    result.rows.push_back(row);
  }
}

void Engine::hand_out(const OnWindow& use) {
  std::stable_sort(results_.begin(), results_.end(),
                   [](const Result& a, const Result& b) { return a.window.end < b.window.end; });
  for (Result& result : results_) {
    std::size_t at = 0;  // the texts have moved with their results
    for (std::size_t i = 0; i < result.rows.size(); at += result.sizes[i], ++i) {
      result.rows[i].parts = std::string_view(result.parts).substr(at, result.sizes[i]);
    }
    result.window.rows = result.rows;
    use(result.view, result.window);
  }
  results_.clear();
}

void Engine::advance(TimePoint watermark, TimePoint timers, const OnWindow& use) {
  driver_.advance(timers);
  const std::vector<policies::View>& views = set_->views;
  if (views.size() == 1) {  // nothing to put in order
    views.front().live->advance(watermark, [&](const auto& window) { use(0, window); });
    return;
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    views[i].live->advance(watermark, [&](const auto& window) { collect(i, window); });
  }
  if (!results_.empty()) hand_out(use);
}

void Engine::end(TimePoint last, bool flush, const OnWindow& use) {
  driver_.end_of_input(last, flush);
  for (std::size_t i = 0; i < set_->views.size(); ++i) {
    if (!flush && !set_->views[i].spec.endless) continue;
    set_->views[i].live->flush([&](const auto& window) { collect(i, window); });
  }
  hand_out(use);
}

Engine::Room Engine::room() const {
  const limiter::BankStats counters = bank_.stats();
  const limiter::PatternStats patterns = patterns_.stats();
  Room out{counters.keys,
           counters.capacity,
           counters.memory_used,
           counters.memory_limit,
           patterns.memory_used,
           patterns.memory_limit,
           counters.evicted + counters.full,
           {}};
  for (const policies::List& list : set_->lists) {
    out.lists.push_back(lists_.size(list.id));
    out.lost += lists_.refused(list.id);
  }
  return out;
}

std::uint64_t Engine::dropped() const {
  std::uint64_t out = bank_.stats().evicted + patterns_.stats().dropped;
  if (outbox_) out += outbox_->dropped();
  for (const policies::View& view : set_->views) out += view.live->stats().counted.dropped;
  return out;
}

}  // namespace weir::replay
