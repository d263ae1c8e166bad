#include <algorithm>

#include "policies/judge/evaluator.h"

/// What a judgement leaves behind: list entries, pins, cleared counters, statistics, news for
/// observers.
namespace weir::policies {

void Evaluator::write_memory(Instant at) {
  if (verdict_.exempt || plan_.defect) return;
  const bool refused = verdict_.kind == Verdict::Kind::refuse;
  for (const Won& all : won_) {
    const PlannedPolicy& planned = plan_.policies[all.planned];
    const Policy& policy = policy_of(planned);
    const bool always = policy.has_metric && set_->counters[policy.counters.front()].always;
    for (const bool shadow : {false, true}) {
      const Winner& won = shadow ? all.shadow_settled : all.settled;
      if (won.rung < 0) continue;
      const auto r = static_cast<std::size_t>(won.rung);
      const Rung& rung = policy.rungs[r];
      if (!shadow && policy.has_metric && holds_caller(rung, won.effect)) {
        const auto& counter =
            plan_.counters[plan_.counter_refs[planned.first_counter + rung.counter]];
        bank_.pin(counter_of(counter).id, counter.key);
      }
      // Memory rests on what is counted for good: now if nothing is reserved and the request
      // passes, at the answer if it is reserved, and at a refusal if this rung itself refuses the
      // request. A rung whose policy guards other requests refuses none of these.
      // A pattern of all replicas: when the store has heard of the event.
      if (refused && lists_again(rung)) continue;
      const bool counted = refused ? always : !planned.reserves && !is_told_later(policy);
      const bool refuses_itself =
          planned.applies && refuses(won.effect) && (refused || policy.shadow);
      if (!counted && !refuses_itself) continue;
      remember(policy, planned, rung, r, won.value, plan_.limits[planned.first_limit + r],
               plan_.counters, plan_.counter_refs, at);
    }
  }
}

/// Whom a list has just refused stays on it no longer for that.
bool Evaluator::lists_again(const Rung& rung) const {
  if (!rung.list || !refuses(set_->lists[*rung.list].effect)) return false;
  return std::any_of(plan_.lists.begin(), plan_.lists.end(),
                     [&](const ListHit& hit) { return hit.list == *rung.list; });
}

void Evaluator::remember(const Policy& policy, const PlannedPolicy& planned, const Rung& rung,
                         std::size_t rung_index, const Value& value, std::optional<Number> limit,
                         const std::vector<PlannedCounter>& counters,
                         const std::vector<std::uint16_t>& refs, Instant at) {
  // A shadow rung of an enforced policy must not empty what the others read.
  if (rung.clear && policy.has_metric && rung.shadow == policy.shadow) {
    const auto& counter = counters[refs[planned.first_counter + rung.counter]];
    counts_.reset(counter_of(counter), counter.key, at.moment(counter_of(counter)));
    if (counter.asked != PlannedCounter::kNone) {
      reset_in_store(counter_of(counter), (*asked_)[counter.asked].key, counter.key.place);
    }
  }
  if (!rung.list && !rung.notify) return;
  const List* list = rung.list ? &set_->lists[*rung.list] : nullptr;
  if (!load_listed_key(policy, planned.binding, rung_index)) return;

  load_texts();
  put_on_list(policy, rung, rung_index, value, limit,
              list == nullptr ? Hash128{} : key_hash().owned_by(list->identity), at);
}

/// The key that a rung lists, or tells of, into parts_. False: the event lacks a part of it. All
/// that lack one are one key of a policy that counts them so (`missing: same`).
bool Evaluator::load_listed_key(const Policy& policy, std::uint16_t binding, std::size_t rung) {
  const auto& list = policy.rungs[rung].list;
  frame_.set_event(set_->events[policy.bindings[binding].event].name);
  if (list && !set_->lists[*list].owner) return load_key(policy.list_keys[binding][rung]);
  const std::vector<KeySlot>& key = policy.bindings[binding].key;
  if (load_key(key)) return true;
  if (policy.missing != config::Missing::same) return false;
  load_key_with_gaps(key);
  return true;
}

/// The key's parts as people read them, into views_.
void Evaluator::load_texts() {
  if (texts_.size() < parts_.size()) texts_.resize(parts_.size());
  views_.clear();
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    texts_[i].clear();
    append_canonical(texts_[i], parts_[i]);
    views_.push_back(texts_[i]);
  }
}

/// `key`: of the rung's list, if it has one; its printable parts are views_.
void Evaluator::put_on_list(const Policy& policy, const Rung& rung, std::size_t rung_index,
                            const Value& value, std::optional<Number> limit,
                            const Hash128& key_in_list, Instant at) {
  const List* list = rung.list ? &set_->lists[*rung.list] : nullptr;
  Observer::Listed news{};
  news.policy = &policy;
  news.rung = &rung;
  news.list = list;
  news.value = value.is_number() ? value.as_number() : Number{0};
  news.limit = limit;
  news.created = true;
  if (list != nullptr) {
    limiter::Listing listing;
    listing.key = news.hash = key_in_list;
    listing.parts = views_;
    listing.durations = rung.durations;
    if (rung.for_window) {
      const Counter& counter = set_->counters[policy.counters[rung.counter]];
      listing.until = at.now + at.window_left(counter);
    }
    listing.forget = rung.forget.count() > 0 ? rung.forget : list->forget;
    listing.policy = policy.name;
    listing.value = news.value;
    listing.limit = limit.value_or(Number{0});
    listing.by = "policy";
    const limiter::ListOutcome outcome = list_bank_.add(list->id, listing, at.now);
    if (outcome.kind == limiter::ListOutcome::Kind::refused) return;
    StatsCells::add(loaded_->policy_cells[policy.index]->listed);
    news.until = outcome.until;
    news.created = outcome.kind == limiter::ListOutcome::Kind::created;
    for (Standing& standing : verdict_.standings) {
      if (standing.policy == policy.index && standing.rung == static_cast<int>(rung_index)) {
        standing.until = outcome.until;
      }
    }
  }
  if (observer_ == nullptr || rung.shadow) return;
  std::string key;
  for (const std::string_view part : views_) {
    if (!key.empty()) key += ", ";
    key += part;
  }
  news.key = key;
  observer_->listed(*set_, news, at.now);
}

void Evaluator::count_standings() {
  for (const Standing& standing : verdict_.standings) {
    StatsCells& cells = standing.list ? *loaded_->list_cells[*standing.list]
                                      : *loaded_->policy_cells[*standing.policy];
    auto& by_action = standing.shadow ? cells.shadows : cells.verdicts;
    StatsCells::add(by_action[static_cast<std::size_t>(standing.effect)]);
  }
}

}  // namespace weir::policies
