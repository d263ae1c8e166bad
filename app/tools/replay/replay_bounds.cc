#include "app/tools/replay/replay_bounds.h"

#include <cmath>

#include "app/support/command.h"
#include "app/support/files.h"
#include "core/chars/parse.h"

namespace weir::app {

std::optional<BadBound> BadBound::parse(std::string_view text) {
  BadBound out;
  if (text.ends_with('%')) {
    out.percent = true;
    text.remove_suffix(1);
  }
  const auto bound = parse_whole<double>(text);
  if (!bound || !std::isfinite(*bound) || *bound < 0 || (out.percent && *bound > 100))
    return std::nullopt;
  out.bound = *bound;
  return out;
}

std::uint64_t rows_read(const replay::Report& report) noexcept { return report.rows + report.bad; }

bool BadBound::allows(const replay::Report& report) const noexcept {
  const auto bad = static_cast<double>(report.bad);
  if (!percent) return bad <= bound;
  return bad * 100 <= bound * static_cast<double>(rows_read(report));
}

bool tell_unread(const replay::Report& report, bool all_times) {
  bool unread = false;
  for (const replay::FileReport& file : report.files) {
    if (file.rows > 0 || file.bad == 0) continue;
    unread = true;
    complain(file.path + " as " + file.event + ": none of its " + std::to_string(file.bad) +
             " rows can be read; the first: " + file.faults.front());
  }
  if (unread || report.rows > 0) return unread;
  std::uint64_t read = 0;
  for (const replay::FileReport& file : report.files) read += file.rows;
  complain(read > 0 && !all_times ? "no row lies between --from and --to"
                                  : "there is nothing to judge: no file has a row");
  return true;
}

std::optional<replay::Labels> read_labels(const std::string& path, std::string& problem) {
  constexpr std::size_t kMost = std::size_t{64} << 20;
  const auto text = read_file(path, kMost);
  if (!text) {
    problem = path + ": " + text.error().message();
    return std::nullopt;
  }
  replay::Labels out;
  for (std::size_t from = 0; from < text->size();) {
    const std::size_t end = std::min(text->find('\n', from), text->size());
    std::string_view line = std::string_view(*text).substr(from, end - from);
    while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.remove_suffix(1);
    if (!line.empty() && !line.starts_with('#')) out.emplace(line);
    from = end + 1;
  }
  if (out.empty()) {
    problem = path + ": there is no key in it";
    return std::nullopt;
  }
  return out;
}

}  // namespace weir::app
