#include "policies/explain/pattern_text.h"

namespace weir::policies {
namespace {

std::string plural(std::size_t n, std::string_view one, std::string_view many) {
  return std::to_string(n) + " " + std::string(n == 1 ? one : many);
}

}  // namespace

std::string pattern_part_text(const Pattern& pattern, const PlannedPattern& planned,
                              const limiter::PatternView& view) {
  std::string out;
  for (std::size_t k = 0; k < pattern.steps.size(); ++k) {
    const bool open = (planned.open_steps >> k & 1U) != 0;
    if (!open && (planned.steps >> k & 1U) == 0) continue;
    out += (out.empty() ? "step " : " and step ") + std::to_string(k + 1);
    if (open) out += " if the answer says so";
  }
  out = out.empty() ? "no step, but among those that end a match"
                    : out + " of " + std::to_string(pattern.steps.size());
  out += "; its key has " + plural(view.open, "open match", "open matches");
  if (pattern.spec.steps > 2 && view.open != 0) {
    out += ", the furthest with " + plural(view.furthest, "step", "steps");
  }
  return view.completes ? out + "; it completes one" : out;
}

}  // namespace weir::policies
