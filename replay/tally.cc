#include "replay/tally.h"

#include <algorithm>
#include <numeric>

#include "core/words.h"

namespace weir::replay {
namespace {

bool is_harder(const PolicyTally& tally, Number a, Number b) { return tally.under ? a < b : a > b; }

bool hit_harder(const PolicyTally& tally, const HitKey& a, const HitKey& b) {
  if (a.hardest.has_value() != b.hardest.has_value()) return a.hardest.has_value();
  if (a.hardest && *a.hardest != *b.hardest) return is_harder(tally, *a.hardest, *b.hardest);
  if (a.verdicts != b.verdicts) return a.verdicts > b.verdicts;
  if (a.first != b.first) return a.first < b.first;
  return a.text < b.text;
}

}  // namespace

std::string key_text(policies::RowSink::Key& key) {
  std::string out;
  bool first = true;
  for (const Value& part : key.parts()) {
    if (!first) out += ", ";
    first = false;
    if (!append_canonical(out, part)) out += "(missing)";
  }
  return out;
}

std::uint64_t PolicyTally::verdicts() const noexcept {
  return std::accumulate(rungs.begin(), rungs.end(), std::uint64_t{0});
}

void PolicyTally::merge(PolicyTally&& other) {
  events += other.events;
  listed += other.listed;
  remembered += other.remembered;
  unread += other.unread;
  hits_dropped += other.hits_dropped;
  has_values = has_values || other.has_values;
  for (std::size_t k = 0; k < matches.size(); ++k) matches[k] += other.matches[k];
  for (std::size_t r = 0; r < rungs.size(); ++r) rungs[r] += other.rungs[r];
  if (events == other.events) {
    maxima = std::move(other.maxima);  // all that there is
  } else if (other.events != 0) {
    maxima.merge(other.maxima);
  }
  hits.merge(other.hits);
  confirmed.merge(other.confirmed);
  for (const auto& [cell, count] : other.cells) cells[cell] += count;
}

Tally::Tally(const policies::PolicySet& set)
    : set_(set), policies_(set.policies.size()), listed_(set.lists.size()) {
  for (std::size_t i = 0; i < policies_.size(); ++i) {
    const auto& rungs = set.policies[i].rungs;
    policies_[i].rungs.assign(rungs.size(), 0);
    policies_[i].under = std::any_of(rungs.begin(), rungs.end(), [](const policies::Rung& rung) {
      return rung.compare == Compare::under;
    });
  }
}

void Tally::judged(const policies::Verdict& verdict) {
  ++events_;
  ++effects_[static_cast<std::size_t>(verdict.effect)];
  timeline_.add(time_, verdict.effect);
  if (verdict.decider < 0 || verdict.effect == Action::none) return;
  const policies::Standing& decider = verdict.standings[static_cast<std::size_t>(verdict.decider)];
  if (!decider.field.empty() && decider.policy) ++policies_[*decider.policy].unread;
  const auto& list = decider.list;
  if (!list) return;
  ++listed_[*list];
  if (const auto owner = set_.lists[*list].owner) ++policies_[*owner].listed;
}

void Tally::merge(Tally&& other) {
  events_ += other.events_;
  refused_paths_ += other.refused_paths_;
  for (std::size_t e = 0; e < effects_.size(); ++e) effects_[e] += other.effects_[e];
  for (std::size_t i = 0; i < listed_.size(); ++i) listed_[i] += other.listed_[i];
  for (std::size_t i = 0; i < policies_.size(); ++i)
    policies_[i].merge(std::move(other.policies_[i]));
  timeline_.merge(other.timeline_);
}

void Tally::change(TimePoint time, Action from, Action to) {
  --effects_[static_cast<std::size_t>(from)];
  ++effects_[static_cast<std::size_t>(to)];
  timeline_.change(time, from, to);
}

bool Tally::overflowed() const noexcept {
  return std::any_of(policies_.begin(), policies_.end(), [](const PolicyTally& policy) {
    return policy.hits_dropped != 0 || policy.hits.size() > 2 * PolicyTally::kHitKeys;
  });
}

void Tally::add_cell(const Row& row, std::size_t rung, std::optional<Number> limit) {
  const auto& bindings = row.policy->bindings;
  const bool by_table =
      std::any_of(bindings.begin(), bindings.end(), [&](const policies::Binding& binding) {
        return std::holds_alternative<std::uint16_t>(binding.rungs[rung].limit.source);
      });
  if (by_table && limit) ++policies_[row.policy->index].cells[{rung, limit->as_real()}];
}

void Tally::reading(const Row& row) {
  PolicyTally& tally = policies_.data()[row.policy->index];
  ++tally.events;
  if (row.value.is(Type::integer)) [[likely]] {
    tally.has_values = true;
    const auto value = static_cast<double>(row.value.as_integer());
    tally.maxima.add(row.hash, tally.under ? -value : value);
  } else if (row.value.is_number()) {
    tally.has_values = true;
    const double value = row.value.as_number().as_real();
    tally.maxima.add(row.hash, tally.under ? -value : value);
  } else {
    tally.maxima.add(row.hash, -std::numeric_limits<double>::infinity());
  }
}

void Tally::ruled(const Row& row) {
  PolicyTally& tally = policies_[row.policy->index];
  ++tally.events;
  tally.maxima.add(row.hash, -std::numeric_limits<double>::infinity());
}

void Tally::verdict(const Row& row, const policies::Rung&, std::size_t index,
                    std::optional<Number> limit) {
  ++policies_[row.policy->index].rungs[index];
  add_cell(row, index, limit);
  if (row.policy->pattern) return;  // pattern() gets all its matches
  ++hit(row, index).verdicts;
}

void Tally::remembered(const Row& row, const policies::Rung&, std::size_t index,
                       std::optional<Number>) {
  ++policies_[row.policy->index].remembered;
  if (!row.policy->pattern) hit(row, index);
}

/// The key of a row that a rung has hit.
HitKey& Tally::hit(const Row& row, std::size_t rung) {
  PolicyTally& tally = policies_[row.policy->index];
  HitKey& hit = hit_of(tally, row.hash.lo, rung, time_, [&] { return key_text(*row.key); });
  if (row.value.is_number()) {
    const Number value = row.value.as_number();
    if (!hit.hardest || is_harder(tally, value, *hit.hardest)) hit.hardest = value;
  }
  const auto weight = [&](std::size_t r) { return severity(row.policy->rungs[r].action); };
  if (weight(rung) > weight(hit.rung) || (weight(rung) == weight(hit.rung) && rung > hit.rung)) {
    hit.rung = rung;
  }
  return hit;
}

void Tally::pattern(const policies::MatchedPattern& match) {
  PolicyTally& tally = policies_[match.policy->index];
  ++tally.events;
  ++tally.matches[static_cast<std::size_t>(match.kind)];
  std::string text;
  for (const std::string_view part : match.key) {
    if (!text.empty()) text += ", ";
    text += part;
  }
  const std::uint64_t key = std::hash<std::string>{}(text);
  tally.maxima.add(Hash128{key, key}, -std::numeric_limits<double>::infinity());
  // If pairs are wanted, a pair that is complete has no effect.
  const bool pairs =
      set_.patterns[*match.policy->pattern].spec.kind == limiter::PatternSpec::Kind::pair;
  if (pairs && match.kind == limiter::MatchKind::matched) return;
  ++hit_of(tally, key, static_cast<std::size_t>(match.kind), match.fires, [&] {
      return text;
    }).verdicts;
}

HitKey& Tally::hit_of(PolicyTally& tally, std::uint64_t key, std::size_t rung, TimePoint time,
                      const std::function<std::string()>& text) {
  const auto found = tally.hits.find(key);
  if (found != tally.hits.end()) return found->second;
  if (tally.hits.size() >= 2 * PolicyTally::kHitKeys) make_room(tally);
  HitKey& hit = tally.hits.emplace(key, HitKey{text(), time, {}, rung, 0}).first->second;
  if (labels_ != nullptr) {
    const auto label = labels_->find(hit.text);
    if (label != labels_->end()) tally.confirmed.insert(*label);
  }
  return hit;
}

void Tally::make_room(PolicyTally& tally) {
  std::vector<std::pair<std::uint64_t, const HitKey*>> all;
  all.reserve(tally.hits.size());
  for (const auto& [hash, hit] : tally.hits) all.emplace_back(hash, &hit);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(PolicyTally::kHitKeys);
  std::nth_element(all.begin(), middle, all.end(), [&](const auto& a, const auto& b) {
    return hit_harder(tally, *a.second, *b.second);
  });
  for (auto each = middle; each != all.end(); ++each) tally.hits.erase(each->first);
  tally.hits_dropped += static_cast<std::uint64_t>(all.end() - middle);
}

std::vector<const HitKey*> Tally::hardest(std::size_t policy, std::size_t most) const {
  const PolicyTally& tally = policies_[policy];
  std::vector<const HitKey*> all;
  for (const auto& [hash, hit] : tally.hits) all.push_back(&hit);
  std::sort(all.begin(), all.end(),
            [&](const HitKey* a, const HitKey* b) { return hit_harder(tally, *a, *b); });
  if (all.size() > most) all.resize(most);
  return all;
}

}  // namespace weir::replay
