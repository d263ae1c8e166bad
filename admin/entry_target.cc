#include "admin/entry_target.h"

#include "admin/keys.h"
#include "admin/views.h"
#include "policies/set/text_keys.h"

namespace weir::admin {

std::variant<EntryTarget, net::HttpReply> entry_target(const Call& call,
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

std::optional<boost::json::object> source_entry(const Call& call, const policies::List& list,
                                                const EntryTarget& target) {
  return source_entry_view(call, list, key_in(call, list, target),
                           target.address ? &*target.address : nullptr, target.parts);
}

}  // namespace weir::admin
