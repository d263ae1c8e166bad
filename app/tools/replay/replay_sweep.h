#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/support/command.h"
#include "app/support/configuration.h"
#include "replay/replay.h"

namespace weir::app {

/// `--sweep login-per-ip=5,10,20`: the same rows with one threshold at each of several values.
struct Sweep {
  static constexpr std::size_t kMost = 50;
  std::string policy;
  std::optional<std::size_t> rung;  ///< `POLICY:RUNG=...`, from 0
  /// `POLICY:THRESHOLD=...`: `over`, `deny.over` or `2.over`, as `weir ctl policy NAME set` has it.
  /// Neither: the first rung with a number.
  std::string threshold;
  std::vector<Number> limits;

  /// Nothing: `problem` says why. `5,10,20`, or `5..50:5` for 5 to 50 in steps of 5.
  static std::optional<Sweep> parse(std::string_view text, std::string& problem);
};

/// Replays the plan once for each value, one after the other, each with counters of its own, and
/// prints a row for each. An exit code. `threads`: at most, for each.
int run_sweep(const Sweep& sweep, const replay::Plan& plan, const config::Loaded& loaded,
              const replay::Labels* labels, unsigned threads, const Globals& globals);

}  // namespace weir::app
