#include "policies/judge/memory.h"

#include <algorithm>
#include <string>

namespace weir::policies {
namespace {

using Kind = limiter::PatternSpec::Kind;

}  // namespace

void Memory::write_memory(Instant at) {
  if (work_.verdict.exempt || work_.plan().defect) return;
  const bool refused = work_.verdict.kind == Verdict::Kind::refuse;
  for (const Won& all : ladder_.won()) {
    const PlannedPolicy& planned = work_.plan().policies[all.planned];
    const Policy& policy = work_.policy_of(planned);
    const bool always = policy.has_metric && work_.set->counters[policy.counters.front()].always;
    for (const bool shadow : {false, true}) {
      const Winner& won = shadow ? all.shadow_settled : all.settled;
      if (won.rung < 0) continue;
      const auto r = static_cast<std::size_t>(won.rung);
      const Rung& rung = policy.rungs[r];
      if (!shadow && policy.has_metric && holds_caller(rung, won.effect)) {
        const auto& counter =
            work_.plan().counters[work_.plan().counter_refs[planned.first_counter + rung.counter]];
        work_.bank.pin(work_.counter_of(counter).id, counter.key);
      }
      // Memory rests on final counts: now if nothing is reserved and the request passes, at the
      // answer if it is reserved, and at a refusal if this rung itself refuses the request. A rung
      // whose policy guards other requests refuses none of these. For a pattern of all replicas:
      // when the store knows the event.
      if (refused && lists_again(rung)) continue;
      const bool counted = refused ? always : !planned.reserves && !is_delivered_later(policy);
      const bool refuses_itself =
          planned.applies && refuses(won.effect) && (refused || policy.shadow);
      if (!counted && !refuses_itself) continue;
      remember(policy, planned, rung, r, won.value, work_.plan().limits[planned.first_limit + r],
               at);
    }
  }
}

/// A refusal by a list does not extend the entry on that list.
bool Memory::lists_again(const Rung& rung) const {
  if (!rung.list || !refuses(work_.set->lists[*rung.list].effect)) return false;
  return std::any_of(work_.plan().lists.begin(), work_.plan().lists.end(),
                     [&](const ListHit& hit) { return hit.list == *rung.list; });
}

void Memory::remember(const Policy& policy, const PlannedPolicy& planned, const Rung& rung,
                      std::size_t rung_index, const Value& value, std::optional<Number> limit,
                      Instant at) {
  // A shadow rung of an enforced policy must not empty the counter of the others.
  if (rung.clear && policy.has_metric && rung.shadow == policy.shadow) {
    const PlannedCounter& counter = work_.planned_counter(planned, rung.counter);
    work_.counts.reset(work_.counter_of(counter), counter.key,
                       at.moment(work_.counter_of(counter)));
    if (counter.asked != PlannedCounter::kNone) {
      store_.reset_in_store(work_.counter_of(counter), store_.asked()[counter.asked].key,
                            counter.key.place);
    }
  }
  if (!rung.list && !rung.notify) return;
  const List* list = rung.list ? &work_.set->lists[*rung.list] : nullptr;
  if (!load_listed_key(policy, planned.binding, rung_index)) return;

  keys_.load_texts();
  put_on_list(policy, rung, rung_index, value, limit,
              list == nullptr ? Hash128{} : keys_.key_hash().owned_by(list->identity), at);
}

/// Loads the key that a rung lists or notifies into `keys_` (EventKeys::parts()). False: the event
/// lacks a part of it. With `missing: same`, all events that lack a part share one key.
bool Memory::load_listed_key(const Policy& policy, std::uint16_t binding, std::size_t rung) {
  const auto& list = policy.rungs[rung].list;
  work_.frame.set_event(work_.set->events[policy.bindings[binding].event].name);
  if (list && !work_.set->lists[*list].owner)
    return keys_.load_key(policy.list_keys[binding][rung]);
  const std::vector<KeySlot>& key = policy.bindings[binding].key;
  if (keys_.load_key(key)) return true;
  if (policy.missing != Missing::same) return false;
  keys_.load_key_with_gaps(key);
  return true;
}

/// `key_in_list`: the key in the rung's list, if the rung has one. EventKeys::printable() has the
/// key's printable parts.
void Memory::put_on_list(const Policy& policy, const Rung& rung, std::size_t rung_index,
                         const Value& value, std::optional<Number> limit,
                         const Hash128& key_in_list, Instant at) {
  const List* list = rung.list ? &work_.set->lists[*rung.list] : nullptr;
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
    listing.parts = keys_.printable();
    listing.durations = rung.durations;
    if (rung.for_window) {
      const Counter& counter = work_.set->counters[policy.counters[rung.counter]];
      listing.until = at.now + at.window_left(counter);
    }
    listing.forget = rung.forget.count() > 0 ? rung.forget : list->forget;
    listing.policy = policy.name;
    listing.value = news.value;
    listing.limit = limit.value_or(Number{0});
    listing.by = "policy";
    const limiter::ListOutcome outcome = work_.list_bank.add(list->id, listing, at.now);
    if (outcome.kind == limiter::ListOutcome::Kind::refused) return;
    StatsCells::add(work_.loaded->policy_cells[policy.index]->listed);
    news.until = outcome.until;
    news.created = outcome.kind == limiter::ListOutcome::Kind::created;
    for (Standing& standing : work_.verdict.standings) {
      if (standing.policy == policy.index && standing.rung == static_cast<int>(rung_index)) {
        standing.until = outcome.until;
      }
    }
  }
  if (work_.observer == nullptr || rung.shadow) return;
  news.key = keys_.printable();
  work_.observer->listed(*work_.set, news, at.now);
}

/// Guarded events are not counted here. Events that depend on the answer are counted when the
/// answer comes.
void Memory::count_events() {
  for (const PlannedPolicy& planned : work_.plan().policies) {
    if (planned.reserves) continue;
    const Policy& policy = work_.policy_of(planned);
    if (policy.pattern || !policy.bindings.data()[planned.binding].counts) continue;
    StatsCells::add(work_.loaded->policy_cells.data()[planned.policy]->events);
  }
  if (work_.plan().patterns.empty()) return;
  std::optional<PolicyIndex> last;  // a pair may have an event on both sides, with two keys
  for (const PlannedPattern& planned : work_.plan().patterns) {
    const PolicyIndex policy = work_.set->patterns[planned.pattern].policy;
    if (planned.deferred() || last == policy) continue;
    StatsCells::add(work_.loaded->policy_cells[policy]->events);
    last = policy;
  }
}

void Memory::count_standings() {
  count_events();
  for (const Standing& standing : work_.verdict.standings) {
    StatsCells& cells = standing.list ? *work_.loaded->list_cells[*standing.list]
                                      : *work_.loaded->policy_cells[*standing.policy];
    auto& by_action = standing.shadow ? cells.shadows : cells.verdicts;
    StatsCells::add(by_action[static_cast<std::size_t>(standing.effect)]);
  }
}

/// Whether the effects of a match wait until the store has received the event and decides.
bool Memory::is_delivered_later(const Policy& policy) const noexcept {
  return policy.pattern && std::any_of(work_.plan().patterns.begin(), work_.plan().patterns.end(),
                                       [&](const auto& planned) {
                                         return planned.pattern == *policy.pattern &&
                                                planned.asked != PlannedCounter::kNone &&
                                                !planned.away;
                                       });
}

}  // namespace weir::policies
