#include "policies/judge/row_reporting.h"

#include "policies/judge/flat_plan.h"

namespace weir::policies {

/// A row and its key, reused for one policy after the other: most rows are only counted, and need
/// only a few fields.
class RowReporting::RowMaker final : public RowSink::Key {
 public:
  explicit RowMaker(RowReporting& giving) : giving_(giving) { row_.key = this; }

  std::span<const Value> parts() override {
    giving_.work_.frame.set_event(row_.event->name);
    if (!giving_.keys_.load_key(binding_->key)) giving_.keys_.load_key_with_gaps(binding_->key);
    return giving_.keys_.parts();
  }

  void start(const PlannedPolicy& planned, bool settled = false) {
    start(giving_.work_.policy_of(planned), giving_.work_.binding_of(planned), settled);
  }
  void start(const Policy& policy, const Binding& binding, bool settled = false) {
    start(policy, binding, giving_.work_.set->events.data() + binding.event, settled);
  }
  void start(const FlatPolicy& policy, bool settled) {
    start(*policy.policy, *policy.binding, policy.event, settled);
  }
  /// The key is that of the counter.
  void give_reading(RowSink& rows, const PlannedCounter& counter, bool settled) {
    row_.hash = counter.key;
    if (giving_.work_.counter_of(counter).near())
      hash_parts();  // another place is another key there
    row_.value = counter.value(settled);
    rows.reading(row_);
  }
  void give_flat_reading(RowSink& rows, const PlannedCounter& counter) {
    row_.hash = counter.key;
    row_.value = Value::integer(counter.reading.value.integer());
    rows.reading(row_);
  }
  /// Reports a rule, which reads nothing, or a pattern. Out of line: few policies are one of these.
  [[gnu::noinline]] void give_ruling(RowSink& rows) {
    hash_parts();
    row_.value = Value::null();
    if (!row_.policy->pattern) rows.ruled(row_);
  }
  [[gnu::noinline]] void give_listed(RowSink& rows, const List& list) {
    hash_parts();
    row_.value = Value::null();
    rows.listed(row_, list);
  }
  void give(RowSink& rows, const PlannedCounter* counter, bool settled) {
    counter != nullptr ? give_reading(rows, *counter, settled) : give_ruling(rows);
  }
  void give_verdict(RowSink& rows, const Winner& won, std::optional<Number> limit) {
    row_.value = won.value;
    const auto rung = static_cast<std::size_t>(won.rung);
    rows.verdict(row_, row_.policy->rungs[rung], rung, limit);
  }
  void give_remembered(RowSink& rows, const Winner& won, std::optional<Number> limit) {
    const auto rung = static_cast<std::size_t>(won.rung);
    const Rung& of = row_.policy->rungs[rung];
    if (!of.list && !of.notify) return;
    row_.value = won.value;
    rows.remembered(row_, of, rung, limit);
  }
  /// For a row without a reading.
  void find_key(const PlannedCounter* counter) {
    if (counter == nullptr || giving_.work_.counter_of(*counter).near()) return hash_parts();
    row_.hash = counter->key;
  }

 private:
  void start(const Policy& policy, const Binding& binding, const Event* event, bool settled) {
    row_.policy = &policy;
    row_.event = event;
    row_.answered = settled;
    binding_ = &binding;
  }
  void hash_parts() {
    parts();
    row_.hash = giving_.keys_.key_hash();
  }

  RowReporting& giving_;
  const Binding* binding_ = nullptr;
  RowSink::Row row_;
};

void RowReporting::give_listed_rows(RowSink& rows) {
  RowMaker row(*this);
  for (const ListHit& hit : work_.plan().lists) {
    const List& list = work_.set->lists[hit.list];
    if (!list.owner || !refuses(list.effect)) continue;
    const Policy& policy = work_.set->policies[*list.owner];
    row.start(policy, policy.bindings[hit.binding]);
    row.give_listed(rows, list);
  }
}

std::optional<Number> RowReporting::limit_of(const PlannedPolicy& planned,
                                             const Winner& won) const {
  if (won.rung < 0) return std::nullopt;
  return work_.plan().limits[planned.first_limit + static_cast<std::size_t>(won.rung)];
}

const PlannedCounter* RowReporting::counter_of(const PlannedPolicy& planned) const {
  return work_.policy_of(planned).has_metric ? &work_.planned_counter(planned, 0) : nullptr;
}

void RowReporting::give_rows(RowSink& rows) {
  if (work_.plan().allowed || work_.plan().defect) return;
  if (!work_.plan().lists.empty()) give_listed_rows(rows);
  const bool refused = work_.verdict.kind == Verdict::Kind::refuse;
  auto next = ladder_.won().begin();
  RowMaker row(*this);
  for (std::size_t at = 0; PlannedPolicy & planned : work_.plan().policies) {
    const std::size_t i = at++;
    const Won* const all = next != ladder_.won().end() && next->planned == i ? &*next++ : nullptr;
    const Policy& policy = work_.policy_of(planned);
    const PlannedCounter* counter = counter_of(planned);
    if (all == nullptr) {  // most of them
      const bool tried =
          planned.reserves && refused && counter != nullptr && work_.counter_of(*counter).always;
      if ((planned.reserves && !tried) || (counter == nullptr && policy.pattern)) continue;
      planned.rowed = tried;
      row.start(planned);
      row.give(rows, counter, false);
      continue;
    }
    const Winner& won = all->enforced.rung >= 0 ? all->enforced : all->shadow;
    const bool reached = won.rung >= 0 && planned.applies;
    const bool always = counter != nullptr && work_.counter_of(*counter).always;
    row.start(planned);
    if (planned.reserves) {
      const bool itself = reached && refuses(won.effect) && (refused || policy.shadow);
      planned.rowed = itself || (refused && always);
    }
    // An answer that matches gives the reading of the reservation.
    !planned.reserves || planned.rowed ? row.give(rows, counter, false) : row.find_key(counter);
    if (reached) {
      planned.reported_rung = static_cast<std::int16_t>(won.rung);
      row.give_verdict(rows, won, limit_of(planned, won));
    } else if (!planned.applies && !planned.reserves && (!refused || always)) {
      const Winner& settled = all->settled.rung >= 0 ? all->settled : all->shadow_settled;
      if (settled.rung >= 0) row.give_remembered(rows, settled, limit_of(planned, settled));
    }
  }
}

void RowReporting::give_remembered(RowSink& rows, const PlannedPolicy& planned, const Winner& won) {
  RowMaker row(*this);
  row.start(planned, true);
  row.find_key(nullptr);
  row.give_remembered(rows, won, std::nullopt);
}

void RowReporting::give_flat_rows(RowSink& rows, std::span<const FlatPolicy> policies) {
  RowMaker row(*this);
  for (const FlatPolicy& policy : policies) {
    row.start(policy, false);
    row.give_flat_reading(rows, policy.planned);
    if (policy.held < 0) continue;
    row.give_verdict(rows, {policy.held, Action::flag, policy.planned.value(false)},
                     policy.binding->limits[static_cast<std::size_t>(policy.held)]);
  }
}

void RowReporting::give_settled_row(RowSink& rows, const FlatPolicy& outcome) {
  RowMaker row(*this);
  row.start(outcome, true);
  row.give_reading(rows, outcome.planned, true);
}

void RowReporting::give_settled_rows(RowSink& rows) {
  RowMaker row(*this);
  for (const PlannedPolicy& planned : work_.plan().policies) {
    if (!planned.reserves || !planned.matched) continue;
    const Policy& policy = work_.policy_of(planned);
    if (!policy.meters.empty()) ladder_.set_metrics(policy, true);
    Winner won = ladder_.settled_winner(planned, false);
    if (won.rung < 0) won = ladder_.settled_winner(planned, true);
    row.start(planned, true);
    const PlannedCounter* const counter = counter_of(planned);
    planned.rowed ? row.find_key(counter) : row.give(rows, counter, true);
    if (won.rung < 0 || won.rung == planned.reported_rung) continue;
    row.give_remembered(rows, won, limit_of(planned, won));
  }
}

}  // namespace weir::policies
