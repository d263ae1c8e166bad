#include "app/tools/progress.h"

#include <unistd.h>

#include <algorithm>

#include "app/support/files.h"
#include "core/text.h"

namespace weir::app {

std::string Progress::line(std::uint64_t rows, std::uint64_t bytes, std::uint64_t bytes_total,
                           milliseconds elapsed) {
  constexpr std::size_t kCells = 20;
  const double seconds = std::max(0.001, static_cast<double>(elapsed.count()) / 1000);
  std::string out;
  if (bytes_total > 0) {
    const double done =
        std::min(1.0, static_cast<double>(bytes) / static_cast<double>(bytes_total));
    const auto cells = static_cast<std::size_t>(done * kCells);
    const std::string share = std::to_string(static_cast<int>(done * 100));
    out += "[" + std::string(cells, '#') + std::string(kCells - cells, ' ') + "] " +
           std::string(3 - std::min<std::size_t>(3, share.size()), ' ') + share + " %  ";
  }
  out += human_count(rows) + " rows  " +
         human_count(static_cast<std::uint64_t>(static_cast<double>(rows) / seconds)) + "/s";
  if (bytes_total > 0 && bytes > 0 && bytes < bytes_total) {
    const double left =
        seconds * static_cast<double>(bytes_total - bytes) / static_cast<double>(bytes);
    out +=
        "  " + human_duration(milliseconds{static_cast<std::int64_t>(left + 0.5) * 1000}) + " left";
  }
  return out;
}

void Progress::show(std::uint64_t rows, std::uint64_t bytes, std::uint64_t bytes_total) {
  if (!shown_) return;
  const TimePoint now = clock_.now();
  if (drawn_ && now - last_ < milliseconds{100}) return;
  last_ = now;
  drawn_ = true;
  static_cast<void>(
      write_all(STDERR_FILENO, "\r\x1b[K" + line(rows, bytes, bytes_total, now - start_))
          .has_value());
}

void Progress::clear() {
  if (drawn_) static_cast<void>(write_all(STDERR_FILENO, "\r\x1b[K").has_value());
  drawn_ = false;
}

}  // namespace weir::app
