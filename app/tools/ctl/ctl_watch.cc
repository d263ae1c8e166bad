#include "app/tools/ctl/ctl_watch.h"

#include <unistd.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/verdict_line.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/text/units.h"
#include "core/clock.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/visible.h"
#include "core/words.h"

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

/// Whether a row of GET /v1/verdicts is wanted.
bool is_wanted(const json::value& row, const WatchOptions& options) {
  const std::string policy = cell(row, "policy"), list = cell(row, "list");
  if (!options.policy.empty() && policy != options.policy && list != options.policy &&
      !list.starts_with(options.policy + ":"))
    return false;
  if (options.verdict.empty()) return true;
  return ("," + options.verdict + ",").find("," + cell(row, "effect") + ",") != std::string::npos;
}

bool knows_verdicts(const WatchOptions& options) {
  for (std::string_view rest = options.verdict; !rest.empty();) {
    const std::string_view word = rest.substr(0, rest.find(','));
    const auto rows = kActions;
    const bool known =
        std::any_of(rows.begin(), rows.end(), [&](const auto& row) { return row.name == word; });
    if (!known) {
      complain("--verdict: \"" + std::string(word) +
               "\" is none of none, flag, graylist, delay, challenge, deny");
      return false;
    }
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
  }
  return true;
}

constexpr std::size_t kTopKeys = 20;
constexpr std::size_t kKeysMost = 10'000;  // different keys in an interval

}  // namespace

int watch_keys(const AdminDoor& door, const WatchOptions& options, const Globals& globals) {
  const auto interval = interval_of(options, milliseconds{2'000});
  if (!interval || !knows_verdicts(options)) return kUsage;
  struct Line {
    std::int64_t count = 0;
    json::value last;
  };
  std::string after;
  const bool terminal = globals.output == Output::human && ::isatty(STDOUT_FILENO) == 1;
  const std::size_t times = options.count != 0 ? options.count : terminal ? 0 : 1;
  for (std::size_t i = 0; times == 0 || i <= times; ++i) {
    if (i != 0) wait_for(*interval);
    const AdminAnswer answer =
        ask_admin(door, "GET", "/v1/verdicts" + (after.empty() ? after : "?after=" + after));
    if (answer.code != kOk) return complain_of(answer);
    after = cell(answer.body, "next");
    if (i == 0) continue;  // weir keeps verdicts from now on
    std::map<std::pair<std::string, std::string>, Line> keys;
    for (const json::value& row : items(answer.body, "verdicts")) {
      if (!is_wanted(row, options) || keys.size() >= kKeysMost) continue;
      std::string key = cell(row, "key");
      if (key.empty()) key = cell(row, "client");
      std::string by = cell(row, "policy");
      if (by.empty()) by = cell(row, "list");
      Line& line = keys[{key, by}];
      ++line.count;
      line.last = row;
    }
    std::vector<std::pair<std::pair<std::string, std::string>, Line>> sorted(keys.begin(),
                                                                             keys.end());
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto& a, const auto& b) { return a.second.count > b.second.count; });
    if (sorted.size() > kTopKeys) sorted.resize(kTopKeys);
    Rows rows{{"KEY", "BY", "TIMES", "LAST", "VALUE", "LIMIT"}};
    json::array out;
    for (const auto& [key, line] : sorted) {
      rows.push_back({key.first, key.second, std::to_string(line.count), cell(line.last, "effect"),
                      cell(line.last, "value"), cell(line.last, "limit")});
      out.push_back(json::object{
          {"key", key.first}, {"by", key.second}, {"times", line.count}, {"last", line.last}});
    }
    const std::string table = rows.size() == 1 ? "no verdicts in this time\n" : columns(rows);
    show(globals, json::object{{"keys", std::move(out)}},
         (terminal ? std::string(kClear) : std::string()) + table);
  }
  return kOk;
}

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
  if (!interval || !knows_verdicts(options)) return kUsage;
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
      if (!is_wanted(row, options)) continue;
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
