#include <algorithm>
#include <boost/json/array.hpp>
#include <limits>

#include "admin/operator/replicas.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "config/table_check.h"
#include "core/words.h"

/// Tables: thresholds that people keep, with their history.
namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kReasonMax = 256;
constexpr std::size_t kNameMax = 64;
constexpr std::size_t kCellsAtOnce = 1'000;
constexpr std::size_t kRecordsShown = 100;

json::value limit_value(const std::optional<Number>& limit) {
  return limit ? number_value(*limit) : json::value();
}

json::object record_view(const TableRecord& record) {
  json::object out;
  json::array changes;
  for (const TableRecord::Change& change : record.changes) {
    changes.push_back({{"key", config::path_text(change.path)},
                       {"before", limit_value(change.before)},
                       {"after", limit_value(change.after)}});
  }
  out["id"] = record.id;
  out["table"] = record.table;
  out["state"] = record.state;
  out["changes"] = std::move(changes);
  out["reason"] = utf8_text(record.reason);
  out["by"] = utf8_text(record.by);
  put_time(out, "at", record.at);
  out["decided_by"] = record.decided_by.empty() ? json::value() : json::value(record.decided_by);
  if (record.decided == TimePoint{}) {
    out["decided"] = nullptr;
  } else {
    put_time(out, "decided", record.decided);
  }
  out["overtaken"] =
      record.overtaken.empty() ? json::value() : json::value(utf8_text(record.overtaken));
  return out;
}

/// Levels as the file has them: `{"baidu": {"android": 3000}, "*": 1500}`.
json::object nested(const config::TableNode& node) {
  json::object out;
  for (const config::TableChild& child : node.children) {
    out[child.value.value] =
        child.node.limit ? limit_value(child.node.limit) : json::value(nested(child.node));
  }
  return out;
}

json::object table_view(const Call& call, const TableFacts& facts, bool whole) {
  json::object out;
  json::array by, used, set;
  for (const config::Text& field : facts.def.by) by.emplace_back(field.value);
  for (const std::string& policy : facts.policies) used.emplace_back(policy);
  for (const config::TableCell& cell : facts.cells) {
    set.push_back({{"key", config::path_text(cell.path)}, {"value", limit_value(cell.limit)}});
  }
  out["name"] = facts.def.name.value;
  out["by"] = std::move(by);
  out["file"] = facts.def.file ? json::value(facts.def.file->value) : json::value();
  out["policies"] = std::move(used);
  out["approval"] = facts.approval;
  out["limits"] = config::cells_of(facts.def).size();
  out["set_here"] = std::move(set);
  json::array pending, history;
  for (auto record = facts.records.rbegin(); record != facts.records.rend(); ++record) {
    if (record->state == TableRecord::kPending) pending.push_back(record_view(*record));
    if (history.size() < kRecordsShown) history.push_back(record_view(*record));
  }
  out["pending"] = std::move(pending);
  if (!whole) return out;
  out["values"] = nested(facts.def.values);
  out["history"] = std::move(history);
  static_cast<void>(call);
  return out;
}

std::optional<TableFacts> table_named(const Call& call, std::string_view name) {
  for (TableFacts& facts : call.operations.tables()) {
    if (facts.def.name.value == name) return std::move(facts);
  }
  return std::nullopt;
}

std::string read_limit(const json::value& value, const std::string& name,
                       std::optional<Number>& out) {
  if (value.is_null()) return {};
  if (value.is_string() && value.get_string() == kUnlimited) {
    out = Number::real(std::numeric_limits<double>::infinity());
    return {};
  }
  if (!value.is_number())
    return "\"" + name + "\": a limit is a number, \"unlimited\", or null to take it out";
  Number number;
  std::string wrong = read_threshold(value, name, number);
  if (wrong.empty()) out = number;
  return wrong;
}

std::string read_levels(const json::object& level, std::vector<std::string>& path,
                        std::vector<config::TableCell>& out) {
  for (const auto& [name, value] : level) {
    path.push_back(utf8_text({name.data(), name.size()}));
    if (path.size() > 16 || out.size() > kCellsAtOnce * 100)
      return "`values` has too many levels or limits";
    if (value.is_object()) {
      if (std::string wrong = read_levels(value.get_object(), path, out); !wrong.empty())
        return wrong;
    } else {
      config::TableCell cell{path, {}};
      const std::string shown = config::path_text(path);
      if (value.is_null())
        return "`values`: \"" + shown + "\": a limit is a number or \"unlimited\"";
      if (std::string wrong = read_limit(value, shown, cell.limit); !wrong.empty())
        return "`values`: " + wrong;
      out.push_back(std::move(cell));
    }
    path.pop_back();
  }
  return {};
}

/// `set: {"baidu,android": 3000, "toutiao,*": null}`, or `values`: the whole table in place of the
/// old one.
std::string read_cells(const json::object& body, const config::TableDef& table,
                       std::vector<config::TableCell>& out) {
  const json::value* const set = body.if_contains("set");
  const json::value* const values = body.if_contains("values");
  if ((set == nullptr) == (values == nullptr)) return "give either `set` or `values`";
  if (set != nullptr) {
    if (!set->is_object() || set->get_object().empty() || set->get_object().size() > kCellsAtOnce)
      return "`set` is an object such as {\"baidu,android\": 3000}, of 1000 limits at most";
    for (const auto& [name, value] : set->get_object()) {
      const std::string key = utf8_text({name.data(), name.size()});
      if (std::string wrong = config::wrong_path(table, key); !wrong.empty()) return wrong;
      config::TableCell cell{config::read_path(table, key), {}};
      if (std::string wrong = read_limit(value, key, cell.limit); !wrong.empty())
        return "`set`: " + wrong;
      if (!cell.limit && !config::limit_at(table, cell.path))
        return "there is no limit \"" + config::path_text(cell.path) + "\" to take out";
      out.push_back(std::move(cell));
    }
    return {};
  }
  if (!values->is_object() || values->get_object().empty())
    return "`values` is an object such as {\"baidu\": {\"android\": 3000}, \"*\": 1500}";
  std::vector<std::string> path;
  if (std::string wrong = read_levels(values->get_object(), path, out); !wrong.empty())
    return wrong;
  const std::vector<config::TableCell> olds = config::cells_of(table);
  for (const config::TableCell& cell : out) {
    const bool joined = cell.path.size() == 1 && cell.path[0].find(',') != std::string::npos;
    const bool is_there = std::any_of(olds.begin(), olds.end(), [&](const config::TableCell& old) {
      return old.path.front() == cell.path[0];
    });
    if (joined && table.by.size() > 1 && !is_there)
      return "in `values` fields lie in each other, as in {\"baidu\": {\"android\": 3000}}: \"" +
             cell.path[0] + "\" is for `set`";
  }
  for (const config::TableCell& old : olds) {
    const bool stays = std::any_of(out.begin(), out.end(), [&](const config::TableCell& cell) {
      return cell.path == old.path;
    });
    if (!stays) out.push_back({old.path, {}});
  }
  return {};
}

std::string read_text(const json::object& body, std::string_view name, std::size_t most,
                      std::string& out) {
  const json::value* const value = body.if_contains(name);
  if (value == nullptr) return {};
  if (!value->is_string() || value->get_string().size() > most)
    return "`" + std::string(name) + "` is a text of at most " + std::to_string(most) + " bytes";
  out = utf8_text(text_of(*value));
  return {};
}

boost::asio::awaitable<net::HttpReply> carry_out(Call& call, TableRequest asked) {
  const std::string name = asked.table;
  // A session that was opened for a person acts under that name alone.
  if (const std::string person = call.person(); !person.empty()) {
    if (!asked.by.empty() && asked.by != person) {
      co_return problem(403, "this session is that of " + person +
                                 " and acts under no other name: leave `by` out, or give " +
                                 person);
    }
    asked.by = person;
  }
  if (!asked.reason.empty()) call.entry.reason = asked.reason;
  Scope scope;
  scope.board = call.operations.fleet().has_value();
  call.entry.shared = scope.board;
  const TableAnswer answer = co_await call.operations.change_table(std::move(asked));
  if (answer.status != 200) {
    if (answer.report.problems.empty()) co_return problem(answer.status, answer.why);
    co_return problem(answer.status, answer.why, load_view(answer.report));
  }
  const auto facts = table_named(call, name);
  json::object reply = facts ? table_view(call, *facts, true) : json::object();
  if (facts) {
    for (const TableRecord& record : facts->records) {
      if (record.id == answer.id) call.entry.after = record_view(record);
    }
  }
  reply["change"] = answer.id;
  reply["note"] = answer.why + warnings_note(answer.report) + scope_note(call, scope);
  co_return json_reply(reply);
}

using Refusal = std::optional<net::HttpReply>;

Refusal refusal_of(const std::string& wrong) {
  return wrong.empty() ? Refusal() : problem(400, wrong);
}

/// The change of the path's table that a call asks for, or the refusal. The body may have
/// `members`; `read(body, request)` reads all of them but `reason` and `by`.
template <class Read>
std::variant<TableRequest, net::HttpReply> read_table_request(
    const Call& call, TableRequest::Verb verb, std::initializer_list<std::string_view> members,
    Read read) {
  if (auto wrong = call.refuse_unknown({})) return std::move(*wrong);
  auto body = read_object(call.request.body, members);
  if (auto* wrong = std::get_if<net::HttpReply>(&body)) return std::move(*wrong);
  const json::object& object = std::get<json::object>(body);
  TableRequest asked;
  asked.verb = verb;
  asked.table = call.name();
  if (Refusal wrong = read(object, asked)) return std::move(*wrong);
  std::string wrong = read_text(object, "reason", kReasonMax, asked.reason);
  if (wrong.empty()) wrong = read_text(object, "by", kNameMax, asked.by);
  if (!wrong.empty()) return problem(400, wrong);
  return asked;
}

}  // namespace

net::HttpReply get_tables(Call& call) {
  if (auto wrong = call.refuse_unknown({})) return std::move(*wrong);
  json::array rows;
  for (const TableFacts& facts : call.operations.tables())
    rows.push_back(table_view(call, facts, false));
  return json_reply({{"tables", std::move(rows)}});
}

net::HttpReply get_table(Call& call) {
  if (auto wrong = call.refuse_unknown({})) return std::move(*wrong);
  const auto facts = table_named(call, call.name());
  if (!facts) return problem(404, "there is no table of that name");
  return json_reply(table_view(call, *facts, true));
}

boost::asio::awaitable<net::HttpReply> put_table(Call& call) {
  const auto read = [&](const json::object& body, TableRequest& asked) -> Refusal {
    const auto facts = table_named(call, call.name());
    if (!facts) return problem(404, "there is no table of that name");
    return refusal_of(read_cells(body, facts->def, asked.cells));
  };
  auto asked =
      read_table_request(call, TableRequest::Verb::set, {"set", "values", "reason", "by"}, read);
  if (auto* wrong = std::get_if<net::HttpReply>(&asked)) co_return std::move(*wrong);
  co_return co_await carry_out(call, std::move(std::get<TableRequest>(asked)));
}

boost::asio::awaitable<net::HttpReply> approve_table(Call& call) {
  const auto read = [&](const json::object& body, TableRequest& asked) -> Refusal {
    if (const json::value* const reject = body.if_contains("reject"); reject != nullptr) {
      if (!reject->is_bool()) return problem(400, "`reject` is true or false");
      if (reject->get_bool()) {
        asked.verb = TableRequest::Verb::reject;
        call.entry.action = "table.reject";
      }
    }
    return refusal_of(read_text(body, "change", kNameMax, asked.id));
  };
  auto asked = read_table_request(call, TableRequest::Verb::approve,
                                  {"change", "reject", "reason", "by"}, read);
  if (auto* wrong = std::get_if<net::HttpReply>(&asked)) co_return std::move(*wrong);
  co_return co_await carry_out(call, std::move(std::get<TableRequest>(asked)));
}

boost::asio::awaitable<net::HttpReply> undo_table(Call& call) {
  const auto read = [](const json::object& body, TableRequest& asked) {
    return refusal_of(read_text(body, "change", kNameMax, asked.id));
  };
  auto asked = read_table_request(call, TableRequest::Verb::undo, {"change", "reason", "by"}, read);
  if (auto* wrong = std::get_if<net::HttpReply>(&asked)) co_return std::move(*wrong);
  co_return co_await carry_out(call, std::move(std::get<TableRequest>(asked)));
}

}  // namespace weir::admin
