#include "app/tools/ctl/ctl_list.h"

#include <CLI/CLI.hpp>
#include <boost/json/serialize.hpp>
#include <optional>

#include "app/support/columns.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/tools/ctl/ctl_list_file.h"
#include "app/tools/ctl/ctl_text.h"
#include "app/tools/ctl/ctl_time.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;

// The size that fits into a body of the admin API with room for escapes.
constexpr std::size_t kPieceBytes = 40'000;
constexpr std::size_t kPieceRows = 400;
constexpr std::size_t kFileBytes = std::size_t{64} << 20;
constexpr int kPageRows = 1000;

int complain_of_list(const AdminDoor& door, const AdminAnswer& answer, const std::string& name) {
  return complain_of_name(door, answer, name, "/v1/lists", "lists");
}

int add_key(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  json::object body;
  body["key"] = json::array(flags.key.begin(), flags.key.end());
  if (!flags.duration.empty()) body["for"] = flags.duration;
  if (!flags.until.empty()) body["until"] = flags.until;
  if (!flags.why.empty()) body["why"] = flags.why;
  if (!flags.effect.empty()) body["effect"] = flags.effect;
  AdminAnswer answer = ask_admin(door, "POST", admin_target("/v1/lists/{}/entries", flags.name),
                                 json::serialize(body));
  if (answer.code != kOk) {
    answer.problem = said_by_flags(answer.problem, {"for", "until", "why", "effect"});
    return complain_of_list(door, answer, flags.name);
  }
  show(globals, answer.body, entry_change(answer.body));
  return kOk;
}

/// Whether the list has one entry for everyone, like the list of a policy without a key. nullopt:
/// the error has been reported.
std::optional<bool> is_keyless(const AdminDoor& door, const ListFlags& flags, int& code) {
  const AdminAnswer list =
      ask_admin(door, "GET", admin_target("/v1/lists/{}", flags.name) + "?limit=1");
  code = list.code != kOk ? complain_of_list(door, list, flags.name) : kOk;
  if (code != kOk) return std::nullopt;
  const json::array& lists = items(list.body, "lists");
  return lists.empty() || items(lists.front(), "of").empty();
}

int remove_key(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  if (flags.key.empty()) {
    int code = kOk;
    const auto keyless = is_keyless(door, flags, code);
    if (!keyless) return code;
    if (!*keyless) {
      return complain_usage(
          "--remove needs a list and a key: weir ctl list NAME KEY --remove, or "
          "--all for all keys");
    }
  }
  std::string target = admin_target("/v1/lists/{}/entries", flags.name, flags.key);
  if (flags.forgive) target += flags.key.empty() ? "?forgive=true" : "&forgive=true";
  const AdminAnswer answer = ask_admin(door, "DELETE", target);
  if (answer.code != kOk) return complain_of_list(door, answer, flags.name);
  show(globals, answer.body, entry_change(answer.body));
  return kOk;
}

int remove_all(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  std::string target = admin_target("/v1/lists/{}", flags.name);
  target += flags.dry_run ? "?dry_run=true" : "?dry_run=false";
  if (!flags.since.empty()) {
    const auto since = parse_past(flags.since, Clock::wall());
    if (!since) return complain_usage("--since: " + since.message);
    target += "&since=" + iso_time(*since.value);
  }
  const AdminAnswer answer = ask_admin(door, "DELETE", target);
  if (answer.code != kOk) return complain_of_list(door, answer, flags.name);
  show(globals, answer.body, list_cleared(answer.body));
  return kOk;
}

int export_list(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  ListFileWriter writer(globals.output == Output::json || globals.output == Output::ndjson);
  std::string after;
  do {
    std::string target =
        admin_target("/v1/lists/{}", flags.name) + "?limit=" + std::to_string(kPageRows);
    if (!after.empty()) target += "&after=" + after;
    const AdminAnswer answer = ask_admin(door, "GET", target);
    if (answer.code != kOk) return complain_of_list(door, answer, flags.name);
    print_data(writer.page(answer.body));
    after = cell(answer.body, "next");
  } while (!after.empty());
  print(writer.end());
  if (writer.cut() != 0)
    complain(std::to_string(writer.cut()) + (writer.cut() == 1 ? " entry is" : " entries are") +
             " left out: only the beginning of so long a key is kept");
  return kOk;
}

/// Sends the entries in pieces that fit; adds the answers up in `total`.
int send_pieces(const AdminDoor& door, const ListFlags& flags, const json::array& entries,
                json::object& total) {
  std::size_t sent = 0;
  std::string undo, note;
  do {
    json::array piece;
    for (std::size_t bytes = 0;
         sent < entries.size() && piece.size() < kPieceRows && bytes < kPieceBytes; ++sent) {
      bytes += json::serialize(entries[sent]).size();
      piece.push_back(entries[sent]);
    }
    json::object body;
    const std::size_t first = sent - piece.size();
    body["entries"] = std::move(piece);
    body["dry_run"] = flags.dry_run;
    if (!undo.empty()) body["undo"] = undo;
    AdminAnswer answer = ask_admin(door, "POST", admin_target("/v1/lists/{}/import", flags.name),
                                   json::serialize(body));
    if (answer.code != kOk) {
      answer.problem = entry_of_file(answer.problem, first);
      if (first != 0)
        complain((first == 1
                      ? std::string("the first entry of the file is in")
                      : "the first " + std::to_string(first) + " entries of the file are in") +
                 (undo.empty() ? "" : "; weir ctl undo " + undo));
      return complain_of_list(door, answer, flags.name);
    }
    for (const char* name : {"read", "ended", "created", "extended", "kept", "refused"}) {
      const json::value* const so_far = total.if_contains(name);
      total[name] = (so_far != nullptr ? so_far->get_int64() : 0) + count_of(answer.body, name);
    }
    if (const std::string said = cell(answer.body, "note"); !said.empty()) note = said;
    if (const std::string token = cell(answer.body, "undo"); !token.empty()) undo = token;
  } while (sent < entries.size());
  total["name"] = flags.name;
  total["dry_run"] = flags.dry_run;
  total["note"] = note;
  total["undo"] = undo.empty() ? json::value() : json::value(undo);
  return kOk;
}

int import_list(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  const auto text =
      read_file(flags.import_file == "-" ? "/dev/stdin" : flags.import_file, kFileBytes);
  if (!text) {
    complain(flags.import_file + ": " + text.error().message());
    return kUnreachable;
  }
  const AdminAnswer list =
      ask_admin(door, "GET", admin_target("/v1/lists/{}", flags.name) + "?limit=1");
  if (list.code != kOk) return complain_of_list(door, list, flags.name);
  std::vector<std::string> parts;
  for (const json::value& summary : items(list.body, "lists")) {
    parts.clear();
    for (const json::value& part : items(summary, "of")) parts.push_back(plain(part));
  }
  json::array entries;
  const std::string wrong = read_list_file(*text, parts, entries);
  if (!wrong.empty()) {
    complain(flags.import_file + ": " + wrong);
    return kNo;
  }
  json::object total;
  const int code = send_pieces(door, flags, entries, total);
  if (code != kOk) return code;
  show(globals, total, list_imported(total));
  return count_of(total, "refused") != 0 ? kNo : kOk;
}

int look(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  std::string target = "/v1/lists";
  if (!flags.key.empty()) {
    target = admin_target("/v1/lists/{}/entries", flags.name, flags.key);
  } else if (!flags.name.empty()) {
    target = admin_target("/v1/lists/{}", flags.name) + "?limit=" + std::to_string(flags.limit);
  }
  const AdminAnswer answer = ask_admin(door, "GET", target);
  if (answer.code != kOk) return complain_of_list(door, answer, flags.name);
  show(globals, answer.body,
       flags.name.empty() ? lists_table(answer.body) : entries_table(answer.body));
  return !flags.key.empty() && !is_true(answer.body, "listed") ? kNo : kOk;
}

/// The error in the combination of flags; empty: none.
std::string wrong_with(const ListFlags& flags) {
  const bool takes_off = flags.remove || flags.forgive;
  const bool change = flags.add || takes_off || flags.exports || !flags.import_file.empty();
  if (flags.name.empty() && change) {
    if (!flags.add && !takes_off) return "--export and --import need a list: weir ctl list NAME";
    return std::string(flags.add ? "--add" : "--remove") +
           " needs a list and a key: weir ctl list NAME KEY";
  }
  if (flags.all && !takes_off) return "--all goes with --remove";
  if (flags.all && flags.forgive) return "--forgive takes one key; --all takes off entries alone";
  if (flags.all && !flags.key.empty()) return "give a key or --all, not both";
  if (!flags.since.empty() && !flags.all) return "--since goes with --remove --all";
  if (flags.dry_run && !flags.all && flags.import_file.empty())
    return "--dry-run goes with --remove --all and with --import";
  if (flags.add == (flags.duration.empty() && flags.until.empty())) {
    return flags.add ? "--add needs --for, a duration such as 15m, or --until, a time"
                     : "--for and --until go with --add";
  }
  return {};
}

}  // namespace

void declare_list_flags(CLI::App& list, ListFlags& flags) {
  list.add_option("name", flags.name, "The list, or a policy for the lists of its own")
      ->type_name("NAME");
  list.add_option("key", flags.key, "The key, a word for each part")
      ->type_name("KEY")
      ->transform(key_word);
  CLI::Option* add = list.add_flag("--add", flags.add, "Put the key on the list, or extend it");
  CLI::Option* remove =
      list.add_flag("--remove", flags.remove, "Take the key off the list")->excludes(add);
  list.add_flag("--forgive", flags.forgive,
                "Take the key off the list and empty its count, so that the next event does not "
                "list it again at once")
      ->excludes(add);
  list.add_flag("--all", flags.all, "With --remove: all keys of the list");
  list.add_option(
          "--since", flags.since,
          "With --remove --all: only keys that were listed since then (14:00, 2h, RFC 3339)")
      ->type_name("TIME");
  list.add_flag("--dry-run", flags.dry_run, "Change nothing; say what would be changed");
  CLI::Option* exports =
      list.add_flag("--export", flags.exports, "Print all entries as CSV, or with -o json as JSON")
          ->excludes(add)
          ->excludes(remove);
  list.add_option("--import", flags.import_file, "List what a CSV or JSON file says; - is stdin")
      ->type_name("FILE")
      ->excludes(add)
      ->excludes(remove)
      ->excludes(exports);
  CLI::Option* duration =
      list.add_option("--for", flags.duration, "For so long")->type_name("DURATION");
  list.add_option("--until", flags.until, "Until then (RFC 3339)")
      ->type_name("TIME")
      ->excludes(duration);
  list.add_option("--why", flags.why, "The reason, for people")->type_name("TEXT")->needs(add);
  list.add_option("--effect", flags.effect, "Which one, if a policy has several lists")
      ->type_name("EFFECT")
      ->needs(add);
  list.add_option("--limit", flags.limit, "So many entries at most")
      ->type_name("N")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
}

int run_list(const AdminDoor& door, const ListFlags& flags, const Globals& globals) {
  if (const std::string wrong = wrong_with(flags); !wrong.empty()) return complain_usage(wrong);
  if (flags.add) return add_key(door, flags, globals);
  if (flags.all) return remove_all(door, flags, globals);
  if (flags.remove || flags.forgive) return remove_key(door, flags, globals);
  if (flags.exports) return export_list(door, flags, globals);
  if (!flags.import_file.empty()) return import_list(door, flags, globals);
  return look(door, flags, globals);
}

}  // namespace weir::app
