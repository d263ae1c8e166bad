#include "app/tools/ctl/ctl_table.h"

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/tools/ctl/ctl_text.h"
#include "config/text/units.h"
#include "core/text.h"
#include "core/words.h"

namespace weir::app {
namespace {

namespace json = boost::json;

constexpr const char* kVerbs = "there are get, set, unset, history, approve, reject and undo";

void add_levels(const json::object& level, const std::string& way, std::string& out) {
  for (const auto& [name, value] : level) {
    const std::string path = way + (way.empty() ? "" : ",") + std::string(name);
    if (value.is_object()) {
      add_levels(value.get_object(), path, out);
    } else {
      append_plain(out, path);  // values of fields, from clients or people
      out += "  " + plain(value) + "\n";
    }
  }
}

/// Reads `android=3000` words into `set`. Returns the problem, or an empty text.
std::string read_cells_of(const std::vector<std::string>& words, json::object& set) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].rfind('=');
    if (equals == std::string::npos || equals == 0)
      return "\"" + words[i] + "\" is not like baidu,android=3000";
    const std::string key = words[i].substr(0, equals);
    if (set.contains(key)) return "there are two limits for \"" + key + "\"";
    const std::string text = words[i].substr(equals + 1);
    if (text == kUnlimited) {
      set[key] = text;
      continue;
    }
    const auto number = config::parse_number(text);
    if (!number)
      return "\"" + words[i] + "\": " + number.message +
             (number.hint.empty() ? "" : ": " + number.hint);
    set[key] = number.value->is_real() ? json::value(number.value->as_real())
                                       : json::value(number.value->integer());
  }
  return {};
}

int change_table(const AdminDoor& door, const TableFlags& flags, const Globals& globals) {
  const std::string& verb = flags.change.front();
  const bool sets = verb == "set" || verb == "unset";
  json::object body;
  if (!flags.reason.empty()) body["reason"] = flags.reason;
  if (!flags.by.empty()) body["by"] = flags.by;
  if (sets) {
    json::object set;
    if (flags.change.size() < 2)
      return complain_usage("say which limit: weir ctl table NAME " + verb + " baidu,android" +
                            (verb == "set" ? "=3000" : ""));
    if (verb == "unset") {
      for (std::size_t i = 1; i < flags.change.size(); ++i) set[flags.change[i]] = nullptr;
    } else if (const std::string wrong = read_cells_of(flags.change, set); !wrong.empty()) {
      return complain_usage(wrong);
    }
    body["set"] = std::move(set);
  } else if (flags.change.size() > 2) {
    return complain_usage(verb + " takes the id of one change");
  } else if (flags.change.size() == 2) {
    body["change"] = flags.change[1];
  }
  if (verb == "reject") body["reject"] = true;
  const std::string base = admin_target("/v1/tables/{}", flags.name);
  AdminAnswer answer = sets
                           ? ask_admin(door, "PUT", base, json::serialize(body))
                           : ask_admin(door, "POST", base + (verb == "undo" ? "/undo" : "/approve"),
                                       json::serialize(body));
  if (answer.code != kOk) {
    answer.problem = said_by_flags(answer.problem, {"by", "reason"});
    return complain_of_name(door, answer, flags.name, "/v1/tables", "tables");
  }
  show(globals, answer.body,
       "change " + cell(answer.body, "change") + ": " + cell(answer.body, "note") + "\n" +
           table_values_text(answer.body));
  return kOk;
}

}  // namespace

std::string table_values_text(const json::value& answer) {
  std::string out;
  if (const json::value* const values = answer.as_object().if_contains("values");
      values != nullptr && values->is_object())
    add_levels(values->get_object(), {}, out);
  return out;
}

std::string table_history_text(const json::value& answer) {
  std::string out;
  for (const json::value& each : items(answer, "history")) {
    std::string changes;
    for (const json::value& change : items(each, "changes")) {
      changes += (changes.empty() ? "" : ", ") + cell(change, "key") + ": " +
                 (change.at("before").is_null() ? "none" : cell(change, "before")) + " -> " +
                 (change.at("after").is_null() ? "none" : cell(change, "after"));
    }
    out += cell(each, "id") + "  " + cell(each, "at") + "  " + cell(each, "state") + "  by " +
           cell(each, "by");
    if (const std::string decided = cell(each, "decided_by");
        decided != cell(each, "by") && !each.at("decided_by").is_null())
      out += ", " + decided;
    if (const std::string overtaken = cell(each, "overtaken"); !overtaken.empty())
      out += " (too late: " + overtaken + ")";
    out += "  " + changes;
    if (const std::string reason = cell(each, "reason"); !reason.empty())
      out += "  (" + reason + ")";
    out += "\n";
  }
  return out.empty() ? "nothing was changed yet\n" : out;
}

void declare_table_flags(CLI::App& table, TableFlags& flags) {
  table.add_option("name", flags.name, "The table")->type_name("NAME");
  table
      .add_option(
          "change", flags.change,
          "get; set baidu,android=3000; unset baidu,android; history; undo [CHANGE]; approve "
          "or reject [CHANGE] of what waits for a second one")
      ->type_name("CHANGE");
  table.add_option("--reason", flags.reason, "Why, for people and for the history")
      ->type_name("TEXT");
  table.add_option("--by", flags.by, "Who asks, or who approves; with admin.approval it is needed")
      ->type_name("WHO");
}

int run_table(const AdminDoor& door, const TableFlags& flags, const Globals& globals) {
  const std::string verb = flags.change.empty() ? "get" : flags.change.front();
  const bool reads = verb == "get" || verb == "history";
  if (!reads && verb != "set" && verb != "unset" && verb != "approve" && verb != "reject" &&
      verb != "undo")
    return complain_usage("\"" + verb + "\" is nothing to do with a table; " + kVerbs);
  if (!reads) return change_table(door, flags, globals);
  if (flags.change.size() > 1 || !flags.reason.empty() || !flags.by.empty())
    return complain_usage(verb + " takes nothing else");
  if (flags.name.empty()) {
    const AdminAnswer answer = ask_admin(door, "GET", "/v1/tables");
    if (answer.code != kOk) return complain_of_name(door, answer, {}, "/v1/tables", "tables");
    std::string text;
    for (const json::value& table : items(answer.body, "tables")) {
      const std::size_t waiting = items(table, "pending").size();
      text += cell(table, "name") + "  " +
              counted(static_cast<std::uint64_t>(count_of(table, "limits")), "limit", "limits");
      if (waiting != 0)
        text += ", " + counted(waiting, "change waits", "changes wait") + " for approval";
      text += "\n";
    }
    show(globals, answer.body, text.empty() ? "there are no tables\n" : text);
    return kOk;
  }
  const AdminAnswer answer = ask_admin(door, "GET", admin_target("/v1/tables/{}", flags.name));
  if (answer.code != kOk) return complain_of_name(door, answer, flags.name, "/v1/tables", "tables");
  show(globals, answer.body,
       verb == "history" ? table_history_text(answer.body) : table_values_text(answer.body));
  return kOk;
}

}  // namespace weir::app
