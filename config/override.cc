#include "config/override.h"

#include <algorithm>
#include <charconv>

namespace weir::config {
namespace {

std::string value_of(const Rung& rung) {
  if (const auto* number = std::get_if<Located<Number>>(&rung.limit))
    return number->value.to_string();
  if (const auto* text = std::get_if<Text>(&rung.limit)) return text->value;
  return "";
}

// `1.over=5 (flag), 2.over=10 (deny)`: what can be set.
std::string choices(const PolicyDef& policy) {
  std::string out;
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    const Rung& rung = policy.then[i];
    if (rung.compare == Compare::none) continue;
    out += (out.empty() ? "" : ", ") + std::to_string(i + 1) + "." +
           std::string(name_of(rung.compare)) + "=" + value_of(rung) + " (" +
           std::string(row_of(rung.action.value).name) + ")";
  }
  return out;
}

// Whether `selector` (`2`, `deny`, or empty: any) means the rung at `index`.
bool selects(std::string_view selector, const Rung& rung, std::size_t index) {
  if (selector.empty()) return true;
  std::size_t number = 0;
  const auto [end, error] =
      std::from_chars(selector.data(), selector.data() + selector.size(), number);
  if (error == std::errc{} && end == selector.data() + selector.size()) return number == index + 1;
  return selector == row_of(rung.action.value).name;
}

std::string set_limit(const Override::Limit& change, PolicyDef& policy) {
  const std::string_view text = change.rung;
  const std::size_t dot = text.rfind('.');
  const std::string_view selector =
      dot == std::string_view::npos ? std::string_view() : text.substr(0, dot);
  const std::string_view compare = dot == std::string_view::npos ? text : text.substr(dot + 1);
  Rung* found = nullptr;
  std::size_t matches = 0;
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    Rung& rung = policy.then[i];
    if (rung.compare == Compare::none || name_of(rung.compare) != compare) continue;
    if (!selects(selector, rung, i)) continue;
    found = &rung;
    ++matches;
  }
  const std::string there = choices(policy);
  if (there.empty()) return "no rung of this policy has a threshold";
  if (matches == 0)
    return "\"" + change.rung + "\" means no rung of this policy; there are " + there;
  if (matches > 1)
    return "\"" + change.rung + "\" means several rungs of this policy: say which one: " + there;
  found->limit = Located<Number>{change.limit, found->where};
  return {};
}

}  // namespace

std::string apply(const Override& change, Model& model) {
  const auto policy =
      std::find_if(model.policies.begin(), model.policies.end(),
                   [&](const PolicyDef& def) { return def.name.value == change.policy; });
  if (policy == model.policies.end()) return "there is no policy of that name";
  for (const Override::Limit& limit : change.limits) {
    if (std::string wrong = set_limit(limit, *policy); !wrong.empty()) return wrong;
  }
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

std::string override_text(const Override& change) {
  std::string out;
  if (change.mode) out = name_of(*change.mode);
  for (const Override::Limit& limit : change.limits)
    out += (out.empty() ? "" : ", ") + limit.rung + "=" + limit.limit.to_string();
  return out;
}

}  // namespace weir::config
