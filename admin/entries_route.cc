#include <boost/json/array.hpp>

#include "admin/keys.h"
#include "admin/lists.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "config/text/units.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kWhyBytesMax = 256;

/// A key in each of the lists that a name stands for (of a policy's own lists the parts are the
/// same).
struct EntryTarget {
  std::vector<const policies::List*> lists;
  std::vector<std::string> parts;
  std::optional<Address> address;  ///< of lists of one address
};

std::variant<EntryTarget, net::HttpReply> target_of(const Call& call,
                                                    const std::vector<std::string_view>& given) {
  EntryTarget target;
  target.lists = lists_named(*call.set, call.name());
  if (target.lists.empty()) return no_such_list(*call.set, call.name());
  const policies::List& first = *target.lists.front();
  auto parts = canonical_parts(given, slots_of(*call.set, first), first.of);
  if (auto* wrong = std::get_if<std::string>(&parts)) return problem(400, *wrong);
  target.parts = std::move(std::get<std::vector<std::string>>(parts));
  if (first.of_address) target.address = Address::parse(given.front());
  return target;
}

Hash128 key_in(const Call& call, const policies::List& list, const EntryTarget& target) {
  // The parts have been checked against the same slots: this cannot fail.
  return policies::list_key(*call.set, list, as_views(target.parts), call.stores.secret).value();
}

const limiter::StaticList::Entry* static_entry(const Call& call, const policies::List& list,
                                               const EntryTarget& target) {
  return list.fixed.find(key_in(call, list, target), target.address ? &*target.address : nullptr,
                         call.at.now);
}

/// What a body asks for. The views point into it.
struct Wish {
  std::vector<std::string_view> key;
  TimePoint until{};
  std::string_view why, effect;
};

// What is wrong, or an empty text.
std::string read_key(const json::object& body, Wish& wish) {
  const json::value* const key = body.if_contains("key");
  if (key != nullptr && key->is_string()) {
    wish.key.push_back(text_of(*key));
    return {};
  }
  if (key == nullptr || !key->is_array())
    return "`key` is a text, or a list with a text for each part";
  for (const json::value& part : key->get_array()) {
    if (!part.is_string()) return "each part of `key` is a text";
    wish.key.push_back(text_of(part));
  }
  return {};
}

std::string read_end(const json::object& body, TimePoint now, Wish& wish) {
  const json::value* const time = body.if_contains("for");
  const json::value* const until = body.if_contains("until");
  if ((time == nullptr) == (until == nullptr)) {
    return "give either `for`, a duration such as 15m, or `until`, a time of RFC 3339";
  }
  const json::value& given = time != nullptr ? *time : *until;
  if (!given.is_string()) return time != nullptr ? "`for` is a text" : "`until` is a text";
  if (time != nullptr) {
    const auto parsed = config::parse_duration(text_of(given));
    if (!parsed) return "`for`: " + parsed.message;
    if (parsed.value->count() == 0) return "`for` is longer than nothing";
    wish.until = now + *parsed.value;
    return {};
  }
  const auto parsed = config::parse_date(text_of(given));
  if (!parsed) return "`until`: " + parsed.message;
  if (*parsed.value <= now) return "`until` has passed already";
  wish.until = *parsed.value;
  return {};
}

std::string read_text(const json::object& body, std::string_view name, std::string_view& out) {
  const json::value* const value = body.if_contains(name);
  if (value == nullptr) return {};
  if (!value->is_string()) return "`" + std::string(name) + "` is a text";
  out = text_of(*value);
  if (out.size() > kWhyBytesMax) {
    return "`" + std::string(name) + "` has at most " + std::to_string(kWhyBytesMax) + " bytes";
  }
  return {};
}

std::string read_wish(const json::object& body, TimePoint now, Wish& wish) {
  for (std::string wrong :
       {read_key(body, wish), read_end(body, now, wish), read_text(body, "why", wish.why),
        read_text(body, "effect", wish.effect)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

// The one list that an entry goes to.
const policies::List* choose(const EntryTarget& target, std::string_view effect,
                             std::string& known) {
  const policies::List* chosen = nullptr;
  for (const policies::List* list : target.lists) {
    const std::string_view name = policies::action_row(list->effect).name;
    known.append(known.empty() ? "" : ", ").append(name);
    if (effect.empty() ? target.lists.size() == 1 : name == effect) chosen = list;
  }
  return chosen;
}

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
  auto found = target_of(call, call.query.all("key"));
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  json::array rows;
  for (const policies::List* list : target.lists) {
    if (const auto* fixed = static_entry(call, *list, target)) {
      rows.push_back(static_entry_view(call, *list, *fixed));
    }
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
  Wish wish;
  const std::string wrong = read_wish(std::get<json::object>(body), call.at.now, wish);
  if (!wrong.empty()) return problem(400, wrong);
  auto found = target_of(call, wish.key);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  std::string known;
  const policies::List* const list = choose(target, wish.effect, known);
  if (list == nullptr) {
    return problem(400, wish.effect.empty()
                            ? "this policy has several lists: say by `effect` which one: " + known
                            : "there is no list of that effect here; there is " + known);
  }
  const auto views = as_views(target.parts);
  const std::string why = utf8_text(wish.why);
  limiter::Listing listing;
  listing.key = key_in(call, *list, target);
  listing.parts = views;
  listing.until = wish.until;
  listing.why = why;
  listing.by = "admin";
  const limiter::ListOutcome outcome = call.stores.lists.add(list->id, listing, call.at.now);
  if (outcome.kind == limiter::ListOutcome::Kind::refused) {
    return problem(409, "the list is full: its `max` is " + std::to_string(list->max),
                   {{"result", "refused"}});
  }
  json::object reply;
  reply["result"] = outcome_text(outcome.kind);
  reply["list"] = list->name;
  reply["effect"] = policies::action_row(list->effect).name;
  reply["key"] = texts(target.parts);
  put_until(reply, outcome.until, call.at.now);
  reply["times"] = outcome.times;
  return json_reply(reply, outcome.kind == limiter::ListOutcome::Kind::created ? 201 : 200);
}

net::HttpReply remove_entry(Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) return std::move(*refused);
  auto found = target_of(call, call.query.all("key"));
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  std::size_t removed = 0;
  bool fixed = false;
  for (const policies::List* list : target.lists) {
    if (call.stores.lists.remove(list->id, key_in(call, *list, target), call.at.now)) ++removed;
    fixed = fixed || static_entry(call, *list, target) != nullptr;
  }
  if (fixed) {
    return problem(409,
                   "an entry of the configuration covers this key: only the file can remove it",
                   {{"removed", removed}});
  }
  return json_reply({{"name", call.name()}, {"key", texts(target.parts)}, {"removed", removed}});
}

}  // namespace weir::admin
