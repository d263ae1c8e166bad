#include "admin/entry_target.h"

#include <algorithm>

#include "admin/keys.h"
#include "admin/views.h"
#include "limiter/lists/list_records.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::size_t kScannedMax = 200'000;  // entries: a question never holds up the others

/// Finds the entries whose kept texts are these, if there are any. Returns the problem, or nothing.
std::optional<net::HttpReply> find_cut(const Call& call, EntryTarget& target) {
  for (const policies::List* list : target.lists) {
    std::optional<Hash128> after, found;
    std::size_t scanned = 0;
    for (bool more = true; more;) {
      const auto page = call.stores.lists.page(list->id, call.at.now, after, kPage);
      more = page.size() == kPage;
      if ((scanned += page.size()) > kScannedMax)
        return problem(
            409,
            "the list is too long to look for the beginning of a key in it: name the key in full");
      for (const limiter::ListEntry& entry : page) {
        after = entry.key;
        if (entry.parts != target.parts) continue;
        if (found)
          return problem(409, "several keys of this list begin with this text: name one in full");
        found = entry.key;
      }
    }
    if (found) target.cut.emplace_back(list, *found);
  }
  return std::nullopt;
}

}  // namespace

std::variant<EntryTarget, net::HttpReply> entry_target(const Call& call,
                                                       const std::vector<std::string_view>& given,
                                                       KeyUse use) {
  EntryTarget target;
  target.lists = lists_named(*call.set, call.name());
  if (target.lists.empty()) return no_such_list(*call.set, call.name());
  const policies::List& first = *target.lists.front();
  auto parts = canonical_parts(given, slots_of(*call.set, first), first.of);
  if (auto* wrong = std::get_if<std::string>(&parts)) return problem(400, *wrong);
  target.parts = std::move(std::get<std::vector<std::string>>(parts));
  if (first.of_address) target.address = Address::parse(given.front());
  const auto any = [&](auto is) {
    return std::any_of(target.parts.begin(), target.parts.end(), is);
  };
  if (use == KeyUse::to_list) {
    if (any(limiter::is_cut)) {
      return problem(400,
                     "this is the beginning of a longer key (it ends with \"…\"): what is left of "
                     "such a key cannot be listed");
    }
  } else if (any(limiter::may_be_cut)) {
    if (auto wrong = find_cut(call, target)) return std::move(*wrong);
  }
  return target;
}

Hash128 key_in(const Call& call, const policies::List& list, const EntryTarget& target) {
  for (const auto& [of, key] : target.cut)
    if (of == &list) return key;
  // The parts have been checked against the same slots: this cannot fail.
  return policies::list_key(*call.set, list, as_views(target.parts), call.stores.secret).value();
}

const limiter::StaticList::Entry* static_entry(const Call& call, const policies::List& list,
                                               const EntryTarget& target) {
  return list.fixed.find(key_in(call, list, target), target.address ? &*target.address : nullptr,
                         call.at.now);
}

std::optional<boost::json::object> source_entry(const Call& call, const policies::List& list,
                                                const EntryTarget& target) {
  auto entry = source_entry_view(call, list, key_in(call, list, target),
                                 target.address ? &*target.address : nullptr, target.parts);
  if (!entry) return std::nullopt;
  return std::move(entry->row);
}

}  // namespace weir::admin
