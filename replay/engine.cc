#include "replay/engine.h"

namespace weir::replay {
namespace {

constexpr std::array<std::uint8_t, 16> kSecret{'w', 'e', 'i', 'r', ' ', 'r',
                                               'e', 'p', 'l', 'a', 'y'};

}  // namespace

Engine::Engine(const config::Model& model, std::shared_ptr<policies::PolicySet> set)
    : model_(model),
      set_(std::move(set)),
      bank_({model.server.limits.memory, model.server.limits.keys}),
      secret_(HashSecret::from_bytes(kSecret)),
      stats_(1),
      evaluator_(bank_, lists_, secret_) {}

std::unique_ptr<Engine> Engine::make(const config::Model& model,
                                     std::shared_ptr<policies::PolicySet> set,
                                     std::string& problem) {
  std::unique_ptr<Engine> engine(new Engine(model, std::move(set)));
  const auto attached = engine->set_->attach(engine->bank_, engine->lists_, engine->secret_);
  if (!attached) {
    problem = attached.error().message();
    return nullptr;
  }
  engine->evaluator_.use(policies::load_on_worker(engine->set_, engine->stats_, 0));
  return engine;
}

std::optional<Engine::Kind> Engine::find_event(std::string_view name) const {
  for (std::size_t i = 0; i < set_->events.size(); ++i) {
    if (set_->events[i].name != name) continue;
    return Kind{static_cast<policies::EventIndex>(i), set_->events[i].source.empty()};
  }
  return std::nullopt;
}

const policies::Verdict& Engine::judge(const Row& row, Kind kind, TimePoint now,
                                       policies::RowSink* rows) {
  policies::Evaluator::Options options;
  options.may_wait = false;  // nobody else is there whose reservations could end
  options.rows = rows;
  const policies::Instant at{now, now};
  const policies::Verdict& verdict =
      kind.request
          ? evaluator_.judge(row.request, at, options)
          : evaluator_.judge(policies::Record{kind.event, row.time, row.values}, at, options);
  const bool passed = verdict.kind == policies::Verdict::Kind::pass ||
                      verdict.kind == policies::Verdict::Kind::hold;
  if (passed && evaluator_.must_observe()) {
    evaluator_.keep(settlement_);
    evaluator_.answered(settlement_, kind.request ? row.answer : Answer{}, at);
    evaluator_.ended(settlement_);
  }
  return verdict;
}

}  // namespace weir::replay
