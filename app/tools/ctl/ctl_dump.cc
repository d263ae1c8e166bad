#include "app/tools/ctl/ctl_dump.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "config/text/secrets.h"
#include "core/clock.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/visible.h"

namespace weir::app {
namespace {

namespace json = boost::json;

// Texts from files may contain control characters: they do not reach the terminal.
std::string lines_made_plain(const std::string& text) {
  std::string out;
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find('\t'), rest.size());
    out += escape_hidden(rest.substr(0, end));
    if (end != rest.size()) out += '\t';
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return out;
}

// Conditions and the like may hold what clients send as their secret: `query.token == "..."`.
// `but`: members with whole texts, which weir has masked. A second time, the scan would not find
// the quotes that the mask covers, nor the sections of a part.
void cover_secrets(json::value& of, std::string_view but) {
  if (json::object* const object = of.if_object()) {
    for (auto& [name, value] : *object) {
      if (but.empty() || name != but) cover_secrets(value, but);
    }
  } else if (json::array* const array = of.if_array()) {
    for (json::value& value : *array) cover_secrets(value, but);
  } else if (json::string* const text = of.if_string()) {
    const std::string covered = config::text_without_secrets({text->data(), text->size()});
    text->assign(covered.data(), covered.size());
  }
}

/// Removes people's keys from the audit log: a dump is sent to others. The members `before` and
/// `after` of an entry with a key are removed too, because they are about that key.
void leave_out_keys(json::value& audit) {
  json::object* const all = audit.if_object();
  json::value* const entries = all == nullptr ? nullptr : all->if_contains("entries");
  json::array* const rows = entries == nullptr ? nullptr : entries->if_array();
  if (rows == nullptr) return;
  for (json::value& row : *rows) {
    json::object* const entry = row.if_object();
    if (entry == nullptr) continue;
    const bool about_keys = entry->contains("key") || cell(row, "action").starts_with("list.");
    entry->erase("key");
    for (const char* const name : {"before", "after", "problem"})
      if (about_keys) entry->erase(name);
  }
}

}  // namespace

std::string tables_changed(const json::value& answer) {
  std::string out;
  for (const json::value& table : items(answer, "tables")) {
    const json::array& set = items(table, "set_here");
    if (set.empty()) continue;
    const std::string name = cell(table, "name");
    out += "# table " + name + ": " + counted(set.size(), "limit is", "limits are") +
           " other than in the files (weir ctl table " + name + " history):\n";
    for (const json::value& each : set) {
      const std::string value = cell(each, "value");
      out += "#   " + cell(each, "key") + "  " + (value.empty() ? "taken out" : value) + "\n";
    }
  }
  return out;
}

int run_config(const AdminDoor& door, const Globals& globals) {
  const AdminAnswer answer = ask_admin(door, "GET", "/v1/config");
  if (answer.code != kOk) return complain_of(answer);
  const AdminAnswer tables = ask_admin(door, "GET", "/v1/tables");
  std::string text = "# configuration " + cell(answer.body, "hash") + ", secrets masked\n";
  if (tables.code == kOk) text += tables_changed(tables.body);
  for (const json::value& file : items(answer.body, "files"))
    text += "# --- " + cell(file, "name") + "\n" + lines_made_plain(text_in(file, "text"));
  show(globals, answer.body, text);
  return kOk;
}

int run_reloads(const AdminDoor& door, const Globals& globals) {
  const AdminAnswer answer = ask_admin(door, "GET", "/v1/reloads");
  if (answer.code != kOk) return complain_of(answer);
  std::string text;
  for (const json::value& load : items(answer.body, "reloads")) {
    text += cell(load, "at") + "  " + (is_true(load, "ok") ? "loaded " : "refused ") +
            cell(load, "hash") + " because of " + cell(load, "cause") + "\n";
    if (const std::string why = cell(load, "first_problem"); !why.empty())
      text += "    " + why + "\n";
    for (const json::value& diff : items(load, "diffs")) {
      text += "  " + cell(diff, "file") + "\n" + lines_made_plain(text_in(diff, "diff"));
    }
  }
  show(globals, answer.body, text);
  return kOk;
}

int run_support_dump(const AdminDoor& door, const std::string& file, const Globals&) {
  json::object dump;
  dump["made"] = iso_time(Clock::wall());
  dump["ctl_version"] = kVersion;
  for (const char* const name : {"status", "config", "policies", "overrides", "reloads", "lists",
                                 "views", "lineage", "tables", "replicas", "audit", "metrics"}) {
    AdminAnswer answer = ask_admin(door, "GET", std::string("/v1/") + name);
    if (std::string_view(name) == "audit") leave_out_keys(answer.body);
    if (answer.status == 0 || answer.code == kRefused) return complain_of(answer);
    if (std::string_view(name) == "metrics") {
      dump[name] = answer.text;
    } else if (answer.code == kOk) {
      const std::string_view answers(name);
      cover_secrets(answer.body, answers == "config" ? "text" : answers == "reloads" ? "diff" : "");
      dump[name] = std::move(answer.body);
    } else {
      dump[name] = json::object{{"problem", answer.problem}};  // an older weir
    }
  }
  const std::string text = plain_numbers(json::serialize(dump)) + "\n";
  if (file.empty() || file == "-") {
    print_data(text);
    return kOk;
  }
  if (const auto written = write_file(file, text, 0600); !written) {
    complain(file + ": " + written.error().message());
    return kUnreachable;
  }
  print(file + ": " + human_size(text.size()) +
        ", secrets masked; the keys of tables and of entries in the configuration are in it\n");
  return kOk;
}

}  // namespace weir::app
