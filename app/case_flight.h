#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "app/case_run.h"
#include "policies/record.h"

namespace weir::app {

/// One event of a case, from its step to the app's answer.
struct CaseRun::Flight {
  const config::CaseStep* step = nullptr;
  std::int64_t number = 1;  ///< of the repetition
  RequestDraft draft;
  policies::Record record;
  std::vector<policies::Preset> presets;
  std::deque<std::string> texts;  ///< what presets look at
  policies::Settlement settlement;
  TimePoint asked;  ///< when it was sent first

  bool is_event() const noexcept { return step->request || step->event; }
  /// The text with every `<n>` replaced.
  std::string fill(std::string_view text) const;
};

/// Equal as texts, or as numbers up to what a decimal text of a double can say.
bool same_value(std::string_view wanted, std::string_view came);

/// Replaces every `<n>`.
std::string with_number(std::string_view text, std::int64_t number);

}  // namespace weir::app
