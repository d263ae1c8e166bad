#include "policies/set/text_keys.h"

#include <algorithm>

#include "config/text/units.h"
#include "limiter/exchange/shared_key.h"
#include "policies/lang/expr/never_text.h"
#include "policies/lang/extractors.h"
#include "policies/lang/place_text.h"
#include "policies/set/peer_key.h"

namespace weir::policies {

std::optional<std::string> canonical_part(Type type, std::string_view text) {
  switch (type) {
    case Type::integer:
    case Type::real: {
      const auto number = config::parse_data_number(text);
      if (!number) return std::nullopt;
      return number.value->to_string();
    }
    case Type::boolean:
      if (text == "true" || text == "True" || text == "TRUE") return "true";
      if (text == "false" || text == "False" || text == "FALSE") return "false";
      return std::nullopt;
    default:
      return std::string(text);
  }
}

namespace {

Result<Hash128> hash_parts(const std::vector<KeySlot>& key, std::span<const std::string_view> parts,
                           const HashSecret& secret, bool without_place = false) {
  if (parts.size() != key.size()) return make_error_code(Error::malformed);
  KeyBuilder builder;
  builder.start();
  for (std::size_t i = 0; i < key.size(); ++i) {
    if (without_place && key[i].is_place) continue;
    if (const auto address = address_part(key[i], parts[i])) {
      builder.add_address(*address);
      continue;
    }
    const auto text = canonical_part(key[i].type, parts[i]);
    if (key[i].is_address || !text) return make_error_code(Error::malformed);
    builder.add_text(*text);
  }
  return builder.hash(secret);
}

}  // namespace

std::optional<NeverPart> never_part(const PolicySet& set, SlotId part, std::string_view text) {
  const Slot& slot = set.slots[part];
  if (slot.extractor == nullptr || slot.type != Type::text) return std::nullopt;
  const std::string_view name = slot.extractor->name;
  const bool folded = name == "path" && set.path_rules.fold_case;
  auto never = expr::never_text({slot.text, name, slot.argument.name, false, folded}, text,
                                expr::Compared::whole);
  if (never.message.empty()) return std::nullopt;
  // This place takes a value, not a condition.
  if (!never.condition.empty())
    never.hint = "write whole values here; a policy can have when: '" + never.condition + "'";
  return NeverPart{std::move(never.message), std::move(never.hint)};
}

std::optional<NeverPart> never_part(const PolicySet& set, const List& list, std::size_t part,
                                    std::string_view text) {
  std::optional<NeverPart> out;
  const auto never = [&](const auto& binding) {
    const std::vector<KeySlot>& key = binding.key;
    out = part >= key.size() || key[part].is_address || key[part].is_place
              ? std::nullopt
              : never_part(set, key[part].slot, text);
    return out.has_value();
  };
  const bool all = list.owner ? std::all_of(set.policies[*list.owner].bindings.begin(),
                                            set.policies[*list.owner].bindings.end(), never)
                              : std::all_of(list.bindings.begin(), list.bindings.end(), never);
  return all ? out : std::nullopt;
}

Result<limiter::CounterKey> counter_key(const PolicySet&, const Policy& policy,
                                        const Counter& counter,
                                        std::span<const std::string_view> parts,
                                        const HashSecret& secret) {
  const auto& key = policy.bindings.front().key;
  const auto hash = hash_parts(key, parts, secret, counter.near());
  if (!hash) return hash.error();
  limiter::CounterKey out(hash->owned_by(counter.what));
  for (std::size_t i = 0; i < key.size() && counter.near(); ++i) {
    if (!key[i].is_place) continue;
    const auto place = parse_place(parts[i]);
    if (!place) return make_error_code(Error::malformed);
    out.place = *place;
  }
  return out;
}

Result<std::string> shared_key(const Policy& policy, std::span<const std::string_view> parts,
                               const HashSecret& secret, const Sharing& sharing, TimePoint wall) {
  if (policy.peer_key) return peer_key(*policy.peer_key, parts, wall);
  const auto& key = policy.bindings.front().key;
  const auto hash = hash_parts(key, parts, secret, true);
  if (!hash) return hash.error();
  std::string out = sharing.prefix;
  if (!sharing.readable) {
    limiter::append_hashed_key(out, *hash);
    return out;
  }
  limiter::ReadableKey spelled(out);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (key[i].is_place) continue;
    const auto address = address_part(key[i], parts[i]);
    spelled.add_text(address ? address->to_string() : *canonical_part(key[i].type, parts[i]));
  }
  spelled.end();
  return out;
}

Result<Hash128> list_key(const PolicySet& set, const List& list,
                         std::span<const std::string_view> parts, const HashSecret& secret) {
  const auto& key =
      list.owner ? set.policies[*list.owner].bindings.front().key : list.bindings.front().key;
  const auto hash = hash_parts(key, parts, secret);
  if (!hash) return hash.error();
  return hash->owned_by(list.identity);
}

}  // namespace weir::policies
