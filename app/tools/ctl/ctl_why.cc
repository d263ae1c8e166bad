#include "app/tools/ctl/ctl_why.h"

#include <boost/json/array.hpp>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/verdict_line.h"
#include "app/tools/ctl/ctl_text.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;

// Each command has a line of its own, so that it can be copied.
void append_commands(std::string& out, const json::value& row, const char* before) {
  for (const json::value& command : items(row, "commands"))
    out += std::string("      ") + before + plain(command) + "\n";
}

// `asked`: the key that was asked for. An entry may be of a network, or of a key of more parts.
void append_entry(std::string& out, const json::value& entry, const std::string& asked) {
  out += "  " + cell(entry, "list") + "  ";
  if (const std::string key = key_cell(entry, "key"); key != asked)
    out += (key.empty() ? std::string(kEverybody) : key) + "  ";
  out += cell(entry, "kind") + ", " + cell(entry, "effect");
  if (is_true(entry, "shadow")) out += ", shadow";
  if (is_true(entry, "asleep")) out += ", asleep";
  const std::string until = cell(entry, "until");
  out += until.empty() ? ", without end" : ", until " + until + " (" + left_of(entry) + " left)";
  out += ", by " + cell(entry, "by");
  if (const std::int64_t times = count_of(entry, "times"); times > 1)
    out += ", listed " + std::to_string(times) + " times";
  out += "\n";
  std::string why = cell(entry, "why");
  if (const std::string policy = cell(entry, "policy"); !policy.empty()) {
    why = policy;
    if (member(entry, "limit") != nullptr)
      why += ": " + cell(entry, "value") + " of " + cell(entry, "limit");
    if (const std::string since = cell(entry, "since"); !since.empty()) why += ", since " + since;
  }
  const bool is_source = cell(entry, "by") == "source";  // `from feed.txt`
  if (!why.empty()) out += (is_source ? "      " : "      because of ") + why + "\n";
  if (const std::string how = cell(entry, "how"); !how.empty()) out += "      " + how + "\n";
  append_commands(out, entry, "lift: ");
}

void append_counter(std::string& out, const json::value& counter) {
  out += "  " + cell(counter, "policy") + " (" + cell(counter, "mode") + ")  " +
         cell(counter, "what") + ": " + cell(counter, "value");
  if (count_of(counter, "in_flight") != 0)
    out += ", of them " + cell(counter, "in_flight") + " in flight";
  if (cell(counter, "from") == "store") out += ", over all replicas";
  out += "\n";
  for (const json::value& rung : items(counter, "rungs")) {
    out += "      " + cell(rung, "rung") + (is_true(rung, "holds") ? "  <- reached" : "") + "\n";
    if (const std::string outlook = cell(rung, "outlook"); !outlook.empty())
      out += "        " + outlook + "\n";
  }
  append_commands(out, counter, "empty: ");
}

}  // namespace

std::string why_text(const json::value& answer) {
  std::string out = cell(answer, "summary") + "\n";
  if (const json::array& entries = items(answer, "entries"); !entries.empty()) {
    out += "\nLISTS\n";
    for (const json::value& entry : entries) append_entry(out, entry, key_cell(answer, "key"));
  }
  if (const json::array& counters = items(answer, "counters"); !counters.empty()) {
    out += "\nCOUNTERS\n";
    for (const json::value& counter : counters) append_counter(out, counter);
  }
  if (const json::array& policies = items(answer, "policies"); !policies.empty()) {
    out += "\nPOLICIES\n";
    for (const json::value& policy : policies) {
      out += "  " + cell(policy, "policy") + " (" + cell(policy, "mode") + ")";
      if (const std::string waits = cell(policy, "waits_for"); !waits.empty()) out += "  " + waits;
      std::string rungs;
      for (const json::value& rung : items(policy, "rungs"))
        rungs += (rungs.empty() ? "  " : "; ") + plain(rung);
      out += rungs + "\n";
      append_commands(out, policy, "silence: ");
    }
  }
  if (const std::string here = cell(answer, "counted_here_only"); !here.empty())
    out += "\nThe counts are only those of this replica: " + here + "\n";
  const json::array& unsearched = items(answer, "unsearched");
  if (!unsearched.empty()) out += "\nNOT SEARCHED\n";
  for (const json::value& each : unsearched) {
    out += "  " + cell(each, "list") + ": " +
           counted(static_cast<std::uint64_t>(count_of(each, "entries")), "entry", "entries") +
           " of " + cell(each, "source") + ", which are found by the whole key alone (" +
           cell(each, "of") + ")\n";
  }
  const json::value* const complete = member(answer, "complete");
  if (unsearched.empty() && complete != nullptr && complete->is_bool() && !complete->get_bool())
    out += "\nThere are too many entries of several parts to search all of them.\n";
  return out;
}

std::string changes_table(const json::value& answer) {
  Rows rows{{"UNDO", "AT", "WHAT", "ENTRIES", "UNTIL"}};
  for (const json::value& change : items(answer, "changes")) {
    rows.push_back({cell(change, "undo"), cell(change, "at"), cell(change, "what"),
                    cell(change, "entries"), cell(change, "until")});
  }
  return rows.size() == 1 ? "there is nothing to undo\n" : columns(rows);
}

std::string undone_text(const json::value& answer) {
  std::string out;
  const auto add = [&](const char* name, const char* one, const char* many) {
    const std::int64_t n = count_of(answer, name);
    if (n == 0) return;
    out += (out.empty() ? "" : ", ") + std::to_string(n) + " " + (n == 1 ? one : many);
  };
  add("restored", "entry is back", "entries are back");
  add("removed", "entry is off again", "entries are off again");
  add("left", "entry has ended or changed since and stays as it is",
      "entries have ended or changed since and stay as they are");
  const std::string what = cell(answer, "what");
  return "undone" + (what.empty() ? what : " (" + what + ")") + ": " +
         (out.empty() ? std::string("nothing was left to undo") : out) + "\n" + note_line(answer);
}

std::string hash_text(const json::value& answer) {
  Rows rows{{"HASH", "OF", "TEXT"}};
  for (const json::value& row : items(answer, "hashes"))
    rows.push_back({cell(row, "hash"), cell(row, "of"), cell(row, "text")});
  return columns(rows);
}

int run_why(const AdminDoor& door, const std::vector<std::string>& key, const Globals& globals) {
  const AdminAnswer answer = ask_admin(door, "GET", admin_target("/v1/why", {}, key));
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, why_text(answer.body));
  return kOk;
}

int run_hash(const AdminDoor& door, const std::vector<std::string>& key, const Globals& globals) {
  const AdminAnswer answer = ask_admin(door, "GET", admin_target("/v1/hash", {}, key));
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, hash_text(answer.body));
  return kOk;
}

int run_undo(const AdminDoor& door, const std::string& token, const Globals& globals) {
  if (token.empty()) {
    const AdminAnswer answer = ask_admin(door, "GET", "/v1/changes");
    if (answer.code != kOk) return complain_of(answer);
    show(globals, answer.body, changes_table(answer.body));
    return kOk;
  }
  const AdminAnswer answer = ask_admin(door, "POST", admin_target("/v1/changes/{}/undo", token));
  if (answer.code != kOk) return complain_of(answer);
  show(globals, answer.body, undone_text(answer.body));
  return kOk;
}

}  // namespace weir::app
