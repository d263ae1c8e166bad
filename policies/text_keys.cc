#include "policies/text_keys.h"

namespace weir::policies {
namespace {

Result<Hash128> hash_parts(const Hash128& owner, const std::vector<KeySlot>& key,
                           std::span<const std::string_view> parts, const HashSecret& secret) {
  if (parts.size() != key.size()) return make_error_code(Error::malformed);
  KeyBuilder builder;
  builder.start(owner);
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (!key[i].is_address) {
      builder.add_text(parts[i]);
      continue;
    }
    const auto address = Address::parse(parts[i]);
    if (!address) return make_error_code(Error::malformed);
    builder.add_address(address->masked(key[i].v4_bits, key[i].v6_bits));
  }
  return builder.hash(secret);
}

}  // namespace

Result<Hash128> counter_key(const PolicySet&, const Policy& policy, const Counter& counter,
                            std::span<const std::string_view> parts, const HashSecret& secret) {
  return hash_parts(counter.identity, policy.bindings.front().key, parts, secret);
}

Result<Hash128> list_key(const PolicySet& set, const List& list, std::span<const std::string_view> parts,
                         const HashSecret& secret) {
  const auto& key = list.owner ? set.policies[*list.owner].bindings.front().key : list.bindings.front().key;
  return hash_parts(list.identity, key, parts, secret);
}

}  // namespace weir::policies
