#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <utility>

#include "admin/entry_request.h"
#include "admin/entry_target.h"
#include "admin/keys.h"
#include "admin/operator/replicas.h"
#include "admin/operator/undo_log.h"
#include "admin/routes.h"
#include "admin/views.h"

/// POST /v1/lists/{list}/import: many entries at once, all or none. Of an export that is some days
/// old, entries have ended meanwhile: they are left out, and counted.
namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kRowsMax = 1000;

struct Row {
  EntryTarget target;
  EntryRequest asked;
  const policies::List* list = nullptr;
};

// Reads the rows. Returns the first problem, or an empty text. Views of `rows` point into the body.
std::string read_rows(const Call& call, const json::array& from, std::vector<Row>& rows) {
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::string place = "entry " + std::to_string(i + 1) + ": ";
    if (!from[i].is_object()) return place + "an object with `key`, and `for` or `until`";
    Row& row = rows.emplace_back();
    for (const auto& [name, value] : from[i].get_object()) {
      if (name != "key" && name != "for" && name != "until" && name != "why" && name != "effect")
        return place + "unknown member \"" + utf8_text({name.data(), name.size()}) +
               "\"; known are key, for, until, why, effect";
    }
    std::string wrong = read_entry_request(from[i].get_object(), call.at.now, true, row.asked);
    if (!wrong.empty()) return place + wrong;
    auto target = entry_target(call, row.asked.key, KeyUse::to_list);
    if (auto* refused = std::get_if<net::HttpReply>(&target)) {
      const auto body = json::parse(refused->body);
      return place + std::string(text_of(body.at("detail")));
    }
    row.target = std::move(std::get<EntryTarget>(target));
    std::string known;
    row.list = choose_list(row.target, row.asked.effect, known);
    if (row.list == nullptr) return place + "say by `effect` which list is meant: " + known;
  }
  return {};
}

}  // namespace

net::HttpReply import_entries(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  auto body = read_object(call.request.body, {"entries", "undo", "dry_run"});
  if (auto* refused = std::get_if<net::HttpReply>(&body)) return std::move(*refused);
  const json::object& given = std::get<json::object>(body);
  if (lists_named(*call.set, call.name()).empty()) return no_such_list(*call.set, call.name());
  const json::value* const entries = given.if_contains("entries");
  if (entries == nullptr || !entries->is_array() || entries->get_array().size() > kRowsMax)
    return problem(400, "`entries` is a list of at most " + std::to_string(kRowsMax) + " entries");
  std::string token;
  if (const json::value* const undo = given.if_contains("undo"); undo != nullptr) {
    if (!undo->is_string() || undo->get_string().size() > 64)
      return problem(400, "`undo` is the token of the piece before");
    token = text_of(*undo);
  }
  bool dry_run = false;
  if (const json::value* const dry = given.if_contains("dry_run"); dry != nullptr) {
    if (!dry->is_bool()) return problem(400, "`dry_run` is true or false");
    dry_run = dry->get_bool();
    if (dry_run) call.entry.action.clear();  // nothing changes
  }
  std::vector<Row> rows;
  rows.reserve(entries->get_array().size());
  if (std::string wrong = read_rows(call, entries->get_array(), rows); !wrong.empty())
    return problem(400, wrong);

  call.entry.shared = any_shared(lists_named(*call.set, call.name()));
  std::size_t counts[4] = {}, ended = 0;
  UndoLog::Change change;
  const auto keep = [&] {
    if (change.steps.empty()) return;
    change.token = token;
    change.what = "imported into " + change.shown;
    token = call.undo.keep(std::exchange(change, {}), call.at.now);
  };
  for (const Row& row : rows) {
    if (row.asked.ended) ++ended;
    if (dry_run || row.asked.ended) continue;
    if (change.list != row.list->kept_as) keep();
    change.list = row.list->kept_as;
    change.shown = row.list->name;
    const Hash128 key = key_in(call, *row.list, row.target);
    auto before = call.stores.lists.get(row.list->id, key, call.at.now);
    const limiter::ListOutcome outcome = add_wish(call, *row.list, row.target, row.asked);
    ++counts[static_cast<std::size_t>(outcome.kind)];
    using Kind = limiter::ListOutcome::Kind;
    if (outcome.kind == Kind::created || outcome.kind == Kind::extended)
      change.steps.push_back({key, std::move(before)});
  }
  keep();
  json::object reply;
  reply["name"] = call.name();
  reply["read"] = rows.size();
  reply["ended"] = ended;
  reply["dry_run"] = dry_run;
  reply["created"] = counts[static_cast<std::size_t>(limiter::ListOutcome::Kind::created)];
  reply["extended"] = counts[static_cast<std::size_t>(limiter::ListOutcome::Kind::extended)];
  reply["kept"] = counts[static_cast<std::size_t>(limiter::ListOutcome::Kind::kept)];
  reply["refused"] = counts[static_cast<std::size_t>(limiter::ListOutcome::Kind::refused)];
  call.entry.after = reply;
  put_away_note(call, reply);
  reply["undo"] = token.empty() ? json::value() : json::value(token);
  return json_reply(reply);
}

}  // namespace weir::admin
