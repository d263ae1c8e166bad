#include "app/support/log.h"

#include <array>

#include "core/json_numbers.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr auto kLevels =
    std::to_array<std::string_view>({"trace", "debug", "info", "warn", "error"});
static_assert(kLevels.size() == static_cast<std::size_t>(Level::error) + 1);

std::string_view name_of(Level level) noexcept { return kLevels[static_cast<std::size_t>(level)]; }

}  // namespace

Level level_named(std::string_view name) noexcept {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i] == name) return static_cast<Level>(i);
  }
  return Level::info;
}

LogLine& LogLine::add(std::string_view name, std::string_view text) {
  fields_.push_back({std::string(name), std::string(text), true});
  return *this;
}

LogLine& LogLine::add(std::string_view name, std::int64_t n) {
  fields_.push_back({std::string(name), std::to_string(n), false});
  return *this;
}

LogLine& LogLine::add(std::string_view name, Number n) {
  fields_.push_back({std::string(name), n.to_string(), !n.is_finite()});  // JSON knows no infinity
  return *this;
}

LogLine& LogLine::mark(std::string_view name) {
  fields_.push_back({std::string(name), "true", false});
  return *this;
}

std::string LogLine::to_json(Level level, TimePoint time) const {
  std::string out = R"({"time":")" + iso_time(time) + R"(","level":")";
  out.append(name_of(level)).append(R"(","message":)");
  append_json(out, message_);
  for (const Field& field : fields_) {
    out += ',';
    append_json(out, field.name);
    out += ':';
    if (field.quoted) {
      append_json(out, field.text);
    } else {
      out += plain_numbers(field.text);
    }
  }
  out += '}';
  return out;
}

std::string LogLine::to_text(Level level, TimePoint time) const {
  std::string out = iso_time(time);
  out.append(" ").append(name_of(level)).append(" ");
  append_plain(out, message_);
  for (const Field& field : fields_) {
    out.append(" ").append(field.name).append("=");
    if (field.quoted && field.text.find_first_of(" \"=") != std::string::npos) {
      append_json(out, field.text);
    } else {
      append_plain(out, field.text);
    }
  }
  return out;
}

namespace {

std::string printed(const LogLine& line, Level level, bool json) {
  const TimePoint now = Clock::wall();
  return (json ? line.to_json(level, now) : line.to_text(level, now)) + "\n";
}

}  // namespace

Log::Log(Level level, bool json, int descriptor)
    : json_(std::make_shared<std::atomic<bool>>(json)),
      out_(descriptor,
           [json_now = json_](std::uint64_t lost) {
             return printed(LogLine("log lines were lost: the reader of stderr was too slow")
                                .add("count", static_cast<std::int64_t>(lost)),
                            Level::warn, *json_now);
           }),
      level_(level) {}

Log::~Log() = default;

void Log::use(Level level, bool json) {
  const std::scoped_lock hold(mutex_);
  level_ = level;
  *json_ = json;
}

bool Log::wants(Level level) const noexcept {
  const std::scoped_lock hold(mutex_);
  return level >= level_;
}

void Log::write(Level level, const LogLine& line) {
  if (wants(level)) out_.push(printed(line, level, *json_), level >= Level::warn);
}

bool Log::write_always(const LogLine& line) {
  return out_.push(printed(line, Level::info, *json_), true);
}

void Log::write_seldom(Level level, LogLine line, std::string_view what, milliseconds interval) {
  const TimePoint now = Clock::wall();
  {
    const std::scoped_lock hold(mutex_);
    Seldom& seldom = seldom_[std::string(what)];
    // A wall clock that was set back must not silence the log for long.
    if (now < seldom.next && seldom.next - now <= interval) {
      ++seldom.left_out;
      return;
    }
    if (seldom.left_out != 0) line.add("left_out", seldom.left_out);
    seldom = {now + interval, 0};
  }
  write(level, line);
}

}  // namespace weir::app
