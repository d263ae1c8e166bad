#include "admin/operator/undo_words.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <stdexcept>

#include "core/chars/parse.h"
#include "limiter/lists/lists.h"

namespace weir::admin {
namespace {

namespace json = boost::json;

// The tolerance for times of an entry that comes from another replica: the transfer takes time, and
// the clocks of two replicas differ.
constexpr milliseconds kAbout{2'000};
constexpr std::size_t kKeyPartsMax = 16;
// The most bytes of a piece, and the most pieces of a change. The board is for few and short
// messages: a hundred entries or so.
constexpr std::size_t kPieceMax = 3'000, kPiecesMax = 16;

std::int64_t told_time(TimePoint time, milliseconds ahead) {
  return time >= limiter::kForever ? to_ms(limiter::kForever) : to_ms(time + ahead);
}
TimePoint own_time(const json::value& ms, milliseconds ahead) {
  const std::int64_t time = ms.as_int64();
  return time >= to_ms(limiter::kForever) ? limiter::kForever : from_ms(time) - ahead;
}

std::uint64_t half_of(std::string_view text) {
  const auto half = parse_whole<std::uint64_t>(text, 16);
  if (!half || text.size() != 16) throw std::invalid_argument("key");
  return *half;
}

json::value number_json(const Number& number) {
  return number.is_real() ? json::value(number.as_real()) : json::value(number.integer());
}
Number told_number(const json::value& value) {
  return value.is_int64() ? Number(value.get_int64()) : Number::real(value.as_double());
}

json::object entry_json(const limiter::ListEntry& entry, milliseconds ahead) {
  json::object out;
  json::array parts;
  for (const std::string& part : entry.parts) parts.emplace_back(part);
  out["parts"] = std::move(parts);
  out["since"] = told_time(entry.since, ahead);
  out["until"] = told_time(entry.until, ahead);
  out["forget"] = told_time(entry.forget_until, ahead);
  out["listed"] = told_time(entry.listed, ahead);
  out["policy"] = entry.policy;
  out["why"] = entry.why;
  out["by"] = entry.by;
  out["value"] = number_json(entry.value);
  out["limit"] = number_json(entry.limit);
  out["times"] = static_cast<std::int64_t>(entry.times);
  out["level"] = entry.level;
  return out;
}

limiter::ListEntry read_entry(const json::object& from, const Hash128& key, milliseconds ahead) {
  limiter::ListEntry out;
  out.key = key;
  for (const json::value& part : from.at("parts").as_array()) {
    if (out.parts.size() == kKeyPartsMax) throw std::invalid_argument("parts");
    out.parts.emplace_back(part.as_string());
  }
  out.since = own_time(from.at("since"), ahead);
  out.until = own_time(from.at("until"), ahead);
  out.forget_until = own_time(from.at("forget"), ahead);
  out.listed = own_time(from.at("listed"), ahead);
  out.policy = std::string(from.at("policy").as_string());
  out.why = std::string(from.at("why").as_string());
  out.by = std::string(from.at("by").as_string());
  out.value = told_number(from.at("value"));
  out.limit = told_number(from.at("limit"));
  out.times = from.at("times").to_number<std::uint64_t>();
  out.level = from.at("level").to_number<std::uint16_t>();
  return out;
}

}  // namespace

std::vector<std::string> undo_words(const UndoChange& change, milliseconds ahead) {
  std::vector<std::string> out;
  json::array steps;
  std::size_t size = 0;
  const auto finish = [&] {
    out.push_back(json::serialize(json::object{{"undo", change.token},
                                               {"what", change.what},
                                               {"list", change.list},
                                               {"shown", change.shown},
                                               {"at", told_time(change.at, ahead)},
                                               {"steps", std::move(steps)}}));
    steps = json::array();
    size = 0;
  };
  for (const UndoStep& step : change.steps) {
    json::object one;
    one["key"] = hex_of(step.key);
    one["before"] = step.before ? json::value(entry_json(*step.before, ahead)) : json::value();
    const std::size_t more = json::serialize(one).size();
    if (!steps.empty() && size + more > kPieceMax) finish();
    if (out.size() == kPiecesMax || more > kPieceMax) return {};
    size += more;
    steps.push_back(std::move(one));
  }
  finish();
  return out;
}

std::string undone_words(std::string_view token) {
  return json::serialize(json::object{{"undone", token}});
}

std::optional<UndoNews> read_undo_words(std::string_view text, milliseconds ahead) {
  try {
    const json::value whole = json::parse({text.data(), text.size()});
    const json::object& from = whole.as_object();
    UndoNews out;
    if (const json::value* const undone = from.if_contains("undone"); undone != nullptr) {
      out.undone = std::string(undone->as_string());
      return out;
    }
    if (!from.contains("undo")) return std::nullopt;
    UndoChange change;
    change.token = std::string(from.at("undo").as_string());
    change.what = std::string(from.at("what").as_string());
    change.list = std::string(from.at("list").as_string());
    change.shown = std::string(from.at("shown").as_string());
    change.at = own_time(from.at("at"), ahead);
    change.about = kAbout;
    for (const json::value& each : from.at("steps").as_array()) {
      UndoStep step;
      const std::string_view key = each.at("key").as_string();
      step.key.hi = half_of(key.substr(0, 16));
      step.key.lo = half_of(key.substr(std::min<std::size_t>(16, key.size())));
      if (!each.at("before").is_null())
        step.before = read_entry(each.at("before").as_object(), step.key, ahead);
      change.steps.push_back(std::move(step));
    }
    if (change.token.empty()) return std::nullopt;
    out.change = std::move(change);
    return out;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace weir::admin
