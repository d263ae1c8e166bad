#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "replay/report.h"

namespace weir::app {

/// `--max-bad 1%` or `--max-bad 20`.
struct BadBound {
  double bound = 0;
  bool percent = false;
  /// Nothing: the text is empty, or no such bound.
  static std::optional<BadBound> parse(std::string_view text);
  bool allows(const replay::Report& report) const noexcept;
};

/// Rows within --from and --to, and bad ones.
std::uint64_t rows_read(const replay::Report& report) noexcept;

/// Says which files had no row that could be read, and why. Whether there was one: a replay of
/// nothing must not look like a replay in which nothing happened. `all_times`: no row was left out.
bool tell_unread(const replay::Report& report, bool all_times);

/// The lines of a file: keys as reports show them (parts joined by ", "). Empty lines and those
/// that begin with # are none. Nothing: `problem` says why.
std::optional<replay::Labels> read_labels(const std::string& path, std::string& problem);

}  // namespace weir::app
