#include "app/tools/ctl/ctl_text.h"

#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <cstdio>
#include <map>

#include "app/support/columns.h"
#include "app/support/verdict_line.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/json_numbers.h"
#include "core/text.h"
#include "core/words.h"

namespace weir::app {

namespace json = boost::json;

namespace {

const json::value& part(const json::value& of, std::string_view name) {
  static const json::value kNull;
  const json::value* found = member(of, name);
  return found != nullptr ? *found : kNull;
}

std::string nonzero(std::int64_t n) {
  return n == 0 ? std::string() : human_count(static_cast<std::uint64_t>(n));
}

/// The sum over all actions, those that only score or notify included.
std::int64_t sum_of(const json::value& by_action) {
  std::int64_t sum = 0;
  for (const ActionRow& action : kActions) sum += count_of(by_action, action.name);
  return sum;
}

std::string numbered(std::int64_t n, const char* one, const char* many) {
  return human_count(static_cast<std::uint64_t>(n)) + " " + (n == 1 ? one : many);
}

}  // namespace

std::string left_of(const json::value& entry) {
  const json::value* left = member(entry, "left_seconds");
  if (left == nullptr || left->is_null()) return "for good";
  const double seconds =
      left->is_double() ? left->get_double() : static_cast<double>(count_of(entry, "left_seconds"));
  return human_duration(milliseconds{static_cast<std::int64_t>(seconds) * 1000});
}

std::string policies_table(const json::value& answer) {
  Rows rows{{"NAME", "MODE", "WATCH", "KEY", "METRIC", "WINDOW", "VERDICTS", "SHADOWS", "LISTED"}};
  for (const json::value& policy : items(answer, "policies")) {
    const json::value& totals = part(policy, "totals");
    const bool pattern = !cell(policy, "pattern").empty();
    std::string metric;
    for (const json::value& named : items(policy, "metrics"))
      metric.append(metric.empty() ? "" : ", ").append(cell(named, "name"));
    if (metric.empty() && !pattern) metric = cell(policy, "metric");
    rows.push_back({cell(policy, "name"), cell(policy, "mode"),
                    pattern ? cell(policy, "pattern") : cell(policy, "watch"), cell(policy, "key"),
                    metric, cell(policy, "window"),
                    std::to_string(sum_of(part(totals, "verdicts"))),
                    nonzero(sum_of(part(totals, "shadows"))), nonzero(count_of(totals, "listed"))});
  }
  for (const json::value& name : items(answer, "disabled"))
    rows.push_back({plain(name), "disabled"});
  return rows.size() == 1 ? "no policies are configured\n" : columns(rows);
}

std::string lists_table(const json::value& answer) {
  Rows rows{{"NAME", "KIND", "EFFECT", "OF", "ENTRIES", "STATIC", "MAX", "REFUSED"}};
  for (const json::value& list : items(answer, "lists")) {
    const std::string kind = cell(list, "kind");
    rows.push_back({cell(list, "name"), kind, kind == "gray" ? cell(list, "effect") : "",
                    cell(list, "of"), cell(list, "entries"),
                    nonzero(count_of(list, "static_entries") + count_of(list, "source_entries")),
                    cell(list, "max"), nonzero(count_of(list, "refused"))});
  }
  return rows.size() == 1 ? "there are no lists\n" : columns(rows);
}

namespace {

// Lines about list sources, whose entries a listing leaves out because there may be millions.
std::string source_lines(const json::value& answer) {
  std::string out;
  for (const json::value& list : items(answer, "lists")) {
    const std::int64_t entries = count_of(list, "source_entries");
    if (entries == 0) continue;
    out += numbered(entries, "entry", "entries") + " of " + cell(list, "source") +
           (entries == 1 ? " is" : " are") + " not shown: weir ctl list " + cell(list, "name") +
           " KEY looks for one\n";
  }
  return out;
}

}  // namespace

std::string entries_table(const json::value& answer) {
  const json::array& entries = items(answer, "entries");
  const std::string source = source_lines(answer);
  if (entries.empty()) {
    if (!source.empty()) return source;
    return member(answer, "listed") != nullptr ? "not listed\n" : "the list is empty\n";
  }
  Rows rows{{"KEY", "EFFECT", "LEFT", "UNTIL", "TIMES", "BY", "WHY"}};
  for (const json::value& entry : entries) {
    std::string why = cell(entry, "why");
    if (why.empty()) {
      why = cell(entry, "policy");
      if (member(entry, "limit") != nullptr) {
        why += " " + cell(entry, "value") + "/" + cell(entry, "limit");
      }
    }
    const std::string key = key_cell(entry, "key");
    rows.push_back({key.empty() ? std::string(kEverybody) : key, cell(entry, "effect"),
                    left_of(entry), cell(entry, "until"), cell(entry, "times"), cell(entry, "by"),
                    why});
  }
  std::string out = columns(rows);
  if (!cell(answer, "next").empty()) out += "and more: --limit shows up to 1000\n";
  return out + source;
}

std::string note_line(const json::value& answer) {
  const std::string note = cell(answer, "note");
  return note.empty() ? note : note + "\n";
}

std::string said_by_flags(std::string problem, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const std::string word = "`" + std::string(name) + "`", flag = "--" + std::string(name);
    for (std::size_t at = 0; (at = problem.find(word, at)) != std::string::npos;) {
      problem.replace(at, word.size(), flag);
      at += flag.size();
    }
  }
  return problem;
}

std::string entry_change(const json::value& answer) {
  if (member(answer, "removed") != nullptr) {
    const std::string key = key_cell(answer, "key");
    const std::string whose = key.empty() ? "the entry for all" : key;
    std::string out = count_of(answer, "removed") == 0
                          ? whose + " was not listed\n"
                          : whose + " is off " + cell(answer, "name") + "\n";
    for (const json::value& policy : items(answer, "emptied"))
      out += plain(policy) + ": the count is empty\n";
    for (const json::value& policy : items(answer, "counted_by_another_key"))
      out += plain(policy) + " counts by another key: its count stays as it is\n";
    for (const json::value& policy : items(answer, "disabled"))
      out += plain(policy) + " is disabled: what it has counted comes back with it\n";
    for (const json::value& row : items(answer, "remains"))
      out += cell(row, "policy") + ": " + cell(row, "text") + " (--forgive empties the count)\n";
    return out + note_line(answer);
  }
  const std::string result = cell(answer, "result");
  const std::string key = key_cell(answer, "key");
  const std::string until = cell(answer, "until");
  std::string out = (key.empty() ? "the entry for all" : key) + " is on " + cell(answer, "list") +
                    (until.empty() ? " without an end" : " until " + until);
  if (result == "kept") out += " (as before: an entry is never shortened)";
  if (result == "extended") out += " (extended)";
  return out + "\n" + note_line(answer);
}

std::string list_cleared(const json::value& answer) {
  const std::int64_t matched = count_of(answer, "matched"), removed = count_of(answer, "removed");
  const bool dry = is_true(answer, "dry_run");
  const std::string name = cell(answer, "name");
  std::string out = dry ? "would remove " + numbered(matched, "entry", "entries") + " of " + name
                        : "removed " + numbered(removed, "entry", "entries") + " of " + name;
  // Before 14:00, `--since 14:00` means yesterday: show the time that weir used.
  if (const std::string since = cell(answer, "since"); !since.empty()) out += " since " + since;
  out += "\n";
  if (dry && matched != 0) {
    json::object page;
    page["entries"] = items(answer, "sample");
    out += entries_table(page);
    const auto shown = static_cast<std::int64_t>(items(answer, "sample").size());
    if (matched > shown) out += "and " + std::to_string(matched - shown) + " more\n";
  }
  if (!dry && matched > removed)
    out += std::to_string(matched - removed) + " more match: run it again\n";
  if (const std::int64_t fixed = count_of(answer, "in_configuration"); fixed != 0)
    out += numbered(fixed, "entry", "entries") + " of the configuration stay\n";
  if (const std::int64_t source = count_of(answer, "in_source"); source != 0)
    out += numbered(source, "entry", "entries") + " of its file or URL stay\n";
  out += note_line(answer);
  if (const std::string undo = cell(answer, "undo"); !undo.empty())
    out += "to take it back within an hour: weir ctl undo " + undo + "\n";
  return out;
}

std::string list_imported(const json::value& answer) {
  const std::int64_t read = count_of(answer, "read"), ended = count_of(answer, "ended");
  const std::string left_out =
      ended == 0 ? std::string()
                 : numbered(ended, "entry", "entries") + (ended == 1 ? " has" : " have") +
                       " ended already and " + (ended == 1 ? "is" : "are") + " left out\n";
  if (is_true(answer, "dry_run"))
    return numbered(read, "entry", "entries") + " can be read; nothing was changed\n" + left_out;
  std::string out = numbered(read, "entry", "entries") + " read into " + cell(answer, "name") +
                    ": " + cell(answer, "created") + " new, " + cell(answer, "extended") +
                    " extended, " + cell(answer, "kept") + " as before";
  if (const std::int64_t refused = count_of(answer, "refused"); refused != 0)
    out += ", " + std::to_string(refused) + " refused: the list is full";
  out += "\n" + left_out;
  out += note_line(answer);
  if (const std::string undo = cell(answer, "undo"); !undo.empty())
    out += "to take it back within an hour: weir ctl undo " + undo + "\n";
  return out;
}

namespace {

/// ` (1500 to 3000)`: of a rung whose limits are in a table.
std::string limits_of(const json::value& rung) {
  const json::value* const table = member(rung, "table");
  if (table == nullptr || !table->is_object()) return {};
  const std::string least = cell(*table, "least"), most = cell(*table, "most");
  if (least.empty()) return " (no limit)";
  return " (" + least + (least == most ? "" : " to " + most) + ")";
}

}  // namespace

std::string counters_table(const json::value& answer) {
  const json::array& counters = items(answer, "counters");
  const auto is_shared = [](const json::value& counter) {
    return cell(counter, "from") == "store";
  };
  const bool shared = std::any_of(counters.begin(), counters.end(), is_shared);
  Rows rows{{"COUNTER", "VALUE", "SETTLED", "IN FLIGHT", "RUNGS"}};
  if (shared) rows[0].insert(rows[0].begin() + 4, "HERE");
  for (const json::value& counter : counters) {
    std::string rungs;
    for (const json::value& rung : items(counter, "limits"))
      rungs += (rungs.empty() ? "" : "; ") + cell(rung, "rung") + limits_of(rung);
    const bool reserves = count_of(counter, "in_flight") != 0;
    rows.push_back({cell(counter, "what"), cell(counter, "value"),
                    reserves ? cell(counter, "settled") : "",
                    nonzero(count_of(counter, "in_flight")), rungs});
    if (!shared) continue;
    const json::value* const here = member(counter, "here");
    rows.back().insert(rows.back().begin() + 4,
                       is_shared(counter) && here != nullptr ? cell(*here, "value") : "");
  }
  const std::string key = key_cell(answer, "key");
  return cell(answer, "policy") + (key.empty() ? "" : "  " + key) + "\n" + columns(rows, "  ");
}

std::string counters_emptied(const json::value& answer) {
  const std::string key = key_cell(answer, "key");
  return cell(answer, "policy") + ": " +
         numbered(count_of(answer, "reset"), "counter", "counters") + " emptied" +
         (key.empty() ? "" : " for " + key) +
         (is_true(answer, "shared") ? ", for all replicas" : "") + "; list entries stay\n";
}

std::string problems_text(const json::value& answer) {
  std::string out;
  const json::array& problems = items(answer, "problems");
  for (const json::value& problem : problems) {
    const std::string file = cell(problem, "file");
    if (!file.empty()) {
      out += file;
      if (count_of(problem, "line") != 0)
        out += ":" + cell(problem, "line") + ":" + cell(problem, "column");
      out += ": ";
    }
    out += cell(problem, "severity") + ": " + cell(problem, "message") + "\n";
    if (const std::string hint = cell(problem, "hint"); !hint.empty()) out += "    " + hint + "\n";
  }
  const std::int64_t more =
      count_of(answer, "problem_count") - static_cast<std::int64_t>(problems.size());
  if (more > 0) out += "and " + std::to_string(more) + " more; \"weir check\" lists them all\n";
  return out;
}

std::string reload_text(const json::value& answer) {
  const std::int64_t count = count_of(answer, "problem_count");
  if (!is_true(answer, "ok")) {
    return "not reloaded: the configuration before it stays in force\n" + problems_text(answer);
  }
  std::string out = "reloaded, configuration " + cell(answer, "hash");
  if (count != 0) out += ", " + numbered(count, "warning", "warnings");
  return out + "\n" + problems_text(answer);
}

std::string drain_text(const json::value& answer) {
  return is_true(answer, "draining") ? "draining: not ready any more, still serving\n"
                                     : "not draining: ready\n";
}

std::string audit_text(const json::value& answer) {
  std::string out;
  for (const json::value& entry : items(answer, "entries")) {
    std::string line = cell(entry, "time") + "  " + cell(entry, "action");
    if (const std::string target = cell(entry, "target"); !target.empty()) line += " " + target;
    for (const json::value& key : items(entry, "key")) {
      if (key.is_string()) line.append(" ").append(key.get_string());
    }
    line += "  by " + cell(entry, "who");
    if (cell(entry, "from") != cell(entry, "who")) line += " from " + cell(entry, "from");
    if (!is_true(entry, "done")) line += "  REFUSED: " + cell(entry, "problem");
    if (const std::string reason = cell(entry, "reason"); !reason.empty())
      line += "  because: " + reason;
    append_plain(out, line);
    out += '\n';
    for (const char* name : {"before", "after"}) {
      const json::value* value = member(entry, name);
      if (value == nullptr || value->is_null()) continue;
      out += "    ";
      append_plain(out, std::string(name) + " " + plain_numbers(json::serialize(*value)));
      out += '\n';
    }
  }
  if (out.empty()) out = "no change since weir started\n";
  if (const std::int64_t lost = count_of(answer, "lost"); lost != 0)
    out += numbered(lost, "entry", "entries") + " could not be written to the audit log\n";
  return out;
}

std::string top_table(const json::value& answer, const json::value& before, double seconds) {
  std::map<std::string, std::int64_t> then;
  for (const json::value& policy : items(before, "policies")) {
    const json::value& totals = part(policy, "totals");
    then[cell(policy, "name")] = sum_of(part(totals, "verdicts")) + sum_of(part(totals, "shadows"));
  }
  struct Line {
    std::int64_t news = 0, all = 0;
    std::vector<std::string> cells;
  };
  std::vector<Line> lines;
  for (const json::value& policy : items(answer, "policies")) {
    const json::value& totals = part(policy, "totals");
    const json::value& verdicts = part(totals, "verdicts");
    Line line;
    line.all = sum_of(verdicts) + sum_of(part(totals, "shadows"));
    const std::string name = cell(policy, "name");
    const auto known = then.find(name);
    line.news = known == then.end() ? 0 : std::max<std::int64_t>(0, line.all - known->second);
    char rate[32] = "";
    if (known != then.end() && seconds > 0) {
      std::snprintf(rate, sizeof rate, "%.1f", static_cast<double>(line.news) / seconds);
    }
    line.cells = {name, cell(policy, "mode"), rate};
    for (const ActionRow& action : kActions) {
      if (action.action != Action::none)
        line.cells.push_back(nonzero(count_of(verdicts, action.name)));
    }
    line.cells.push_back(nonzero(sum_of(part(totals, "shadows"))));
    line.cells.push_back(nonzero(count_of(totals, "listed")));
    line.cells.push_back(nonzero(count_of(totals, "missing")));
    lines.push_back(std::move(line));
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return a.news != b.news ? a.news > b.news : a.all > b.all;
  });
  std::vector<std::string> head{"POLICY", "MODE", "A SECOND"};
  for (const ActionRow& action : kActions) {
    if (action.action != Action::none) head.push_back(ascii::uppered(action.name));
  }
  head.insert(head.end(), {"SHADOW", "LISTED", "MISSING"});
  Rows rows{std::move(head)};
  for (Line& line : lines) rows.push_back(std::move(line.cells));
  return rows.size() == 1 ? "no policies are configured\n" : columns(rows);
}

News news_of(const json::value& row) {
  News news;
  news.kind = cell(row, "kind") == "listed" ? News::Kind::listed : News::Kind::verdict;
  const std::string effect = cell(row, "effect");
  for (const ActionRow& action : kActions) {
    if (action.name == effect) news.effect = action.action;
  }
  news.shadow = is_true(row, "shadow");
  news.created = is_true(row, "created");
  news.status = static_cast<std::uint16_t>(count_of(row, "status"));
  const auto time_of = [&](std::string_view name) {
    const auto parsed = config::parse_date(cell(row, name));
    return parsed ? *parsed.value : TimePoint{};
  };
  news.time = time_of("time");
  news.until = time_of("until");
  news.window = milliseconds{count_of(row, "window_ms")};
  const auto number_of = [&](std::string_view name) -> std::optional<Number> {
    const json::value& value = part(row, name);
    if (value.is_int64()) return Number{value.get_int64()};
    if (value.is_double()) return Number::real(value.get_double());
    return std::nullopt;
  };
  news.value = number_of("value").value_or(Number{});
  news.limit = number_of("limit");
  news.in_flight = static_cast<std::uint32_t>(count_of(row, "in_flight"));
  news.possible = is_true(row, "possible");
  if (const auto client = Address::parse(cell(row, "client"))) news.client = *client;
  const auto raw = [&](std::string_view name) {
    const json::value& value = part(row, name);
    return value.is_string()
               ? std::string_view(value.get_string().data(), value.get_string().size())
               : std::string_view();
  };
  news.event = raw("event");
  news.method = raw("method");
  news.path = raw("path");
  std::vector<std::string_view> key;
  for (const json::value& each : items(row, "key")) {
    if (each.is_string()) key.emplace_back(each.get_string().data(), each.get_string().size());
  }
  news.key.set(key);
  news.field = raw("field");
  news.why = raw("why");
  news.list = !raw("list").empty();
  const bool by_list = news.kind == News::Kind::verdict && news.list;
  news.decider = by_list ? raw("list") : raw("policy");
  if (!by_list) news.list_name = raw("list");
  return news;
}

}  // namespace weir::app
