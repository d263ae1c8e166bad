#include "replay/engine.h"

#include <algorithm>

namespace weir::replay {
namespace {

constexpr std::array<std::uint8_t, 16> kSecret{'w', 'e', 'i', 'r', ' ', 'r',
                                               'e', 'p', 'l', 'a', 'y'};

constexpr TimePoint kEndOfTime = from_ms(std::int64_t{1} << 50);

}  // namespace

Engine::Engine(const config::Model& model, std::shared_ptr<policies::PolicySet> set, Order order)
    : model_(model),
      set_(std::move(set)),
      bank_({model.server.limits.memory, model.server.limits.keys, true}),
      patterns_({limiter::pattern_memory(model.server.limits.memory), 1, order == Order::time}),
      forgets_(order == Order::time),
      secret_(HashSecret::from_bytes(kSecret)),
      stats_(1),
      evaluator_(bank_, lists_, secret_) {}

std::unique_ptr<Engine> Engine::make(const config::Model& model,
                                     std::shared_ptr<policies::PolicySet> set, Order order,
                                     std::string& problem) {
  std::unique_ptr<Engine> engine(new Engine(model, std::move(set), order));
  const auto attached =
      engine->set_->attach(engine->bank_, engine->lists_, engine->secret_, &engine->patterns_);
  if (!attached) {
    problem = attached.error().message();
    return nullptr;
  }
  engine->set_->attach_views(engine->views_);
  engine->report_patterns_to(nullptr);
  engine->loaded_ = policies::load_on_worker(engine->set_, engine->stats_, 0);
  engine->evaluator_.use(engine->loaded_);
  return engine;
}

void Engine::share(const policies::Sharing& sharing, Ask ask) {
  ask_ = std::move(ask);
  sharing_ = sharing;
  sharing_.forgets = forgets_;
  evaluator_.share(sharing_);
}

void Engine::run_errands(TimePoint now) {
  if (!evaluator_.tellings().empty()) tell_patterns(now);
  if (evaluator_.errands().empty()) return;
  ask_(evaluator_.errands(), now);
  evaluator_.errands().clear();
}

void Engine::tell_patterns(TimePoint now) {
  auto& tellings = evaluator_.tellings();
  const policies::Instant at{now, now};
  asking_.clear();
  for (const auto& telling : tellings) append(*telling, at, sharing_.forgets, asking_);
  ask_(asking_, now);
  for (std::size_t i = 0; i < tellings.size(); ++i) {
    const limiter::SharedReply& reply = asking_.reply(i);
    if (reply.error == limiter::SharedError::none) {
      evaluator_.told_of(*tellings[i], reply.pattern, at, true);
      dropped_in_store_ += reply.pattern.dropped;
    }
    evaluator_.give_back(std::move(tellings[i]));
  }
  tellings.clear();
}

void Engine::fire_shared(TimePoint watermark) {
  const policies::Instant at{watermark, watermark};
  while (ask_ && evaluator_.shared_due() <= watermark) {
    evaluator_.shared_due() = limiter::kNever;
    for (std::size_t i = 0; i < set_->patterns.size(); ++i) {
      const auto& shared = set_->patterns[i].shared;
      if (shared == nullptr || !shared->has_deadlines()) continue;
      asking_.clear();
      evaluator_.ask_due(*loaded_, i, watermark, milliseconds{0}, asking_);
      ask_(asking_, watermark);
      for (unsigned shard = 0; shard < asking_.size(); ++shard) {
        const limiter::SharedReply& reply = asking_.reply(shard);
        if (reply.error != limiter::SharedError::none) return;  // the run fails
        evaluator_.take_due(i, reply, shard, at, false);
      }
    }
    evaluator_.fire_due();
  }
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
  policies::Evaluator::Options options;
  options.may_wait = false;  // nobody else is there whose reservations could end
  options.rows = rows;
  options.line = line;
  options.happened = row.time;
  options.own_time = row.time;
  const policies::Instant at{now, now};
  const policies::Record record = record_of(row, kind.event);
  if (row.recorded) {
    // As the gate did: what names no time of its own has that at which it was judged.
    options.own_time.reset();
    if (row.own_time != row.time) options.own_time = row.own_time;
  }
  const bool request = kind.request && !row.recorded;
  if (request && ask_ == nullptr) options.answer = &row.answer;
  const policies::Verdict& verdict =
      request ? evaluator_.judge(row.request, at, options) : evaluator_.judge(record, at, options);
  if (verdict.kind == policies::Verdict::Kind::ask) {
    ask_(evaluator_.asking(), now);
    request ? evaluator_.told(row.request, options) : evaluator_.told(record, options);
  }
  if (ask_) run_errands(now);
  const bool passed = verdict.kind == policies::Verdict::Kind::pass ||
                      verdict.kind == policies::Verdict::Kind::hold;
  if (!passed || !evaluator_.must_observe()) return verdict;
  if (options.answer == nullptr || !evaluator_.settled_by(*options.answer)) {
    evaluator_.keep(settlement_);
    for (const policies::Preset& value : row.answered) settlement_.captured.add(value);
    answering_ = true;
    if (row.aborted) {
      evaluator_.aborted(settlement_, at);
    } else {
      evaluator_.answered(settlement_, kind.request ? row.answer : Answer{}, at);
    }
    if (!settlement_.closing.empty()) {
      ask_(settlement_.closing, now);
      evaluator_.closed(settlement_, at);
    }
    evaluator_.ended(settlement_);
    run_errands(now);
    answering_ = false;
  }
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

void Engine::advance(TimePoint watermark, const OnWindow& use) {
  evaluator_.advance(watermark);
  fire_shared(watermark);
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
  evaluator_.end_of_input(last, flush);
  if (!flush) return;
  fire_shared(kEndOfTime);
  for (std::size_t i = 0; i < set_->views.size(); ++i) {
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
  std::uint64_t out = bank_.stats().evicted + patterns_.stats().dropped + dropped_in_store_;
  for (const policies::View& view : set_->views) out += view.live->stats().counted.dropped;
  return out;
}

}  // namespace weir::replay
