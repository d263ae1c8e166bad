#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/entry_target.h"
#include "admin/entry_wish.h"
#include "admin/operator/replicas.h"
#include "admin/operator/undo_log.h"
#include "admin/routes.h"
#include "admin/views.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

std::string_view outcome_text(limiter::ListOutcome::Kind kind) {
  switch (kind) {
    case limiter::ListOutcome::Kind::created:
      return "created";
    case limiter::ListOutcome::Kind::extended:
      return "extended";
    case limiter::ListOutcome::Kind::kept:
      return "kept";
    case limiter::ListOutcome::Kind::refused:
      break;
  }
  return "refused";
}

}  // namespace

net::HttpReply find_entry(Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) return std::move(*refused);
  auto found = entry_target(call, call.query.all("key"), KeyUse::of_entry);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  json::array rows;
  for (const policies::List* list : target.lists) {
    if (const auto* fixed = static_entry(call, *list, target)) {
      rows.push_back(static_entry_view(call, *list, *fixed));
    }
    if (auto row = source_entry(call, *list, target)) rows.push_back(std::move(*row));
    const auto entry = call.stores.lists.get(list->id, key_in(call, *list, target), call.at.now);
    if (entry && entry->until > call.at.now) rows.push_back(entry_view(call, *list, *entry));
  }
  const bool listed = !rows.empty();
  return json_reply({{"name", call.name()},
                     {"key", texts(target.parts)},
                     {"listed", listed},
                     {"entries", std::move(rows)}});
}

net::HttpReply add_entry(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  auto body = read_object(call.request.body, {"key", "for", "until", "why", "effect"});
  if (auto* refused = std::get_if<net::HttpReply>(&body)) return std::move(*refused);
  EntryWish wish;
  const std::string wrong = read_entry_wish(std::get<json::object>(body), call.at.now, false, wish);
  if (!wrong.empty()) return problem(400, wrong);
  // A policy may list callers whose field is empty; by hand it is a variable that was not set.
  const bool has_text = std::any_of(wish.key.begin(), wish.key.end(),
                                    [](std::string_view part) { return !part.empty(); });
  if (!wish.key.empty() && !has_text) return problem(400, "the key is empty");
  auto found = entry_target(call, wish.key, KeyUse::to_list);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  std::string known;
  const policies::List* const list = choose_list(target, wish.effect, known);
  if (list == nullptr) {
    return problem(400, wish.effect.empty()
                            ? "this policy has several lists: say by `effect` which one: " + known
                            : "there is no list of that effect here; there is " + known);
  }
  const Hash128 key = key_in(call, *list, target);
  auto before = call.stores.lists.get(list->id, key, call.at.now);
  call.entry.key = target.parts;
  call.entry.shared = list->shared;
  if (call.entry.reason.empty()) call.entry.reason = utf8_text(wish.why);
  if (before && before->until > call.at.now) call.entry.before = entry_view(call, *list, *before);
  const limiter::ListOutcome outcome = add_wish(call, *list, target, wish);
  if (outcome.kind == limiter::ListOutcome::Kind::refused) {
    return problem(409, "the list is full: its `max` is " + std::to_string(list->max),
                   {{"result", "refused"}});
  }
  json::object reply;
  reply["result"] = outcome_text(outcome.kind);
  reply["list"] = list->name;
  reply["effect"] = row_of(list->effect).name;
  reply["key"] = texts(target.parts);
  put_until(reply, outcome.until, call.at.now);
  reply["times"] = outcome.times;
  call.entry.after = reply;
  put_away_note(call, reply);
  reply["undo"] = nullptr;
  if (outcome.kind != limiter::ListOutcome::Kind::kept) {
    UndoLog::Change change;
    change.what = "added a key to " + list->name;
    change.list = list->kept_as;
    change.shown = list->name;
    change.steps.push_back({key, std::move(before)});
    reply["undo"] = call.undo.keep(std::move(change), call.at.now);
  }
  return json_reply(reply, outcome.kind == limiter::ListOutcome::Kind::created ? 201 : 200);
}

}  // namespace weir::admin
