#include "config/checks/rung_order.h"

#include <optional>
#include <string>

#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

/// How severe a rung's effect on the request is. A named list has an effect of its own, which is
/// not known here.
std::optional<int> severity_of(const Rung& rung) {
  if (rung.action.value == Action::graylist && rung.list) return std::nullopt;
  return severity(rung.action.value);
}

bool same_text(const std::optional<Text>& a, const std::optional<Text>& b) {
  return a.has_value() == b.has_value() && (!a || a->value == b->value);
}

/// Whether the limit of `a` reached means that the one of `b` is.
bool reaches(const Rung& a, const Rung& b) {
  if (a.compare == Compare::none || b.compare == Compare::none) return a.compare == b.compare;
  if ((a.compare == Compare::under) != (b.compare == Compare::under)) return false;
  const auto* one = std::get_if<Located<Number>>(&a.limit);
  const auto* other = std::get_if<Located<Number>>(&b.limit);
  if (one != nullptr && other != nullptr) {
    if (a.compare == Compare::under) return one->value <= other->value;
    const bool open = a.compare == Compare::at && b.compare == Compare::over;
    return open ? other->value < one->value : other->value <= one->value;
  }
  const auto* words = std::get_if<Text>(&a.limit);
  const auto* others = std::get_if<Text>(&b.limit);
  const bool looser = a.compare == b.compare || b.compare == Compare::at;
  return words != nullptr && others != nullptr && words->value == others->value && looser;
}

/// Whether `b` holds wherever `a` does. Windows are not compared: a rung with one of its own is
/// left alone.
bool implies(const PolicyDef& policy, const Rung& a, const Rung& b) {
  if (a.in || b.in) return false;
  if (b.condition && !same_text(a.condition, b.condition)) return false;
  if (b.compare != Compare::none) return reaches(a, b);
  if (b.condition) return true;  // by itself, and `a` has the same
  // Neither threshold nor condition: a pattern's rung always holds, a leaky bucket's when it is
  // full.
  return policy.pattern.has_value() || (a.compare == Compare::none && !a.condition);
}

/// `{over: 5, do: flag}`: enough of it to find it.
std::string text_of(const Rung& rung) {
  std::string out;
  const auto add = [&](std::string_view name, const std::string& text) {
    out.append(out.empty() ? "{" : ", ").append(name).append(": ").append(text);
  };
  if (rung.compare != Compare::none) {
    const auto* number = std::get_if<Located<Number>>(&rung.limit);
    const auto* text = std::get_if<Text>(&rung.limit);
    add(name_of(rung.compare), number != nullptr ? number->value.to_string()
                               : text != nullptr ? text->value
                                                 : "");
  }
  if (rung.condition) add("if", rung.condition->value);
  if (rung.action.value != Action::none) add("do", std::string(row_of(rung.action.value).name));
  if (rung.notify) add("notify", rung.notify->value);
  return out + "}";
}

std::string what_of(const Rung& rung) {
  if (rung.notify) return "notify: " + rung.notify->value;
  if (rung.score) return "score: " + std::to_string(rung.score->value);
  return "clear: true";
}

}  // namespace

void check_rung_order(Problems& problems, const PolicyDef& policy) {
  const auto mode_of = [](const Rung& rung) {
    return rung.mode ? rung.mode->value : Mode::enforce;
  };
  for (std::size_t i = 0; i < policy.then.size(); ++i) {
    const Rung& rung = policy.then[i];
    if (mode_of(rung) == Mode::disabled) continue;
    for (std::size_t k = 0; k < policy.then.size(); ++k) {
      const Rung& other = policy.then[k];
      if (k == i || mode_of(rung) != mode_of(other)) continue;
      const auto own = severity_of(rung);
      const auto others = severity_of(other);
      const bool outdone = own && others && (*others > *own || (*others == *own && k > i));
      if (!outdone || !implies(policy, rung, other)) continue;
      problems.warning(rung.where,
                       "this rung never acts: where it holds, " + text_of(other) +
                           " holds too, and only the severest acts",
                       rung.action.value == Action::none
                           ? "give it that \"do\" as well, or write " + what_of(rung) +
                                 " there: rungs without \"do\" are the least severe"
                       : *others == *own
                           ? std::string("if rungs are equally severe, the last one acts")
                           : std::string("leave it out, or let it do more"));
      break;
    }
  }
}

}  // namespace weir::config
