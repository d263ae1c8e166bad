#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "config/model.h"

namespace weir::app {

/// A condition of `weir replay --fail-if`: `deny>0.5%`, `flag>=100`.
struct FailIf {
  Action action = Action::deny;
  double bound = 0;
  bool percent = false;
  bool inclusive = false;
  std::string text;

  /// Nothing: `problem` says why.
  static std::optional<FailIf> parse(std::string_view text, std::string& problem);
  /// Whether it holds for so many of `events`.
  bool holds(std::uint64_t hits, std::uint64_t events) const noexcept;
};

}  // namespace weir::app
