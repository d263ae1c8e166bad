#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>

#include "app/change/fleet.h"
#include "app/support/json_members.h"
#include "core/number.h"
#include "core/words.h"

/// Encodes and decodes messages on the board. The sender may run another version: a message with a
/// missing member or a wrong type is ignored.
namespace weir::app {

namespace json = boost::json;

namespace {

constexpr std::size_t kTextMax = 1'024, kLimitsRead = 64;
// The largest time in a message: sums of two such times do not overflow.
constexpr std::int64_t kNumberMax = kExactInteger;

std::optional<json::object> object_of(std::string_view text) {
  boost::system::error_code broken;
  json::value value = json::parse({text.data(), text.size()}, broken);
  if (broken || !value.is_object()) return std::nullopt;
  return std::move(value.get_object());
}

std::string said_text(const json::object& from, const char* name) {
  return text_in(from, name).substr(0, kTextMax);
}

std::int64_t said_number(const json::object& from, const char* name) {
  const std::int64_t number = count_of(from, name);
  return number < -kNumberMax || number > kNumberMax ? 0 : number;
}

}  // namespace

std::string override_words(const config::Override& change) {
  json::object out;
  out["policy"] = change.policy;
  if (change.mode) out["mode"] = name_of(*change.mode);
  json::array limits;
  for (const config::Override::Limit& limit : change.limits) {
    const json::value number = limit.limit.is_real() ? json::value(limit.limit.as_real())
                                                     : json::value(limit.limit.integer());
    json::object row{{"rung", limit.rung}, {"limit", number}};
    if (!limit.action.empty())
      row["action"] = limit.action, row["former"] = limit.former, row["alone"] = limit.alone;
    limits.push_back(std::move(row));
  }
  out["limits"] = std::move(limits);
  out["since"] = to_ms(change.since);
  out["reason"] = change.reason;
  out["by"] = change.by;
  return json::serialize(out);
}

std::string override_id(const config::Override& change) {
  return change.policy + (change.mode ? ":mode@" : ":limits@") +
         std::to_string(to_ms(change.since));
}

std::optional<config::Override> read_override_words(std::string_view text) {
  const auto from = object_of(text);
  if (!from || from->contains("end")) return std::nullopt;
  config::Override out;
  out.policy = said_text(*from, "policy");
  if (from->contains("mode")) {
    const auto* const mode = find_word(kModes, said_text(*from, "mode"));
    if (mode == nullptr) return std::nullopt;
    out.mode = mode->value;
  }
  const json::value* const limits = from->if_contains("limits");
  if (limits == nullptr || !limits->is_array() || limits->get_array().size() > kLimitsRead)
    return std::nullopt;
  for (const json::value& each : limits->get_array()) {
    if (!each.is_object()) return std::nullopt;
    const json::value* const number = each.get_object().if_contains("limit");
    config::Override::Limit limit;
    limit.rung = said_text(each.get_object(), "rung");
    limit.action = said_text(each.get_object(), "action");
    limit.former = said_text(each.get_object(), "former");
    limit.alone = is_true(each, "alone");
    if (number != nullptr && number->is_int64()) {
      limit.limit = Number(number->get_int64());
    } else if (number != nullptr && number->is_double() && std::isfinite(number->get_double())) {
      limit.limit = Number::real(number->get_double());
    } else {
      return std::nullopt;
    }
    out.limits.push_back(std::move(limit));
  }
  if (out.policy.empty() || (!out.mode && out.limits.empty())) return std::nullopt;
  out.since = from_ms(said_number(*from, "since"));
  out.reason = said_text(*from, "reason");
  out.by = said_text(*from, "by");
  return out;
}

std::string audit_words(const admin::AuditEntry& entry, const std::string& replica) {
  json::object out = admin::audit_view(entry);
  for (const char* ours : {"number", "time"}) out.erase(ours);
  out["replica"] = replica;
  std::string text = json::serialize(out);
  if (text.size() <= store::BoardSync::kNewsBytesMax / 2) return text;
  out["before"] = "too long to be sent to other replicas";
  out["after"] = nullptr;
  text = json::serialize(out);
  return text.size() <= store::BoardSync::kNewsBytesMax / 2 ? text : std::string();
}

std::optional<admin::AuditEntry> read_audit_words(std::string_view text, std::string_view here) {
  auto from = object_of(text);
  if (!from) return std::nullopt;
  const std::string replica = said_text(*from, "replica");
  if (replica.empty() || replica == here) return std::nullopt;
  admin::AuditEntry out;
  out.action = said_text(*from, "action");
  out.who = said_text(*from, "who");
  out.from = said_text(*from, "from") + ", at replica " + replica;
  out.target = said_text(*from, "target");
  out.reason = said_text(*from, "reason");
  out.problem = said_text(*from, "problem");
  out.shared = true;
  if (out.action.empty()) return std::nullopt;
  if (const json::value* const key = from->if_contains("key"); key != nullptr && key->is_array()) {
    for (const json::value& part : key->get_array()) {
      if (part.is_string()) out.key.emplace_back(part.get_string());
    }
  }
  if (json::value* const before = from->if_contains("before"); before != nullptr)
    out.before = std::move(*before);
  if (json::value* const after = from->if_contains("after"); after != nullptr)
    out.after = std::move(*after);
  return out;
}

std::string door_words(std::string_view text, const std::string& replica) {
  return json::serialize(
      json::object{{"replica", replica}, {"door", json::string_view(text.data(), text.size())}});
}

std::optional<std::string> read_door_words(std::string_view text, std::string_view here) {
  const auto from = object_of(text);
  if (!from || !from->contains("door") || !from->at("door").is_string()) return std::nullopt;
  if (said_text(*from, "replica") == here) return std::string();
  return std::string(from->at("door").get_string());
}

bool all_say(const store::BoardSync& sync, TimePoint now, const char* member,
             const std::function<bool(const json::value* said)>& agrees) {
  const auto last = sync.last_answer();
  if (!sync.why().empty() || !last) return false;  // unknown which replicas are up
  return std::all_of(sync.replicas().begin(), sync.replicas().end(),
                     [&](const store::BoardReplica& replica) {
                       if (replica.name == sync.name() ||
                           replica.silent + (now - *last) >= store::BoardSync::kGone)
                         return true;
                       const auto says = object_of(replica.words);
                       return says && agrees(says->if_contains(member));
                     });
}

admin::FleetFacts fleet_facts(const store::BoardSync& sync, TimePoint now) {
  admin::FleetFacts out;
  out.name = sync.name();
  out.why = sync.why();
  out.up = out.why.empty();
  if (const auto last = sync.last_answer()) out.age = std::max(milliseconds{0}, now - *last);
  out.unsent = sync.unsent();
  out.ahead = sync.ahead();
  const auto local = [&](std::int64_t ms) {
    return ms == 0 ? TimePoint{} : from_ms(ms) - sync.ahead();
  };
  for (const store::BoardReplica& replica : sync.replicas()) {
    const auto says = object_of(replica.words);
    if (!says) continue;  // another version's
    admin::ReplicaFacts row;
    row.name = replica.name;
    row.self = replica.name == sync.name();
    row.admin = said_text(*says, "admin");
    row.version = said_text(*says, "version");
    row.hash = said_text(*says, "config");
    row.state = said_text(*says, "state");
    row.loaded = local(said_number(*says, "loaded"));
    row.started = local(said_number(*says, "started"));
    row.overrides =
        static_cast<std::size_t>(std::max<std::int64_t>(0, said_number(*says, "overrides")));
    // The silence of another replica has grown since the last answer of the board; this replica is
    // up.
    row.silent = row.self ? milliseconds{0} : replica.silent + out.age.value_or(milliseconds{0});
    row.up = row.silent < store::BoardSync::kGone;
    if (!row.up) {
      row.problem =
          out.up ? "it has said nothing for " + std::to_string(row.silent.count() / 1000) + " s"
                 : "not known: Redis is away";
    } else if (const std::int64_t unfit = said_number(*says, "unfit"); unfit > 0) {
      row.problem =
          std::to_string(unfit) + " of the fleet's overrides do not fit its configuration";
    }
    out.replicas.push_back(std::move(row));
  }
  // The fleet's version: among those that run somewhere, the one that the fleet came to last. A
  // replica that was started again with files of yesterday is the one that is behind.
  std::int64_t latest = -1;
  for (const auto& [hash, since] : sync.versions()) {
    const bool runs = std::any_of(out.replicas.begin(), out.replicas.end(),
                                  [&](const auto& row) { return row.up && row.hash == hash; });
    if (!runs || since <= latest) continue;
    latest = since;
    out.newest = hash;
  }
  for (admin::ReplicaFacts& row : out.replicas)
    row.behind = !out.newest.empty() && row.hash != out.newest;
  return out;
}

}  // namespace weir::app
