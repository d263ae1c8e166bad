#include "admin/entry_request.h"

#include <boost/json/array.hpp>

#include "admin/json.h"
#include "admin/keys.h"
#include "config/text/units.h"
#include "policies/set/text_keys.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

constexpr std::size_t kWhyBytesMax = 256;

// Returns the error, or an empty text.
std::string read_wish_key(const json::object& body, EntryRequest& asked) {
  const json::value* const key = body.if_contains("key");
  if (key != nullptr && key->is_string()) {
    asked.key.push_back(text_of(*key));
    return {};
  }
  if (key == nullptr || !key->is_array())
    return "`key` is a text, or a list with a text for each part";
  for (const json::value& part : key->get_array()) {
    if (!part.is_string()) return "each part of `key` is a text";
    asked.key.push_back(text_of(part));
  }
  return {};
}

std::string read_wish_end(const json::object& body, TimePoint now, bool from_file,
                          EntryRequest& asked) {
  const json::value* const time = body.if_contains("for");
  const json::value* const until = body.if_contains("until");
  if (time == nullptr && until == nullptr && from_file) {
    asked.until = limiter::kForever;
    return {};
  }
  if ((time == nullptr) == (until == nullptr)) {
    return "give either `for`, a duration such as 15m, or `until`, a time of RFC 3339";
  }
  const json::value& given = time != nullptr ? *time : *until;
  if (!given.is_string()) return time != nullptr ? "`for` is a text" : "`until` is a text";
  if (time != nullptr) {
    const auto parsed = config::parse_duration(text_of(given));
    if (!parsed) return "`for`: " + parsed.message;
    if (parsed.value->count() == 0) return "`for` is longer than nothing";
    asked.until = now + *parsed.value;
    return {};
  }
  const auto parsed = config::parse_date(text_of(given));
  if (!parsed) return "`until`: " + parsed.message;
  asked.ended = *parsed.value <= now;
  if (asked.ended && !from_file) return "`until` has passed already";
  asked.until = *parsed.value;
  return {};
}

std::string read_wish_text(const json::object& body, std::string_view name, std::string_view& out) {
  const json::value* const value = body.if_contains(name);
  if (value == nullptr) return {};
  if (!value->is_string()) return "`" + std::string(name) + "` is a text";
  out = text_of(*value);
  if (out.size() > kWhyBytesMax) {
    return "`" + std::string(name) + "` has at most " + std::to_string(kWhyBytesMax) + " bytes";
  }
  return {};
}

/// The reason of the whole call, which is longer than that of an entry may be.
std::string_view reason_of(const Call& call) noexcept {
  const std::string_view reason = call.entry.reason;
  if (reason.size() <= kWhyBytesMax) return reason;
  std::size_t size = kWhyBytesMax;
  while (size > 0 && (static_cast<unsigned char>(reason[size]) & 0xc0) == 0x80) --size;
  return reason.substr(0, size);  // no character is cut
}

}  // namespace

std::string read_entry_request(const json::object& body, TimePoint now, bool from_file,
                               EntryRequest& asked) {
  for (std::string wrong :
       {read_wish_key(body, asked), read_wish_end(body, now, from_file, asked),
        read_wish_text(body, "why", asked.why), read_wish_text(body, "effect", asked.effect)}) {
    if (!wrong.empty()) return wrong;
  }
  return {};
}

const policies::List* choose_list(const EntryTarget& target, std::string_view effect,
                                  std::string& known) {
  const policies::List* chosen = nullptr;
  for (const policies::List* list : target.lists) {
    const std::string_view name = row_of(list->effect).name;
    known.append(known.empty() ? "" : ", ").append(name);
    if (effect.empty() ? target.lists.size() == 1 : name == effect) chosen = list;
  }
  return chosen;
}

limiter::ListOutcome add_wish(const Call& call, const policies::List& list,
                              const EntryTarget& target, const EntryRequest& asked) {
  const auto views = as_views(target.parts);
  const std::string why = utf8_text(asked.why.empty() ? reason_of(call) : asked.why);
  limiter::Listing listing;
  listing.key = key_in(call, list, target);
  listing.parts = views;
  listing.until = asked.until;
  listing.why = why;
  listing.by = "admin";
  return call.stores.lists.add(list.id, listing, call.at.now);
}

}  // namespace weir::admin
