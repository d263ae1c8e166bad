#include "app/tools/ctl/ctl_view.h"

#include <boost/json/array.hpp>
#include <string_view>
#include <vector>

#include "app/support/columns.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;

std::string time_of(const json::value& window, std::string_view name) {
  const json::value* found = member(window, name);
  return found != nullptr && found->is_int64() ? iso_time(from_ms(found->get_int64()))
                                               : std::string();
}

void append_window(std::string& out, const json::value& window, bool running) {
  out += time_of(window, "start") + " to " + time_of(window, "end") + "  total " +
         cell(window, "total") + (running ? "  (running)\n" : "\n");
  std::vector<std::vector<std::string>> rows;
  const json::value* found = member(window, "rows");
  if (found == nullptr || !found->is_array()) return;
  for (const json::value& row : found->get_array()) {
    if (!row.is_array()) continue;
    std::vector<std::string>& line = rows.emplace_back();
    for (const json::value& part : row.get_array()) line.push_back(plain(part));
  }
  out += columns(rows, "  ", false);
}

/// Appends whose events a shared view counts.
void append_scope(std::string& out, const json::value& answer) {
  const json::value* sharing = member(answer, "sharing");
  if (sharing == nullptr || !sharing->is_object()) return;
  const json::value* up = member(*sharing, "up");
  const json::value* age = member(*sharing, "age_ms");
  out += "of " + cell(*sharing, "replicas") + " replicas";
  if (age != nullptr && age->is_int64()) {
    const std::int64_t tenths = age->get_int64() / 100;
    out += ", " + std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " s old";
  }
  if (const std::string silent = cell(*sharing, "silent"); silent != "0") {
    out += "; " + silent + " silent: what they counted last is missing";
  }
  if (up != nullptr && up->is_bool() && !up->get_bool()) {
    out += "; incomplete: " + cell(*sharing, "why");
  }
  out += "\n";
}

}  // namespace

std::string views_table(const json::value& answer) {
  std::vector<std::vector<std::string>> rows{
      {"NAME", "METRIC", "BY", "WINDOW", "SHARE", "KEYS", "EVENTS", "DROPPED"}};
  const json::value* views = member(answer, "views");
  if (views == nullptr || !views->is_array() || views->get_array().empty()) {
    return "no views are configured\n";
  }
  for (const json::value& view : views->get_array()) {
    rows.push_back({cell(view, "name"), cell(view, "metric"), cell(view, "by"),
                    cell(view, "window"), cell(view, "share"), cell(view, "keys"),
                    cell(view, "events"), cell(view, "dropped")});
  }
  return columns(rows);
}

std::string view_windows(const json::value& answer) {
  std::string scope, out;
  append_scope(scope, answer);
  const json::value* windows = member(answer, "windows");
  if (windows != nullptr && windows->is_array()) {
    for (const json::value& window : windows->get_array()) append_window(out, window, false);
  }
  const json::value* running = member(answer, "running");
  if (running != nullptr && running->is_object()) append_window(out, *running, true);
  return scope + (out.empty() ? "nothing has happened yet\n" : out);
}

}  // namespace weir::app
