#include "policies/set/lineage.h"

#include <algorithm>
#include <cstdio>

#include "limiter/kinds/windows.h"
#include "policies/set/describe.h"

namespace weir::policies {
namespace {

std::string hex(const Hash128& hash) {
  char out[40];
  const int size =
      std::snprintf(out, sizeof out, "%016llx%016llx", static_cast<unsigned long long>(hash.hi),
                    static_cast<unsigned long long>(hash.lo));
  return {out, static_cast<std::size_t>(size)};
}

bool trails(limiter::Window window) noexcept {
  return window == limiter::Window::log || window == limiter::Window::ring;
}

Lineage of_counter(const Policy& policy, const Counter& counter) {
  Lineage out;
  out.owner = policy.name;
  out.text = counter_text(counter);
  out.identity = hex(counter.identity);
  out.shared = counter.shared != nullptr;
  const limiter::CounterSpec& spec = counter.spec;
  if (out.shared || spec.late || !trails(spec.window)) return out;
  const limiter::Rule rule = limiter::Rule::of(spec);
  const std::int64_t kept = std::max(rule.span, rule.kept);
  // Counters with the same `what` count the same events; metric and type must be equal too.
  out.what =
      hex(counter.what) + " " + std::string(name_of(spec.metric)) + (spec.real ? " real" : "");
  out.quantum_ms = rule.quantum;
  out.kept_ms = spec.window == limiter::Window::ring ? kept * rule.quantum : kept + 1;
  out.length_ms = rule.length;
  return out;
}

/// As limiter::Heritage::fits().
bool fits(const Lineage& heir, const Lineage& from) {
  return !heir.what.empty() && heir.what == from.what && from.kept_ms >= heir.length_ms &&
         from.quantum_ms > 0 && heir.quantum_ms % from.quantum_ms == 0;
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
    line.identity = hex(pattern.identity);
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

std::vector<Inheritance> foretell_reload(std::span<const Lineage> running,
                                         std::span<const Lineage> next) {
  std::vector<Inheritance> out;
  const auto known = [](std::span<const Lineage> all, const Lineage& line) {
    return std::any_of(all.begin(), all.end(), [&](const Lineage& other) {
      return other.kind == line.kind && other.identity == line.identity;
    });
  };
  for (const Lineage& line : next) {
    if (known(running, line)) continue;
    Inheritance change;
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
    if (inherits) {
      change.fate = Inheritance::Fate::inherits;
    } else if (change.before.empty()) {
      if (line.kind != Lineage::Kind::counter) continue;  // new, as its owner is
      change.fate = Inheritance::Fate::begins;
    }
    out.push_back(std::move(change));
  }
  for (const Lineage& line : running) {
    if (known(next, line)) continue;
    const bool stays = std::any_of(next.begin(), next.end(),
                                   [&](const Lineage& other) { return same_owner(other, line); });
    if (!stays) out.push_back({Inheritance::Fate::goes, line, {}});
  }
  return out;
}

std::string text_of(const Inheritance& change) {
  std::string out = change.of.kind == Lineage::Kind::list ? "list \"" : "policy \"";
  out += change.of.owner + "\": " + change.of.text;
  switch (change.fate) {
    case Inheritance::Fate::empties:
      out += " begins empty";
      break;
    case Inheritance::Fate::inherits:
      out += " begins with the history that is there";
      break;
    case Inheritance::Fate::goes:
      return out + " is not in the new configuration";
    case Inheritance::Fate::begins:
      out += " is new: it counts from the load on";
      if (change.of.length_ms > 0) {
        out += ", and its window is whole " + duration_text(milliseconds{change.of.length_ms}) +
               " later";
      }
      return out;
  }
  if (!change.before.empty() && change.before != change.of.text) {
    out += " (now: " + change.before + ")";
  }
  if (change.of.shared && change.fate == Inheritance::Fate::empties) out += ", in Redis too";
  return out;
}

}  // namespace weir::policies
