#include "admin/keys.h"

#include "core/chars/network_text.h"
#include "policies/lang/place_text.h"
#include "policies/set/text_keys.h"

namespace weir::admin {

std::variant<std::vector<std::string>, std::string> canonical_parts(
    const std::vector<std::string_view>& given, const std::vector<policies::KeySlot>& slots,
    const std::vector<std::string>& names) {
  if (given.size() != slots.size()) {
    if (slots.empty()) return std::string("this policy has one counter for all: give no key");
    std::string words =
        "the key has " + std::to_string(slots.size()) +
        (slots.size() == 1 ? " part: " : " parts, one `key` for each, in this order: ");
    for (std::size_t i = 0; i < names.size(); ++i)
      words.append(i == 0 ? "" : ", ").append(names[i]);
    return words;
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (given[i].size() > kKeyPartBytesMax) {
      return "a key part has at most " + std::to_string(kKeyPartBytesMax) + " bytes";
    }
    if (slots[i].is_place && !policies::parse_place(given[i])) {
      return "\"" + names[i] + "\" is a place, latitude first: 31.2304,121.4737";
    }
    if (const auto address = policies::address_part(slots[i], given[i])) {
      out.push_back(address->to_string());
    } else if (slots[i].is_address && is_network(given[i])) {
      return network_problem(given[i]);
    } else if (slots[i].is_address) {
      return "\"" + names[i] + "\" is an IP address, such as 203.0.113.7";
    } else {
      auto text = policies::canonical_part(slots[i].type, given[i]);
      if (!text) {
        return "\"" + names[i] + "\" is " +
               (slots[i].type == Type::boolean ? "true or false" : "a number") + ", not \"" +
               std::string(given[i]) + "\"";
      }
      out.push_back(std::move(*text));
    }
  }
  return out;
}

std::string never_note(const policies::PolicySet& set, const policies::List& list,
                       const std::vector<std::string>& parts) {
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const auto never = policies::never_part(set, list, i, parts[i]);
    if (!never) continue;
    return "no request has this key: " + never->message +
           (never->hint.empty() ? "" : " (" + never->hint + ")");
  }
  return {};
}

std::string network_problem(std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (const std::string fault = network_fault(text); !fault.empty())
    return quoted + " is not a network: " + fault;
  return quoted +
         " is a network, and the key of an entry is an address: networks are in the "
         "configuration, or in the file or URL of a list";
}

std::string network_question(std::string_view text) {
  const std::string quoted = "\"" + std::string(text) + "\"";
  if (const std::string fault = network_fault(text); !fault.empty())
    return quoted + " is not a network: " + fault;
  return quoted +
         " is a network: ask for an address in it. weir ctl list NAME NETWORK says whether a list "
         "covers the network, and a search on the dashboard finds the entries in it";
}

std::vector<std::string_view> as_views(const std::vector<std::string>& parts) {
  return {parts.begin(), parts.end()};
}

const std::vector<policies::KeySlot>& slots_of(const policies::PolicySet& set,
                                               const policies::List& list) {
  return list.owner ? set.policies[*list.owner].bindings.front().key : list.bindings.front().key;
}

}  // namespace weir::admin
