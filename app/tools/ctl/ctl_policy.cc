#include "app/tools/ctl/ctl_policy.h"

#include <CLI/CLI.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/tools/ctl/ctl_text.h"
#include "app/tools/outline.h"
#include "config/text/foreign_words.h"
#include "config/text/units.h"

namespace weir::app {
namespace {

namespace json = boost::json;

/// Reads `over=20` words into `set`. Returns the problem, or an empty text.
std::string read_settings(const std::vector<std::string>& words, json::object& set) {
  if (words.size() < 2) return "say which threshold: weir ctl policy NAME set over=20 --for 10m";
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    if (equals == 0 || equals == std::string::npos)
      return "\"" + words[i] + "\" is not like over=20";
    const auto number = config::parse_number(words[i].substr(equals + 1));
    if (!number)
      return "\"" + words[i] + "\": " + number.message +
             (number.hint.empty() ? "" : ": " + number.hint);
    const Number value = *number.value;
    set[words[i].substr(0, equals)] =
        value.is_real() ? json::value(value.as_real()) : json::value(value.integer());
  }
  return {};
}

/// `off`, `on`, `dry-run`: which of the changes is meant.
std::string meant_change(const std::string& word) {
  const std::string_view hint = config::foreign_word("mode", word).hint;
  constexpr std::string_view kWrite = "write ";
  if (word == "on" || word == "enable" || word == "enabled")
    return ": write restore, which ends a change, or enforce";
  return hint.starts_with(kWrite) ? ": write " + std::string(hint.substr(kWrite.size())) : "";
}

int change_policy(const AdminDoor& door, const PolicyFlags& flags, const Globals& globals) {
  const std::string& verb = flags.change.front();
  const bool timed = !flags.duration.empty() || !flags.until.empty();
  std::string target = admin_target("/v1/policies/{}/override", flags.name);
  if (flags.here) target += "?replicas=here";
  json::object body;
  if (verb == "restore") {
    if (flags.change.size() > 1 || timed) return complain_usage("restore takes nothing else");
  } else if (verb == "set") {
    json::object set;
    if (const std::string wrong = read_settings(flags.change, set); !wrong.empty())
      return complain_usage(wrong);
    body["set"] = std::move(set);
  } else if (verb == "shadow" || verb == "enforce" || verb == "disabled") {
    if (flags.change.size() > 1) return complain_usage(verb + " takes no more words");
    body["mode"] = verb;
  } else {
    return complain_usage(
        "\"" + verb +
        "\" is not a change of a policy; there are shadow, enforce, disabled, set "
        "and restore" +
        meant_change(verb));
  }
  if (verb != "restore" && !timed)
    return complain_usage(
        "a change needs --for, a duration such as 10m, or --until, a time: it "
        "ends by itself; write a permanent change into the file");
  if (!flags.duration.empty()) body["for"] = flags.duration;
  if (!flags.until.empty()) body["until"] = flags.until;
  if (!flags.reason.empty()) body["reason"] = flags.reason;
  AdminDoor there = door;
  there.reason = flags.reason;  // a restore has no body
  AdminAnswer answer = verb == "restore" ? ask_admin(there, "DELETE", target)
                                         : ask_admin(door, "PUT", target, json::serialize(body));
  if (answer.code != kOk) {
    answer.problem = said_by_flags(answer.problem, {"for", "until", "reason"});
    return complain_of_name(door, answer, flags.name, "/v1/policies", "policies");
  }
  std::string text = overrides_text(answer.body);
  if (text.empty()) text = cell(answer.body, "policy") + " is restored\n";
  show(globals, answer.body, text + cell(answer.body, "note") + "\n");
  return kOk;
}

}  // namespace

std::string overrides_text(const json::value& answer) {
  std::string out;
  for (const json::value& each : items(answer, "overrides")) {
    out += cell(each, "policy") + ": " + cell(each, "text") + " until " + cell(each, "until") +
           " (" + left_of(each) + " left" +
           (cell(each, "scope") == "here" ? ", this replica alone)" : ")");
    if (const std::string reason = cell(each, "reason"); !reason.empty()) out += ": " + reason;
    out += "\n";
  }
  return out;
}

void declare_policy_flags(CLI::App& policy, PolicyFlags& flags) {
  policy.add_option("name", flags.name, "The policy")->type_name("NAME");
  policy
      .add_option("change", flags.change,
                  "shadow, enforce or disabled; set over=20 (deny.over=20, or 2.over=20 for "
                  "the second rung, where several rungs have an over); restore ends it")
      ->type_name("CHANGE");
  CLI::Option* duration =
      policy.add_option("--for", flags.duration, "The change ends after this time")
          ->type_name("DURATION");
  policy.add_option("--until", flags.until, "The change ends then (RFC 3339)")
      ->type_name("TIME")
      ->excludes(duration);
  policy.add_option("--reason", flags.reason, "Why, for people and for the log")->type_name("TEXT");
  policy.add_flag("--here", flags.here,
                  "On this replica alone; else a change holds on all that share a Redis");
}

int run_policy(const AdminDoor& door, const PolicyFlags& flags, const Globals& globals) {
  if (!flags.change.empty()) return change_policy(door, flags, globals);
  if (!flags.duration.empty() || !flags.until.empty() || !flags.reason.empty() || flags.here)
    return complain_usage(
        "--for, --until, --reason and --here go with a change: weir ctl policy NAME shadow");
  const bool all = flags.name.empty();
  const AdminAnswer answer =
      ask_admin(door, "GET", all ? "/v1/policies" : admin_target("/v1/policies/{}", flags.name));
  if (answer.code != kOk)
    return complain_of_name(door, answer, flags.name, "/v1/policies", "policies");
  if (!all) {
    show(globals, answer.body, outline(answer.body));
    return kOk;
  }
  std::string changed;
  for (const json::value& policy : items(answer.body, "policies"))
    changed += overrides_text(policy);
  show(globals, answer.body,
       policies_table(answer.body) + (changed.empty() ? "" : "\nset for a while:\n" + changed));
  return kOk;
}

}  // namespace weir::app
