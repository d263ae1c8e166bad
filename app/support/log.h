#pragma once

#include <unistd.h>

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "app/support/line_writer.h"
#include "core/clock.h"
#include "core/number.h"

namespace weir::app {

enum class Level : std::uint8_t { trace, debug, info, warn, error };
/// By its name in `log.level`; info for anything else.
Level level_named(std::string_view name) noexcept;

/// One line of the log: a message and named values. Text may come from any client: it is escaped.
class LogLine {
 public:
  explicit LogLine(std::string_view message) : message_(message) {}
  LogLine& add(std::string_view name, std::string_view text);
  LogLine& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  LogLine& add(std::string_view name, std::int64_t n);
  LogLine& add(std::string_view name, Number n);
  LogLine& mark(std::string_view name);  ///< its value is true

  /// {"time":"…","level":"info","message":"…","name":"value"}
  std::string to_json(Level level, TimePoint time) const;
  /// 2026-11-21T08:00:00.000Z info message name=value
  std::string to_text(Level level, TimePoint time) const;

 private:
  struct Field {
    std::string name;
    std::string text;
    bool quoted;
  };
  std::string message_;
  std::vector<Field> fields_;
};

/// Lines on stderr. A thread of its own writes them, so that a stalled reader blocks no other
/// thread. weir counts the lines that are lost then, and a line reports their number when the
/// reader reads on. Thread-safe.
class Log {
 public:
  Log(Level level, bool json, int descriptor = STDERR_FILENO);
  ~Log();  ///< writes what waits, for at most LineWriter::kLastWords
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void use(Level level, bool json);  ///< after a reload
  bool wants(Level level) const noexcept;
  void write(Level level, const LogLine& line);
  /// A line that no level leaves out, and that has room where others have none: of the audit.
  /// False: it is lost all the same.
  bool write_always(const LogLine& line);
  /// The same, but at most one line with this message per `interval`, which then shows how
  /// many were left out. For failures that may occur a hundred times a second.
  void write_seldom(Level level, LogLine line, std::string_view what,
                    milliseconds interval = milliseconds{10'000});
  /// Waits until all lines before have been written, at most so long: before something else writes
  /// to stderr, and before an end that runs no destructors.
  void flush(milliseconds limit) const { out_.flush(limit); }
  /// Lines lost because stderr took them too slowly, or not at all.
  std::uint64_t lost() const noexcept { return out_.lost(); }

 private:
  struct Seldom {
    TimePoint next{};
    std::int64_t left_out = 0;
  };
  const std::shared_ptr<std::atomic<bool>> json_;  // the writer's thread as well
  LineWriter out_;
  mutable std::mutex mutex_;
  Level level_;
  std::map<std::string, Seldom, std::less<>> seldom_;
};

}  // namespace weir::app
