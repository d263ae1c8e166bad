#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "config/import/nginx_client.h"
#include "config/import/nginx_file.h"
#include "config/import/nginx_key.h"
#include "config/import/yaml_writer.h"
#include "config/text/units.h"

/// limit_req and limit_conn of nginx as policies. A zone with its parameters is one policy, whose
/// condition defines in which locations it holds.
namespace weir::config {
namespace {

constexpr std::size_t kWhenMax = 3'900;  // bytes; an expression has at most 4,096

std::string both(const std::string& a, const std::string& b) {
  return a.empty() ? b : b.empty() ? a : a + " && " + b;
}

struct Limit {
  NginxUse use;
  int status = 503;
  bool dry = false;
  std::string server;              ///< that has it, if the key says so
  std::vector<std::string> where;  ///< empty text: everywhere
  std::size_t whole_servers = 0;   ///< in which it holds everywhere
};

class NginxWriter {
 public:
  explicit NginxWriter(NginxFile file) : file_(std::move(file)) {}

  Imported write() {
    if (file_.servers.empty()) {
      hold(file_.http, "", {""}, true, "");
    } else {
      for (const NginxServer& server : file_.servers) take(server);
    }
    std::string policies = written_policies();
    tell_of_idle_zones();
    std::string sections = nginx_client(file_);
    auto& left_out = file_.left_out;
    std::stable_sort(left_out.begin(), left_out.end(),
                     [](const ImportNote& a, const ImportNote& b) { return a.line < b.line; });
    Imported out;
    if (limits_.empty() && left_out.empty() && file_.request_zones.empty()) {
      out.error = "there is no limit_req and no limit_conn in it";
      return out;
    }
    sections += uri_field(policies);
    sections += policies.empty() ? "policies: []\n" : "policies:\n" + policies;
    out.none = policies.empty();
    out.yaml = written_file("nginx's limits", left_out, sections);
    out.left_out = std::move(left_out);
    return out;
  }

 private:
  void note(std::size_t line, std::string what, std::string why) {
    ImportNote note{line, std::move(what), std::move(why)};
    const auto same = [&](const ImportNote& other) {
      return other.line == note.line && other.what == note.what && other.why == note.why;
    };
    if (std::none_of(file_.left_out.begin(), file_.left_out.end(), same))
      file_.left_out.push_back(std::move(note));
  }

  void take(const NginxServer& server) {
    if (server.scope.returns != 0) return tell_of_returns(server);
    note_nginx_leads(server, file_.left_out);
    const NginxHosts hosts = nginx_hosts(file_.servers, server);
    if (hosts.none) return tell_of_no_host(server);
    const std::vector<NginxPlace> places = nginx_places(server);
    const std::string name = server.first_name.value_or("");
    std::map<std::size_t, std::vector<std::string>> paths;  // by limit
    for (const NginxPlace& place : places) {
      const NginxLocation* const location = place.location;
      if (location != nullptr && (location->internal || location->scope.returns != 0)) continue;
      const NginxScope& scope = location != nullptr ? location->scope : server.scope;
      for (const NginxUse& use : scope.requests)
        paths[index_of(use, scope, name)].push_back(place.condition);
      for (const NginxUse& use : scope.connections)
        paths[index_of(use, scope, name)].push_back(place.condition);
    }
    for (const auto& [limit, conditions] : paths) {
      hold(limits_[limit], hosts.condition, conditions, conditions.size() == places.size());
    }
    if (!paths.empty()) tell_of_addresses(server);
  }

  void hold(const NginxScope& scope, const std::string& host,
            const std::vector<std::string>& conditions, bool whole, const std::string& server) {
    for (const NginxUse& use : scope.requests)
      hold(limits_[index_of(use, scope, server)], host, conditions, whole);
    for (const NginxUse& use : scope.connections)
      hold(limits_[index_of(use, scope, server)], host, conditions, whole);
  }

  void hold(Limit& limit, const std::string& host, const std::vector<std::string>& conditions,
            bool whole) const {
    if (whole && ++limit.whole_servers >= file_.servers.size()) limit.where = {""};
    if (whole) return add(limit.where, host);
    for (const std::string& path : conditions) add(limit.where, both(host, path));
  }

  static void add(std::vector<std::string>& where, const std::string& condition) {
    if (std::find(where.begin(), where.end(), condition) == where.end()) where.push_back(condition);
  }

  std::size_t index_of(const NginxUse& use, const NginxScope& scope, const std::string& server) {
    const auto status = use.connections ? scope.connection_status : scope.request_status;
    const bool dry = (use.connections ? scope.connection_dry : scope.request_dry).value_or(false);
    const NginxZone* const zone = zone_of(use);
    const std::string of = zone != nullptr && is_by_server(*zone) ? server : std::string();
    for (std::size_t i = 0; i < limits_.size(); ++i) {
      const Limit& limit = limits_[i];
      if (limit.use == use && limit.status == status.value_or(503) && limit.dry == dry &&
          limit.server == of)
        return i;
    }
    limits_.push_back({use, status.value_or(503), dry, of, {}, 0});
    return limits_.size() - 1;
  }

  const NginxZone* zone_of(const NginxUse& use) const {
    const auto& zones = use.connections ? file_.connection_zones : file_.request_zones;
    const auto found = zones.find(use.zone);
    return found == zones.end() ? nullptr : &found->second;
  }

  template <class Tell>
  static void for_own(const NginxScope& scope, const Tell& tell) {
    if (scope.own_requests) std::for_each(scope.requests.begin(), scope.requests.end(), tell);
    if (scope.own_connections)
      std::for_each(scope.connections.begin(), scope.connections.end(), tell);
  }

  /// Each limit_req and limit_conn of a server, with the reason why it is not imported.
  void tell_of_all(const NginxServer& server, const std::string& why) {
    const auto tell = [&](const NginxUse& use) { note(use.line, use.to_string(), why); };
    for_own(server.scope, tell);
    std::vector<const NginxLocation*> rest;
    for (const NginxLocation& location : server.locations) rest.push_back(&location);
    while (!rest.empty()) {
      const NginxLocation& location = *rest.back();
      rest.pop_back();
      for_own(location.scope, tell);
      for (const NginxLocation& inner : location.inner) rest.push_back(&inner);
    }
  }

  void tell_of_returns(const NginxServer& server) {
    tell_of_all(server, "nginx answers before it counts (line " +
                            std::to_string(server.scope.returns) + "): no request is limited");
  }

  void tell_of_no_host(const NginxServer& server) {
    tell_of_all(server, "weir finds no Host that leads to its server");
  }

  /// Two servers that differ by address or port alone are one for weir.
  void tell_of_addresses(const NginxServer& server) {
    const auto sorted = [](std::vector<std::string> listens) {
      std::sort(listens.begin(), listens.end());
      return listens;
    };
    const NginxHosts hosts = nginx_hosts(file_.servers, server);
    for (const NginxServer& other : file_.servers) {
      if (&other == &server || other.scope.returns != 0 ||
          sorted(other.listens) == sorted(server.listens))
        continue;
      const bool meet =
          hosts.condition.empty() ||
          std::any_of(other.names.begin(), other.names.end(), [&](const NginxName& name) {
            return std::any_of(server.names.begin(), server.names.end(), [&](const NginxName& own) {
              return own.condition == name.condition;
            });
          });
      if (!meet) continue;
      return note(server.line, "server",
                  "weir does not see at which address a request comes: its limits also hold for "
                  "the server in line " +
                      std::to_string(other.line));
    }
  }

  void tell_of_idle_zones() {
    for (const auto& [name, zone] : file_.request_zones) {
      const bool used = std::any_of(limits_.begin(), limits_.end(), [&](const Limit& limit) {
        return !limit.use.connections && limit.use.zone == name;
      });
      const bool told =
          std::any_of(file_.left_out.begin(), file_.left_out.end(), [&](const ImportNote& note) {
            return (note.what + " ").starts_with("limit_req zone=" + name + " ");
          });
      if (!used && !told) note(zone.line, "zone " + name, "nothing uses it");
    }
  }

  std::string written_policies() {
    std::map<std::string, std::size_t> of_zone;
    for (const Limit& limit : limits_) ++of_zone[counters_of(limit)];
    ImportNames names(true);
    std::string out;
    for (Limit& limit : limits_) {
      const NginxZone* const zone = zone_of(limit.use);
      const std::string what = limit.use.to_string();
      if (zone == nullptr) {
        note(limit.use.line, what, "the zone is not in this file");
        continue;
      }
      const NginxKey key = nginx_key(*zone, limit.server, file_);
      if (!key.what.empty()) note(zone->line, key.what, key.why);
      if (!key.known) continue;
      const std::vector<std::string> conditions = chunks(limit, key.when);
      if (of_zone[counters_of(limit)] > 1 || conditions.size() > 1) {
        note(limit.use.line, what,
             conditions.size() > 1
                 ? "its condition is too long for one policy: here each part counts by itself"
                 : "the zone is used with several numbers: weir counts each separately, nginx "
                   "together");
      }
      limit_delay(limit, *zone);
      if (limit.use.connections && meets_delay(limit)) {
        note(limit.use.line, what,
             "weir counts a request from its arrival, also while limit_req delays it; nginx counts "
             "it when its turn comes: add to the limit the number of requests that may wait");
      }
      for (const std::string& when : conditions)
        out += written(policy_of(limit, *zone, key, when, names));
    }
    return out;
  }

  /// Whether a limit_req delays requests that this limit_conn counts.
  bool meets_delay(const Limit& connections) const {
    const auto is_everywhere = [](const Limit& limit) {
      return std::find(limit.where.begin(), limit.where.end(), "") != limit.where.end();
    };
    return std::any_of(limits_.begin(), limits_.end(), [&](const Limit& other) {
      const NginxUse& use = other.use;
      if (other.dry || use.connections || !use.delay_from || use.number <= *use.delay_from)
        return false;
      return is_everywhere(connections) || is_everywhere(other) ||
             std::find_first_of(other.where.begin(), other.where.end(), connections.where.begin(),
                                connections.where.end()) != other.where.end();
    });
  }

  static std::string counters_of(const Limit& limit) {
    return limit.use.to_string() + "\n" + limit.server;
  }

  /// The condition, in parts that weir can read.
  std::vector<std::string> chunks(const Limit& limit, const std::string& of_key) {
    const bool everywhere = std::any_of(limit.where.begin(), limit.where.end(),
                                        [](const std::string& w) { return w.empty(); });
    if (everywhere) return {of_key};
    std::vector<std::string> out;
    std::vector<std::string> part;
    std::size_t size = of_key.size();
    const auto end = [&] {
      std::string text;
      for (const std::string& where : part) {
        text += (text.empty() ? "" : " || ") + (part.size() > 1 ? "(" + where + ")" : where);
      }
      const bool wrap = part.size() > 1 && !of_key.empty();
      if (!part.empty()) out.push_back(both(wrap ? "(" + text + ")" : text, of_key));
      part.clear();
      size = of_key.size();
    };
    for (const std::string& where : limit.where) {
      if (where.size() + of_key.size() > kWhenMax) {
        note(limit.use.line, limit.use.to_string(),
             "its condition for one location is too long for a policy: write it as an event");
        continue;
      }
      if (size + where.size() + 8 > kWhenMax) end();
      size += where.size() + 8;
      part.push_back(where);
    }
    end();
    return out;
  }

  /// Requests that would wait for longer than weir holds one pass at once.
  void limit_delay(Limit& limit, const NginxZone& zone) {
    NginxUse& use = limit.use;
    if (!use.delay_from || use.number <= *use.delay_from) return;
    const std::int64_t at_once = use.number + 1 - held_most(zone.rate);
    if (at_once <= *use.delay_from) return;
    note(use.line, use.to_string(),
         "requests would wait for more than a minute, the longest that weir holds one: the first " +
             std::to_string(std::min(at_once, use.number)) + " of a burst pass at once");
    use.delay_from = at_once;
  }

  /// How many requests in a row wait for less than a minute, at a rate such as `5/m`.
  static std::int64_t held_most(std::string_view rate) {
    const std::size_t slash = rate.find('/');
    const auto number = parse_integer(rate.substr(0, slash));
    if (slash == rate.npos || !number) return 0;
    return *number.value * (rate.substr(slash) == "/s" ? 60 : 1) - 1;
  }

  static ImportedPolicy policy_of(const Limit& limit, const NginxZone& zone, const NginxKey& key,
                                  const std::string& when, ImportNames& names) {
    ImportedPolicy policy;
    policy.name = names.make(limit.use.zone);
    policy.comment = "line " + std::to_string(limit.use.line);
    if (!limit.server.empty()) policy.comment += ", of server " + limit.server;
    policy.watch = "request";
    policy.when = when;
    policy.key = key.fields;
    policy.missing = key.missing;
    policy.shadow = limit.dry;
    const std::string deny = "do: deny, status: " + std::to_string(limit.status);
    if (limit.use.connections) {
      policy.metric = "in_flight";
      policy.rungs.push_back("{over: " + std::to_string(limit.use.number) + ", " + deny + "}");
      return policy;
    }
    // nginx lets one through at once, and `burst` more.
    policy.window =
        "{rate: " + zone.rate + ", burst: " + std::to_string(limit.use.number + 1) + "}";
    if (limit.use.delay_from && limit.use.number > *limit.use.delay_from) {
      policy.rungs.push_back("{over: " + std::to_string(*limit.use.delay_from + 1) +
                             ", do: delay}");
    }
    policy.rungs.push_back("{" + deny + "}");
    return policy;
  }

  NginxFile file_;
  std::vector<Limit> limits_;
};

}  // namespace

Imported import_nginx(std::string_view text, const PatternCheck& check) {
  return NginxWriter(read_nginx(text, check)).write();
}

}  // namespace weir::config
