#include <algorithm>
#include <array>
#include <boost/json/array.hpp>

#include "admin/entry_request.h"
#include "admin/entry_target.h"
#include "admin/keys.h"
#include "admin/operator/replicas.h"
#include "admin/operator/undo_log.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "core/chars/network_text.h"
#include "policies/set/text_keys.h"

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

Address address_of(const std::array<std::uint8_t, 16>& bytes, bool is_v4) {
  if (!is_v4) return Address::v6(bytes);
  return Address::v4(std::uint32_t{bytes[12]} << 24 | std::uint32_t{bytes[13]} << 16 |
                     std::uint32_t{bytes[14]} << 8 | bytes[15]);
}

/// The last address of a network.
Address last_of(const Cidr& block) {
  std::array<std::uint8_t, 16> bytes = block.base.bytes();
  const unsigned fixed = block.bits + (block.base.is_v4() ? 96 : 0);
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned mine = fixed <= 8 * i ? 0 : std::min(fixed - 8 * i, 8U);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] | (0xffU >> mine));
  }
  return address_of(bytes, block.base.is_v4());
}

/// The address after `address`, which is not the last one.
Address next_of(const Address& address) {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  for (std::size_t i = bytes.size(); i-- > 0 && ++bytes[i] == 0;) {
  }
  return address_of(bytes, address.is_v4());
}

/// By how many ranges the file or URL of a list covers a whole network; 0: it does not. A network
/// that lies in another one and ends later cuts it, so there may be several without a gap.
int ranges_over(const policies::List& list, const Cidr& block, TimePoint now) {
  constexpr int kRangesMax = 10'000;
  const limiter::BulkList* const bulk = list.bulk != nullptr ? list.bulk->get() : nullptr;
  if (bulk == nullptr) return 0;
  const Address last = last_of(block);
  Address at = block.base;
  for (int ranges = 1; ranges <= kRangesMax; ++ranges) {
    const auto found = bulk->find({}, &at, now);
    if (!found || !found->last) return 0;
    if (found->last->bytes() >= last.bytes()) return ranges;
    at = next_of(*found->last);
  }
  return 0;
}

/// The entry that lists a whole network by one key: policies count IPv6 by /64, and others by the
/// prefix in their key.
std::optional<limiter::ListEntry> entry_of_prefix(const Call& call, const policies::List& list,
                                                  const Cidr& block) {
  const policies::KeySlot& slot = slots_of(*call.set, list).front();
  if (block.bits < (block.base.is_v4() ? slot.v4_bits : slot.v6_bits)) return std::nullopt;
  const std::vector<std::string> parts{block.base.to_string()};
  const auto key = policies::list_key(*call.set, list, as_views(parts), call.stores.secret);
  if (!key) return std::nullopt;
  auto entry = call.stores.lists.get(list.id, *key, call.at.now);
  return entry && entry->until > call.at.now ? std::move(entry) : std::nullopt;
}

/// The entries that cover a whole network.
net::HttpReply find_network(const Call& call, const std::vector<const policies::List*>& lists,
                            const Cidr& block) {
  const std::vector<std::string> parts{block.base.to_string()};
  json::array rows;
  for (const policies::List* list : lists) {
    for (const limiter::StaticList::Entry& entry : list->fixed.entries()) {
      const auto network = Cidr::parse(entry.text);
      if (entry.until > call.at.now && network && network->bits <= block.bits &&
          network->contains(block.base))
        rows.push_back(static_entry_view(call, *list, entry));
    }
    if (const int ranges = ranges_over(*list, block, call.at.now); ranges != 0) {
      if (auto found = source_entry_view(call, *list, {}, &block.base, parts)) {
        if (ranges > 1) found->row["key"] = texts({block.to_string()});
        rows.push_back(std::move(found->row));
      }
    }
    if (const auto entry = entry_of_prefix(call, *list, block))
      rows.push_back(entry_view(call, *list, *entry));
  }
  const bool listed = !rows.empty();
  return json_reply({{"name", call.name()},
                     {"key", texts({block.to_string()})},
                     {"listed", listed},
                     {"entries", std::move(rows)}});
}

}  // namespace

net::HttpReply find_entry(Call& call) {
  if (auto refused = call.refuse_unknown({"key"})) return std::move(*refused);
  const auto key = call.query.all("key");
  if (const auto block =
          key.size() == 1 && is_network(key.front()) ? Cidr::parse(key.front()) : std::nullopt) {
    const auto lists = lists_named(*call.set, call.name());
    if (!lists.empty() && lists.front()->of_address) return find_network(call, lists, *block);
  }
  auto found = entry_target(call, key, KeyUse::of_entry);
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
  EntryRequest asked;
  const std::string wrong =
      read_entry_request(std::get<json::object>(body), call.at.now, false, asked);
  if (!wrong.empty()) return problem(400, wrong);
  // A policy may list callers whose field is empty; by hand it is a variable that was not set.
  const bool has_text = std::any_of(asked.key.begin(), asked.key.end(),
                                    [](std::string_view part) { return !part.empty(); });
  if (!asked.key.empty() && !has_text) return problem(400, "the key is empty");
  auto found = entry_target(call, asked.key, KeyUse::to_list);
  if (auto* refused = std::get_if<net::HttpReply>(&found)) return std::move(*refused);
  const EntryTarget& target = std::get<EntryTarget>(found);
  std::string known;
  const policies::List* const list = choose_list(target, asked.effect, known);
  if (list == nullptr) {
    return problem(400, asked.effect.empty()
                            ? "this policy has several lists: say by `effect` which one: " + known
                            : "there is no list of that effect here; there is " + known);
  }
  const Hash128 key = key_in(call, *list, target);
  auto before = call.stores.lists.get(list->id, key, call.at.now);
  call.entry.key = target.parts;
  call.entry.shared = list->shared;
  if (call.entry.reason.empty()) call.entry.reason = utf8_text(asked.why);
  if (before && before->until > call.at.now) call.entry.before = entry_view(call, *list, *before);
  const limiter::ListOutcome outcome = add_wish(call, *list, target, asked);
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
  if (const std::string never = never_note(*call.set, *list, target.parts); !never.empty()) {
    const std::string away(reply["note"].as_string());
    reply["note"] = utf8_text(never + (away.empty() ? "" : "; ") + away);
  }
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
