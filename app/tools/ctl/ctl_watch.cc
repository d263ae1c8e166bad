#include "app/tools/ctl/ctl_watch.h"

#include <unistd.h>

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/verdict_line.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/text/units.h"
#include "core/clock.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/visible.h"

namespace weir::app {

namespace json = boost::json;

namespace {

constexpr std::string_view kClear = "\x1b[H\x1b[2J";

std::optional<milliseconds> interval_of(const WatchOptions& options, milliseconds otherwise) {
  if (options.interval.empty()) return otherwise;
  const auto parsed = config::parse_duration(options.interval);
  if (parsed && *parsed.value >= milliseconds{100}) return *parsed.value;
  complain("--interval: " + (parsed ? std::string("at least 100ms") : parsed.message));
  return std::nullopt;
}

}  // namespace

int watch_top(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{2'000});
  if (!interval) return kUsage;
  const bool human = globals.output == Output::human;
  const bool terminal = human && ::isatty(STDOUT_FILENO) == 1;
  const std::size_t times = options.count != 0 ? options.count : terminal ? 0 : 1;
  AdminAnswer before;
  TimePoint asked{};
  for (std::size_t i = 0; times == 0 || i < times; ++i) {
    if (i != 0) wait_for(*interval);
    AdminAnswer answer = ask_admin(door, "GET", "/v1/policies");
    if (answer.code != kOk) return complain_of(answer);
    const TimePoint now = Clock::wall();
    const double seconds = static_cast<double>((now - asked).count()) / 1000;
    std::string text;
    if (terminal)
      text += std::string(kClear) + "weir " + door.address + "  " + iso_time(now) + "\n\n";
    if (!terminal && i != 0) text += "\n";
    text += top_table(answer.body, before.body, seconds);
    show(globals, answer.body, text);
    before = std::move(answer);
    asked = now;
  }
  return kOk;
}

int watch_verdicts(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{500});
  if (!interval) return kUsage;
  const bool human = globals.output == Output::human;
  const bool colour = globals.colours(STDOUT_FILENO);
  std::string after;
  std::size_t seen = 0;
  while (true) {
    const AdminAnswer answer =
        ask_admin(door, "GET", "/v1/verdicts" + (after.empty() ? after : "?after=" + after));
    if (answer.code != kOk) return complain_of(answer);
    if (const std::int64_t missed = count_of(answer.body, "missed"); missed != 0)
      complain(std::to_string(missed) + " verdicts came too fast to be shown");
    std::string out;
    for (const json::value& row : items(answer.body, "verdicts")) {
      out += human ? verdict_line(news_of(row), colour)
                   : escape_hidden(plain_numbers(json::serialize(row))) + "\n";
      if (++seen == options.count) {
        print(out);
        return kOk;
      }
    }
    if (!out.empty()) print(out);
    after = cell(answer.body, "next");
    wait_for(*interval);
  }
}

}  // namespace weir::app
