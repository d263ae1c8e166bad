#include "app/tools/replay/fail_if.h"

#include <cmath>

#include "app/tools/ctl/action_word.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"

namespace weir::app {
std::optional<FailIf> FailIf::parse(std::string_view text, std::string& problem) {
  FailIf out;
  out.text = text;
  const std::size_t sign = text.find('>');
  if (sign == std::string_view::npos) {
    problem = "write an action and a bound, such as 'deny>0.5%' or 'flag>=100'";
    return std::nullopt;
  }
  const std::string_view word = ascii::trimmed(text.substr(0, sign));
  const auto action = action_called(word);
  if (!action) {
    problem = "\"" + std::string(word) + "\" is not an action; known are " + known_actions();
    return std::nullopt;
  }
  out.action = *action;
  std::string_view rest = text.substr(sign + 1);
  if (rest.starts_with('=')) {
    out.inclusive = true;
    rest.remove_prefix(1);
  }
  rest = ascii::trimmed(rest);
  if (rest.ends_with('%')) {
    out.percent = true;
    rest = ascii::trimmed(rest.substr(0, rest.size() - 1));
  }
  const auto bound = parse_whole<double>(rest);
  if (!bound || !std::isfinite(*bound) || *bound < 0) {
    problem = "\"" + std::string(rest) + "\" is not a number";
    return std::nullopt;
  }
  if (out.percent && (*bound > 100 || (*bound == 100 && !out.inclusive))) {
    problem = "\"" + out.text + "\" never holds: there is no more than 100%";
    return std::nullopt;
  }
  out.bound = *bound;
  return out;
}

bool FailIf::holds(std::uint64_t hits, std::uint64_t events) const noexcept {
  if (percent && events == 0) return false;
  const double value = percent ? 100 * static_cast<double>(hits) / static_cast<double>(events)
                               : static_cast<double>(hits);
  return inclusive ? value >= bound : value > bound;
}

}  // namespace weir::app
