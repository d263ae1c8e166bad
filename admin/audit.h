#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "net/http/server.h"

namespace weir::admin {

/// A change that a person or weir made or tried to make, as an entry of the audit log.
struct AuditEntry {
  std::uint64_t number = 0;  ///< counted from 1 at the start; given by the log
  TimePoint time{};          ///< wall clock; given by the log
  std::string action;        ///< `list.add`, `reload`, `drain.begin` ...
  std::string
      who;  ///< `token admin.token`, `session`, `uid 1000`, `127.0.0.1`, `signal SIGHUP`, `files`
  std::string from;                  ///< `127.0.0.1`, `unix socket, pid 12`, `weir itself`
  std::string target;                ///< the changed thing: names of the configuration
  std::vector<std::string> key;      ///< the key, part by part; empty: the change is of no key
  boost::json::value before, after;  ///< null: not known, or nothing
  std::string reason;                ///< as given; empty: none
  bool done = true;
  std::string problem;  ///< why not
  bool shared = false;  ///< it holds on all replicas, whose logs have it as well
};

boost::json::object audit_view(const AuditEntry& entry);

/// Fills in the caller and its address. `came_by`: Call::came_by().
void set_author(AuditEntry& entry, const net::HttpRequest& request, std::string_view came_by,
                std::string_view person);

struct AuditPage {
  std::vector<AuditEntry> entries;  ///< the oldest first
  std::uint64_t lost = 0;           ///< lines that could not be written, since the start
};

}  // namespace weir::admin
