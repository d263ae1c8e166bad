#include "config/text/time_form.h"

#include <vector>

#include "config/text/problem.h"

namespace weir::config {

std::string known_time_forms() {
  std::string out;
  for (const EpochUnitRow& row : kEpochUnits)
    out += (out.empty() ? "" : ", ") + std::string(row.name);
  return out + " or a pattern such as '%d/%m/%Y:%H:%M:%S %z'";
}

std::optional<TimeForm> parse_time_form(std::string_view text, TimePattern::Problem& problem) {
  if (const EpochUnitRow* const row = find_word(kEpochUnits, text)) return TimeForm{row->value, {}};
  std::vector<std::string_view> words;
  for (const EpochUnitRow& row : kEpochUnits) words.push_back(row.name);
  if (text.find('%') == std::string_view::npos) {
    const std::string_view near = nearest(text, words);
    problem = {0, text.size(), "\"" + std::string(text) + "\" is not a time format",
               near.empty() ? known_time_forms()
                            : "did you mean \"" + std::string(near) +
                                  "\"? Or a pattern such as '%d/%m/%Y:%H:%M:%S %z'"};
    return std::nullopt;
  }
  if (!TimePattern::compile(text, problem)) return std::nullopt;
  return TimeForm{std::nullopt, std::string(text)};
}

}  // namespace weir::config
