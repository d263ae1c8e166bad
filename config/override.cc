#include "config/override.h"

#include <algorithm>

#include "config/checks/exactness.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"

namespace weir::config {
namespace {

std::string value_of(const Rung& rung) {
  if (const auto* number = std::get_if<Located<Number>>(&rung.limit))
    return number->value.to_string();
  if (const auto* text = std::get_if<Text>(&rung.limit)) return text->value;
  return "";
}

// `2` of `2.over`: a position, from 1.
std::optional<std::size_t> position_of(std::string_view selector) {
  const auto number = parse_whole<std::size_t>(selector);
  return number.value_or(0) > 0 ? number : std::nullopt;
}

std::string_view action_of(const Rung& rung) { return row_of(rung.action.value).name; }

struct RungName {
  std::string_view selector, compare;
  explicit RungName(std::string_view text) {
    const std::size_t dot = text.rfind('.');
    if (dot != std::string_view::npos) selector = text.substr(0, dot);
    compare = dot == std::string_view::npos ? text : text.substr(dot + 1);
  }
};

// Whether `selector` (`2`, `deny`, or empty: any) means the rung at `index`.
bool selects(std::string_view selector, const Rung& rung, std::size_t index) {
  if (selector.empty()) return true;
  if (const auto position = position_of(selector)) return *position == index + 1;
  return selector == action_of(rung);
}

bool is_threshold(const Rung& rung, std::string_view compare) {
  return rung.compare != Compare::none && name_of(rung.compare) == compare;
}

// The rung that was at a position when the override was set; a reload may have moved it. Null:
// the rung cannot be identified.
Rung* find_moved(const Override::Limit& change, const RungName& name, PolicyDef& policy) {
  std::vector<Rung*> alike, same;
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    Rung& rung = policy.then[i];
    if (!is_threshold(rung, name.compare) || action_of(rung) != change.action) continue;
    alike.push_back(&rung);
    if (value_of(rung) != change.former) continue;
    if (selects(name.selector, rung, i)) return &rung;
    same.push_back(&rung);
  }
  if (same.size() == 1) return same.front();
  // The files may have another threshold now.
  return alike.size() == 1 && change.alone ? alike.front() : nullptr;
}

// The rungs that a name means by itself.
std::vector<Rung*> named(const RungName& name, PolicyDef& policy) {
  std::vector<Rung*> out;
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    Rung& rung = policy.then[i];
    if (is_threshold(rung, name.compare) && selects(name.selector, rung, i)) out.push_back(&rung);
  }
  return out;
}

// The rung that a change means, or the error in the change.
std::string find_rung(const Override::Limit& change, PolicyDef& policy, Rung*& found) {
  const RungName name(change.rung);
  const std::string there = thresholds_text(policy);
  if (there.empty()) return "no rung of this policy has a threshold";
  if (!change.action.empty()) {
    found = find_moved(change, name, policy);
    if (found != nullptr) return {};
    if (position_of(name.selector))
      return "the files have changed the rungs since \"" + change.rung + "\" was set; there are " +
             there;
  }
  const std::vector<Rung*> rungs = named(name, policy);
  if (rungs.empty()) {
    const bool place = ascii::is_digit(name.selector.empty() ? '\0' : name.selector.front());
    return "\"" + change.rung + "\" means no rung of this policy" +
           (place ? ", whose first rung is 1 here; there are " : "; there are ") + there;
  }
  if (rungs.size() > 1)
    return "\"" + change.rung + "\" means several rungs of this policy: say which one: " + there;
  found = rungs.front();
  return {};
}

// All rungs are found by the values in the file, before one of them changes.
std::string find_rungs(const std::vector<Override::Limit>& changes, PolicyDef& policy,
                       std::vector<Rung*>& found) {
  for (const Override::Limit& change : changes) {
    Rung* rung = nullptr;
    if (std::string wrong = find_rung(change, policy, rung); !wrong.empty()) return wrong;
    if (std::find(found.begin(), found.end(), rung) != found.end())
      return "\"" + change.rung + "\" means a rung that another threshold is given for";
    found.push_back(rung);
  }
  return {};
}

// Why the window of a rung cannot read as much as the limit, where a file with it has an error;
// empty: it can. A limit that another kind of window cannot reach silences its rung, and may be
// meant so. The thresholds of a policy may change how many events its window keeps.
std::string beyond_window(const Override::Limit& change, const Rung& rung,
                          const PolicyDef& policy) {
  const auto largest = largest_reading(policy, window_of(policy, rung));
  const bool is_error = largest && (largest->by == LargestReading::By::events ||
                                    largest->by == LargestReading::By::keep);
  if (!is_error || !largest->is_below(rung.compare, change.limit)) return {};
  return "\"" + change.rung + "=" + change.limit.to_string() + "\" " + largest->text(rung.compare);
}

// Sets the limits that windows can read; the others leave that of the files in force. `beyond`: why
// the first of these cannot be read.
std::string set_limits(const std::vector<Override::Limit>& changes, PolicyDef& policy,
                       std::string& beyond) {
  std::vector<Rung*> rungs;
  if (std::string wrong = find_rungs(changes, policy, rungs); !wrong.empty()) return wrong;
  std::vector<decltype(Rung::limit)> of_files;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    of_files.push_back(rungs[i]->limit);
    rungs[i]->limit = Located<Number>{changes[i].limit, rungs[i]->where};
  }
  std::vector<std::string> whys;
  for (std::size_t i = 0; i < changes.size(); ++i)
    whys.push_back(beyond_window(changes[i], *rungs[i], policy));
  for (std::size_t i = 0; i < changes.size(); ++i) {
    if (whys[i].empty()) continue;
    if (beyond.empty()) beyond = whys[i];
    rungs[i]->limit = of_files[i];
  }
  return {};
}

}  // namespace

std::string find_threshold(std::string_view name, PolicyDef& policy, Rung*& found) {
  return find_rung({std::string(name), {}}, policy, found);
}

std::string thresholds_text(const PolicyDef& policy) {
  std::string out;
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    const Rung& rung = policy.then[i];
    if (rung.compare == Compare::none) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(i + 1) + "." +
           std::string(name_of(rung.compare)) + "=" + value_of(rung) + " (" +
           std::string(action_of(rung)) + ")";
  }
  return out;
}

void note_rungs(Override& change, const Model& files) {
  for (PolicyDef policy : files.policies) {
    if (policy.name.value != change.policy) continue;
    for (Override::Limit& limit : change.limits) {
      const RungName name(limit.rung);
      const std::vector<Rung*> rungs = named(name, policy);
      if (rungs.size() != 1) continue;
      const Rung& rung = *rungs.front();
      limit.action = action_of(rung);
      limit.former = value_of(rung);
      limit.alone = std::count_if(policy.then.begin(), policy.then.end(), [&](const Rung& other) {
                      return is_threshold(other, name.compare) && action_of(other) == limit.action;
                    }) == 1;
    }
  }
}

std::string apply(const Override& change, Model& model) {
  const auto policy =
      std::find_if(model.policies.begin(), model.policies.end(),
                   [&](const PolicyDef& def) { return def.name.value == change.policy; });
  if (policy == model.policies.end()) return "there is no policy of that name";
  std::string beyond;
  if (std::string wrong = set_limits(change.limits, *policy, beyond); !wrong.empty()) return wrong;
  if (!change.mode) return {};
  const bool silences = *change.mode == Mode::shadow && policy->mode.value == Mode::enforce;
  if (silences) {
    for (Rung& rung : policy->then) {
      if (rung.mode && rung.mode->value == Mode::disabled) continue;
      rung.silenced = !rung.mode || rung.mode->value == Mode::enforce;
      rung.mode = Located<Mode>{Mode::shadow, rung.where};
    }
  } else {
    policy->mode.value = *change.mode;
  }
  return {};
}

std::string limit_beyond_window(const Override& change, Model files) {
  std::string beyond;
  for (PolicyDef& policy : files.policies) {
    if (policy.name.value == change.policy)
      static_cast<void>(set_limits(change.limits, policy, beyond));  // apply() reports the errors
  }
  return beyond;
}

std::string override_text(const Override& change) {
  std::string out;
  if (change.mode) out = name_of(*change.mode);
  for (const Override::Limit& limit : change.limits)
    out += (out.empty() ? "" : ", ") + limit.rung + "=" + limit.limit.to_string();
  return out;
}

}  // namespace weir::config
