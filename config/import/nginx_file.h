#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/imported.h"
#include "config/import/paths.h"

/// The limits in an nginx file, and the places in which they hold.
namespace weir::config {

struct NginxZone {
  std::string variables;  ///< as in the file
  std::string rate;       ///< `10/s`; empty: limit_conn
  std::size_t line = 0;
};

/// One limit_req or limit_conn in its scope.
struct NginxUse {
  bool connections = false;
  std::string zone;
  std::int64_t number = 0;                 ///< burst, or connections
  std::optional<std::int64_t> delay_from;  ///< how many go undelayed; none: nodelay
  std::size_t line = 0;

  bool operator==(const NginxUse& other) const {
    return connections == other.connections && zone == other.zone && number == other.number &&
           delay_from == other.delay_from;
  }
  std::string to_string() const { return (connections ? "limit_conn " : "limit_req zone=") + zone; }
};

/// A directive that sends requests on to another location.
struct NginxLead {
  std::size_t line = 0;
  std::vector<std::string> words;
};

/// The settings of a block, which inner blocks inherit unless they set their own.
struct NginxScope {
  std::vector<NginxUse> requests, connections;
  std::optional<int> request_status, connection_status;
  std::optional<bool> request_dry, connection_dry;
  std::vector<std::string> trusted;  ///< set_real_ip_from
  std::optional<std::string> real_ip_header;
  std::optional<bool> real_ip_recursive;
  std::size_t real_ip_line = 0;
  std::vector<NginxLead> leads;  ///< not inherited
  std::size_t returns = 0;       ///< line of a `return` for every request; 0: none
  bool own_requests = false, own_connections = false;

  void inherit(const NginxScope& from);
  bool limits_alike(const NginxScope& other) const;
};

struct NginxLocation {
  enum class Kind : std::uint8_t { prefix, exact, pattern, named };
  Kind kind = Kind::prefix;
  bool firm = false;      ///< `^~`
  bool internal = false;  ///< for requests that other locations send on
  bool known = true;      ///< weir can ask the condition
  std::string text;       ///< as nginx reads it
  PathCondition condition;
  std::size_t line = 0;
  NginxScope scope;
  std::vector<NginxLocation> inner;
};

struct NginxName {
  enum class Kind : std::uint8_t { exact, ending, beginning, pattern };
  Kind kind = Kind::exact;
  std::string text;  ///< `.example.com` of `*.example.com`, `mail.` of `mail.*`
  std::string condition;
};

struct NginxServer {
  std::vector<NginxName> names;
  std::optional<std::string> first_name;  ///< `$server_name`
  std::vector<std::string> listens, default_of;
  std::size_t line = 0;
  NginxScope scope;
  std::vector<NginxLocation> locations;
};

struct NginxFile {
  NginxScope http;
  std::vector<NginxServer> servers;
  std::map<std::string, NginxZone> request_zones, connection_zones;
  std::map<std::string, std::size_t> mapped;  ///< variables of map and geo
  std::vector<ImportNote> left_out;
};

/// Settings are inherited already.
NginxFile read_nginx(std::string_view text, const PatternCheck& check);

/// For which hosts nginx takes this server.
struct NginxHosts {
  bool none = false;
  std::string condition;  ///< empty: all; else a part that `&&` may follow
};
NginxHosts nginx_hosts(const std::vector<NginxServer>& servers, const NginxServer& of);

/// The locations of a server in the order of the file, each with the condition under which nginx
/// takes it; and, without a location, the requests that none of them takes.
struct NginxPlace {
  const NginxLocation* location = nullptr;
  std::string condition;  ///< empty: all paths
};
std::vector<NginxPlace> nginx_places(const NginxServer& server);

/// Notes the requests that a location sends on to another one, and all that their import would
/// need.
void note_nginx_leads(const NginxServer& server, std::vector<ImportNote>& left_out);

}  // namespace weir::config
