#include "app/ctl_view.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <string_view>
#include <vector>

#include "core/number.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;

std::string plain(const json::value& value) {
  std::string out;
  if (value.is_string()) {
    append_plain(out, std::string_view(value.get_string().data(), value.get_string().size()));
  } else if (value.is_int64() || value.is_uint64()) {
    out = value.is_int64() ? std::to_string(value.get_int64()) : std::to_string(value.get_uint64());
  } else if (value.is_double()) {
    out = Number::real(value.get_double()).to_string();
  } else if (value.is_array()) {
    for (const json::value& item : value.get_array()) {
      if (!out.empty()) out += ", ";
      out += plain(item);
    }
  } else if (!value.is_null()) {
    append_plain(out, json::serialize(value));
  }
  return out;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

/// Columns side by side, each as wide as its widest cell; the last of a row is not filled up.
std::string columns(const std::vector<std::vector<std::string>>& rows, std::string_view indent) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    out += indent;
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out.append(widths[i] + 2 - width_of(row[i]), ' ');
    }
    out += '\n';
  }
  return out;
}

const json::value* member(const json::value& of, std::string_view name) {
  return of.is_object() ? of.get_object().if_contains(name) : nullptr;
}

std::string cell(const json::value& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr ? plain(*found) : std::string();
}

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
  out += columns(rows, "  ");
}

}  // namespace

std::string views_table(const json::value& answer) {
  std::vector<std::vector<std::string>> rows{
      {"NAME", "METRIC", "BY", "WINDOW", "KEYS", "EVENTS", "DROPPED"}};
  const json::value* views = member(answer, "views");
  if (views == nullptr || !views->is_array() || views->get_array().empty()) {
    return "no views are configured\n";
  }
  for (const json::value& view : views->get_array()) {
    rows.push_back({cell(view, "name"), cell(view, "metric"), cell(view, "by"),
                    cell(view, "window"), cell(view, "keys"), cell(view, "events"),
                    cell(view, "dropped")});
  }
  return columns(rows, "");
}

std::string view_windows(const json::value& answer) {
  std::string out;
  const json::value* windows = member(answer, "windows");
  if (windows != nullptr && windows->is_array()) {
    for (const json::value& window : windows->get_array()) append_window(out, window, false);
  }
  const json::value* running = member(answer, "running");
  if (running != nullptr && running->is_object()) append_window(out, *running, true);
  return out.empty() ? "nothing has happened yet\n" : out;
}

}  // namespace weir::app
