#include <algorithm>
#include <boost/json/array.hpp>

#include "admin/keys.h"
#include "admin/lists.h"
#include "admin/operator/counts.h"
#include "admin/routes.h"
#include "admin/views.h"
#include "core/chars/ascii.h"
#include "core/chars/key_text.h"
#include "core/chars/network_text.h"
#include "core/chars/parse.h"
#include "net/http/fields.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kPageDefault = 100;
constexpr std::size_t kPageMax = 1000;
// The most entries that one search looks at before it returns its results: a few ms.
constexpr std::size_t kSearchMax = 20'000;
constexpr std::size_t kSearchPiece = 1000;
constexpr std::size_t kSearchBytesMax = 256;

// The start of a page: in which of the lists, among its entries for the very key that is searched
// for (an offset), its static entries (an offset) or its dynamic ones (the last key shown). As text
// `0k1`, `0s12` or `1d<32 hex digits>`: opaque to callers.
struct Cursor {
  std::size_t list = 0;
  bool by_key = false;  // of all lists, before the others
  bool dynamic = false;
  std::size_t offset = 0;
  std::optional<Hash128> after;

  std::string text() const {
    if (by_key) return std::to_string(list) + "k" + std::to_string(offset);
    if (!dynamic) return std::to_string(list) + "s" + std::to_string(offset);
    if (!after) return std::to_string(list) + "d";
    char digits[40];
    std::snprintf(digits, sizeof digits, "%016llx%016llx",
                  static_cast<unsigned long long>(after->hi),
                  static_cast<unsigned long long>(after->lo));
    return std::to_string(list) + "d" + digits;
  }

  static std::optional<Cursor> parse(std::string_view text) {
    Cursor out;
    const std::size_t mark = text.find_first_of("ksd");
    if (mark == std::string_view::npos) return {};
    const auto list = parse_whole<std::size_t>(text.substr(0, mark));
    if (!list) return {};
    out.list = *list;
    const std::string_view rest = text.substr(mark + 1);
    out.dynamic = text[mark] == 'd';
    out.by_key = text[mark] == 'k';
    if (!out.dynamic) {
      const auto offset = parse_whole<std::size_t>(rest);
      if (!offset) return {};
      out.offset = *offset;
      return out;
    }
    if (rest.empty()) return out;
    if (rest.size() != 32) return {};
    const auto hi = parse_whole<std::uint64_t>(rest.substr(0, 16), 16);
    const auto lo = parse_whole<std::uint64_t>(rest.substr(16), 16);
    if (!hi || !lo) return {};
    out.after = Hash128{.lo = *lo, .hi = *hi};
    return out;
  }
};

/// Which entries a page shows: those with the text in their key, reason or policy, and of a
/// network those that have an address of it.
struct Search {
  std::string text;                   // lower case; empty: all
  std::string key;                    // the same as it was written
  std::optional<AddressRange> range;  // that it means
  std::size_t left = kSearchMax;      // entries that may still be looked at

  bool finds(std::string_view in) const {
    const auto same = [](char a, char b) { return ascii::lower(a) == b; };
    return std::search(in.begin(), in.end(), text.begin(), text.end(), same) != in.end();
  }
  bool finds(const std::vector<policies::KeySlot>& slots, const limiter::ListEntry& entry) const {
    if (text.empty() || finds(entry.why) || finds(entry.policy)) return true;
    return std::any_of(entry.parts.begin(), entry.parts.end(),
                       [&](const std::string& part) { return finds(part); }) ||
           meets(slots, entry.parts);
  }
  bool finds(const policies::List& list, const std::vector<policies::KeySlot>& slots,
             const limiter::StaticList::Entry& entry) const {
    if (text.empty() || finds(entry.text) || finds(entry.why)) return true;
    if (!range) return false;
    if (!list.of_address) return meets(slots, static_parts(list, entry));
    const auto block = Cidr::parse(entry.text);
    return block && range->overlaps(AddressRange::of(*block));
  }

 private:
  /// Whether a part of the key is of one of the addresses that are searched for.
  bool meets(const std::vector<policies::KeySlot>& slots,
             const std::vector<std::string>& parts) const {
    for (std::size_t i = 0; range && i < parts.size() && i < slots.size(); ++i) {
      const auto address = policies::address_part(slots[i], parts[i]);
      if (!address) continue;
      const unsigned bits = address->is_v4() ? slots[i].v4_bits : slots[i].v6_bits;
      if (range->overlaps(AddressRange::of({*address, bits}))) return true;
    }
    return false;
  }
};

/// The key that the text of a search is for this list: `alice`, `alice, 192.0.2.7`. Empty: none.
std::vector<std::string> key_of(const Call& call, const policies::List& list,
                                std::string_view text) {
  // A key of one part may have commas in it, with or without quotes around it.
  std::vector<std::string> given = key_parts(text);
  if (list.of.size() == 1 && !(given.size() == 1 && text.starts_with('"')))
    given = {std::string(text)};
  if (given.size() != list.of.size()) return {};
  auto parts = canonical_parts(as_views(given), slots_of(*call.set, list), list.of);
  auto* const mine = std::get_if<std::vector<std::string>>(&parts);
  return mine == nullptr ? std::vector<std::string>() : std::move(*mine);
}

/// The entries of a list for the very key that is searched for, unless the search by text finds
/// them: a network that covers an address, an entry of a file or URL.
json::array entries_by_key(const Call& call, const policies::List& list, const Search& search) {
  json::array rows;
  const std::vector<std::string> parts = key_of(call, list, search.key);
  if (parts.empty()) return rows;
  const auto& slots = slots_of(*call.set, list);
  const auto key = policies::list_key(*call.set, list, as_views(parts), call.stores.secret);
  if (!key) return rows;
  std::optional<Address> address;
  if (list.of_address) address = Address::parse(search.key);
  const Address* const at = address ? &*address : nullptr;
  if (const auto* fixed = list.fixed.find(*key, at, call.at.now);
      fixed != nullptr && !search.finds(list, slots, *fixed))
    rows.push_back(static_entry_view(call, list, *fixed));
  if (auto entry = source_entry_view(call, list, *key, at, parts))
    rows.push_back(std::move(entry->row));
  if (const auto entry = call.stores.lists.get(list.id, *key, call.at.now);
      entry && entry->until > call.at.now && !search.finds(slots, *entry))
    rows.push_back(entry_view(call, list, *entry));
  return rows;
}

/// Fills `rows` up to `limit` with the entries of a list's file or URL that have an address of the
/// range, from number `offset` among them on, which it moves. False: the page is full, or `search`
/// has looked at as many entries as one page may: many entries of the range may have ended.
bool fill_from_source(const Call& call, const policies::List& list, Search& search,
                      std::size_t limit, std::size_t& offset, json::array& rows) {
  const limiter::BulkList* const bulk = list.bulk != nullptr ? list.bulk->get() : nullptr;
  if (bulk == nullptr) return true;
  const auto numbers = bulk->numbers(*search.range);
  for (; offset < numbers.end - numbers.begin; ++offset) {
    if (rows.size() == limit || search.left == 0) return false;
    --search.left;
    if (const auto found = bulk->at(numbers.v4, numbers.begin + offset, call.at.now))
      rows.push_back(source_entry_row(call, list, *found, {}));
  }
  return true;
}

const std::vector<policies::KeySlot> kNoKey;  // of the own list of a policy without a key

// Fills `rows` up to `limit` and moves the cursor; nullopt: that was all.
std::optional<Cursor> fill_page(const Call& call, const std::vector<const policies::List*>& lists,
                                Cursor at, std::size_t limit, Search search, json::array& rows) {
  if (at.by_key) {
    for (; at.list < lists.size(); ++at.list, at.offset = 0) {
      if (search.range && lists[at.list]->of_address) {
        if (!fill_from_source(call, *lists[at.list], search, limit, at.offset, rows)) return at;
        continue;
      }
      json::array found = entries_by_key(call, *lists[at.list], search);
      for (; at.offset < found.size(); ++at.offset) {
        if (rows.size() == limit) return at;
        rows.push_back(std::move(found[at.offset]));
      }
    }
    at = {};
  }
  for (; at.list < lists.size(); ++at.list, at.dynamic = false, at.offset = 0, at.after.reset()) {
    const policies::List& list = *lists[at.list];
    const auto& slots = list.of.empty() ? kNoKey : slots_of(*call.set, list);
    const auto& fixed = list.fixed.entries();
    for (; !at.dynamic && at.offset < fixed.size(); ++at.offset) {
      if (rows.size() == limit) return at;
      if (search.left == 0) return at;
      --search.left;
      const limiter::StaticList::Entry& entry = fixed[at.offset];
      if (entry.until <= call.at.now || !search.finds(list, slots, entry)) continue;
      rows.push_back(static_entry_view(call, list, entry));
    }
    at.dynamic = true;
    if (rows.size() == limit) return at;
    for (bool more = true; more;) {
      if (rows.size() == limit || search.left == 0) return at;
      const std::size_t wanted =
          search.text.empty() ? limit - rows.size() : std::min(kSearchPiece, search.left);
      const auto entries = call.stores.lists.page(list.id, call.at.now, at.after, wanted);
      more = entries.size() == wanted;
      for (const limiter::ListEntry& entry : entries) {
        if (rows.size() == limit) return at;
        at.after = entry.key;
        if (!search.text.empty()) --search.left;
        if (search.finds(slots, entry)) rows.push_back(entry_view(call, list, entry));
      }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<const policies::List*> lists_named(const policies::PolicySet& set,
                                               std::string_view name) {
  if (const policies::List* list = set.find_list(name); list != nullptr && !list->shadow)
    return {list};
  std::vector<const policies::List*> out;
  const policies::Policy* const policy = set.find_policy(name);
  if (policy == nullptr) return out;
  for (const policies::ListIndex index : policy->own_lists) {
    if (!set.lists[index].shadow) out.push_back(&set.lists[index]);
  }
  for (const policies::ListIndex index : policy->lists_asleep) out.push_back(&set.lists[index]);
  return out;
}

bool any_shared(const std::vector<const policies::List*>& lists) {
  return std::any_of(lists.begin(), lists.end(),
                     [](const policies::List* list) { return list->shared; });
}

bool shares_entries(const policies::PolicySet& set, std::string_view kept_as) {
  return std::any_of(set.lists.begin(), set.lists.end(), [&](const policies::List& list) {
    return list.shared && list.kept_as == kept_as;
  });
}

net::HttpReply no_such_list(const policies::PolicySet& set, std::string_view name) {
  if (is_disabled(set, name))
    return problem(404, "this policy is disabled: the entries of its own lists come back with it");
  if (set.find_policy(name) != nullptr) {
    return problem(404, "this policy has no list of its own");
  }
  return problem(404, "there is neither a list nor a policy of that name");
}

net::HttpReply get_lists(Call& call) {
  if (auto refused = call.refuse_unknown({})) return std::move(*refused);
  json::array rows;
  for (const policies::List& list : call.set->lists) {
    if (!list.shadow) rows.push_back(list_view(call, list));
  }
  return json_reply({{"lists", std::move(rows)}});
}

namespace {

struct PageWish {
  std::size_t limit = kPageDefault;
  Cursor at;
  Search search;
};

std::string read_page_wish(const Call& call, PageWish& asked) {
  if (!call.read_count("limit", 1, kPageMax, asked.limit))
    return "`limit` is a number from 1 to " + std::to_string(kPageMax);
  if (call.query.has("after")) {
    const auto text = call.query.one("after");
    const auto cursor = text ? Cursor::parse(*text) : std::nullopt;
    if (!cursor) return "`after` is what a page before gave as `next`";
    asked.at = *cursor;
  }
  if (call.query.has("search")) {
    const auto text = call.query.one("search");
    if (!text || text->size() > kSearchBytesMax)
      return "`search` is a text of at most " + std::to_string(kSearchBytesMax) + " bytes";
    asked.search.text = ascii::lowered(*text);
    asked.search.key = *text;
    asked.search.range = read_range(*text);
    if (!call.query.has("after")) asked.at.by_key = !text->empty();
  }
  return {};
}

json::object entries_page(const Call& call, const std::vector<const policies::List*>& lists,
                          const PageWish& asked) {
  json::array rows;
  const auto next = fill_page(call, lists, asked.at, asked.limit, asked.search, rows);
  std::size_t in_source = 0;
  for (const policies::List* list : lists)
    if (list->bulk != nullptr) in_source += list->bulk->size();
  json::object body;
  body["entries"] = std::move(rows);
  body["next"] = next ? json::value(next->text()) : json::value();
  body["in_source"] = in_source;
  return body;
}

}  // namespace

net::HttpReply get_list(Call& call) {
  if (auto refused = call.refuse_unknown({"limit", "after", "search"})) return std::move(*refused);
  const auto lists = lists_named(*call.set, call.name());
  if (lists.empty()) return no_such_list(*call.set, call.name());
  PageWish asked;
  if (const std::string wrong = read_page_wish(call, asked); !wrong.empty())
    return problem(400, wrong);
  json::array summaries;
  for (const policies::List* list : lists) summaries.push_back(list_view(call, *list));
  json::object page = entries_page(call, lists, asked);
  json::object body;
  body["name"] = call.name();
  body["lists"] = std::move(summaries);
  body["entries"] = std::move(page["entries"]);
  body["next"] = std::move(page["next"]);
  body["in_source"] = std::move(page["in_source"]);
  return json_reply(body);
}

net::HttpReply get_entries(Call& call) {
  if (auto refused = call.refuse_unknown({"limit", "after", "search", "effect"}))
    return std::move(*refused);
  PageWish asked;
  if (const std::string wrong = read_page_wish(call, asked); !wrong.empty())
    return problem(400, wrong);
  const auto effect = call.query.one("effect");
  std::vector<const policies::List*> lists;
  for (const policies::List& list : call.set->lists) {
    const bool wanted = !effect || row_of(list.effect).name == *effect;
    if (!list.shadow && wanted) lists.push_back(&list);
  }
  return json_reply(entries_page(call, lists, asked));
}

}  // namespace weir::admin
