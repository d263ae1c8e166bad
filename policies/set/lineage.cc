#include "policies/set/lineage.h"

#include <algorithm>

#include "core/key.h"
#include "core/text.h"
#include "limiter/counters/history_facts.h"
#include "limiter/kinds/kinds.h"
#include "limiter/kinds/windows.h"
#include "policies/set/describe.h"

namespace weir::policies {
namespace {

bool trails(limiter::Window window) noexcept {
  return window == limiter::Window::log || window == limiter::Window::ring;
}

/// Whether the window is a span of time, and not a number of events or a level.
bool is_of_time(limiter::Window window) noexcept {
  return trails(window) || window == limiter::Window::every ||
         window == limiter::Window::every_first || window == limiter::Window::calendar;
}

Lineage of_counter(const Policy& policy, const Counter& counter) {
  Lineage out;
  out.owner = policy.name;
  out.text = counter_text(counter);
  if (counter.keys != 0) out.text += ", room for " + std::to_string(counter.keys) + " keys";
  out.identity = hex_of(counter.identity);
  out.shared = counter.shared != nullptr;
  const limiter::CounterSpec& spec = counter.spec;
  const limiter::Kind* const kind = limiter::find_kind(spec);
  const limiter::Rule rule = limiter::Rule::of(spec);
  if (is_of_time(spec.window)) out.length_ms = rule.length;
  if (trails(spec.window)) out.quantum_ms = rule.quantum;
  if (out.shared || spec.late || kind == nullptr) return out;
  // Counters with the same `what` count the same events; metric and type must be equal too.
  out.what = hex_of(counter.what);
  out.form = kind->name;
  if (!trails(spec.window)) return out;
  const std::int64_t kept = std::max(rule.span, rule.kept);
  out.kept_ms = spec.window == limiter::Window::ring ? kept * rule.quantum : kept + 1;
  return out;
}

const limiter::Kind* kind_named(const std::string& name) {
  const auto all = limiter::kinds();
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const limiter::Kind& kind) { return kind.name == name; });
  return found == all.end() ? nullptr : &*found;
}

limiter::Joining joins(const Lineage& to, const Lineage& from) {
  const limiter::Kind* const ours = kind_named(to.form);
  const limiter::Kind* const theirs = kind_named(from.form);
  const bool same = ours != nullptr && theirs != nullptr && to.what == from.what &&
                    ours->metric == theirs->metric && ours->real == theirs->real && !ours->near &&
                    !theirs->near;
  return same ? limiter::joining(ours->metric, ours->window, theirs->window)
              : limiter::Joining::none;
}

/// As limiter::HistoryFacts::fits().
bool fits(const Lineage& heir, const Lineage& from) {
  const limiter::Kind* const ours = kind_named(heir.form);
  const limiter::Kind* const theirs = kind_named(from.form);
  if (heir.what.empty() || heir.what != from.what || ours == nullptr || theirs == nullptr ||
      ours->metric != theirs->metric || ours->real != theirs->real)
    return false;
  if (joins(heir, from) == limiter::Joining::level) return true;
  return from.kept_ms >= heir.length_ms && from.quantum_ms > 0 && heir.quantum_ms > 0 &&
         heir.quantum_ms % from.quantum_ms == 0;
}

bool same_owner(const Lineage& a, const Lineage& b) {
  return a.kind == b.kind && a.owner == b.owner;
}

}  // namespace

std::vector<Lineage> lineage_of(const PolicySet& set) {
  std::vector<Lineage> out;
  for (const Policy& policy : set.policies) {
    std::vector<std::uint16_t> seen;
    for (const std::uint16_t index : policy.counters) {
      const Counter& counter = set.counters[index];
      const bool in_flight = counter.spec.window == limiter::Window::none;
      if (in_flight || std::find(seen.begin(), seen.end(), index) != seen.end()) continue;
      seen.push_back(index);
      out.push_back(of_counter(policy, counter));
    }
    if (!policy.pattern) continue;
    const Pattern& pattern = set.patterns[*policy.pattern];
    Lineage line;
    line.kind = Lineage::Kind::pattern;
    line.owner = policy.name;
    line.text = pattern_text(set, policy);
    line.identity = hex_of(pattern.identity);
    line.shared = pattern.shared != nullptr;
    out.push_back(std::move(line));
  }
  for (const List& list : set.lists) {
    Lineage line;
    line.kind = Lineage::Kind::list;
    line.owner = list.name;
    line.text = "list of ";
    for (const std::string& name : list.of)
      line.text += (&name == list.of.data() ? "" : ", ") + name;
    line.identity = list.kept_as;
    line.shared = list.shared;
    out.push_back(std::move(line));
  }
  return out;
}

std::vector<ReloadEffect> predict_reload(std::span<const Lineage> running,
                                         std::span<const Lineage> next,
                                         std::span<const std::string> closed) {
  std::vector<ReloadEffect> out;
  const auto known = [](std::span<const Lineage> all, const Lineage& line) {
    return std::any_of(all.begin(), all.end(), [&](const Lineage& other) {
      return other.kind == line.kind && other.identity == line.identity;
    });
  };
  for (const Lineage& line : next) {
    if (known(running, line)) continue;
    ReloadEffect change;
    change.of = line;
    for (const Lineage& before : running) {
      if (!same_owner(before, line)) continue;
      if (!change.before.empty()) change.before += ", ";
      change.before += before.text;
    }
    const bool inherits = line.kind == Lineage::Kind::counter && !line.shared &&
                          std::any_of(running.begin(), running.end(), [&](const Lineage& from) {
                            return !from.shared && fits(line, from);
                          });
    const bool returns = line.kind == Lineage::Kind::counter && !line.shared &&
                         std::find(closed.begin(), closed.end(), line.identity) != closed.end();
    if (returns) {
      change.fate = ReloadEffect::Fate::returns;
      change.lacks = std::none_of(running.begin(), running.end(), [&](const Lineage& from) {
        return !from.shared && joins(line, from) != limiter::Joining::none;
      });
    } else if (inherits) {
      change.fate = ReloadEffect::Fate::inherits;
    } else if (change.before.empty()) {
      if (line.kind != Lineage::Kind::counter) continue;  // new, as its owner is
      change.fate = ReloadEffect::Fate::begins;
    }
    out.push_back(std::move(change));
  }
  for (const Lineage& line : running) {
    if (known(next, line)) continue;
    const bool stays = std::any_of(next.begin(), next.end(),
                                   [&](const Lineage& other) { return same_owner(other, line); });
    if (!stays) out.push_back({ReloadEffect::Fate::goes, line, {}});
  }
  return out;
}

namespace {

/// From when a counter that begins empty reads as if it had always counted.
std::string when_whole(const Lineage& of) {
  if (of.length_ms <= 0) return {};
  return ", and its window is whole " + human_duration(milliseconds{of.length_ms}) + " later" +
         (of.quantum_ms > 0 ? "" : " at most");
}

}  // namespace

std::string text_of(const ReloadEffect& change) {
  std::string out = change.of.kind == Lineage::Kind::list ? "list \"" : "policy \"";
  out += change.of.owner + "\": " + change.of.text;
  switch (change.fate) {
    case ReloadEffect::Fate::empties:
      out += " begins empty";
      if (change.of.kind == Lineage::Kind::counter) out += when_whole(change.of);
      break;
    case ReloadEffect::Fate::returns:
      out += change.lacks ? " comes back with what it held; what came since then is missing"
                          : " comes back with what it held, and with what came since then";
      break;
    case ReloadEffect::Fate::inherits:
      out += " begins with the history that is there";
      break;
    case ReloadEffect::Fate::goes:
      return out + " is not in the new configuration";
    case ReloadEffect::Fate::begins:
      return out + " is new: it counts from the load on" + when_whole(change.of);
  }
  if (!change.before.empty() && change.before != change.of.text) {
    out += " (now: " + change.before + ")";
  }
  if (change.of.shared && change.fate == ReloadEffect::Fate::empties) out += ", in Redis too";
  return out;
}

}  // namespace weir::policies
