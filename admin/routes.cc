#include "admin/routes.h"

#include <algorithm>
#include <array>

#include "core/chars/parse.h"

namespace weir::admin {
namespace {

constexpr std::array kRoutes{
    Route{"GET", "/v1/status", false, get_status, nullptr,
          "version, configuration, workers, memory, problems of the last reload"},
    Route{"GET", "/v1/policies", false, get_policies, nullptr,
          "all policies with what they have done"},
    Route{"GET", "/v1/policies/{policy}", false, get_policy, nullptr, "one policy"},
    Route{"GET", "/v1/policies/{policy}/readings", false, nullptr, get_readings,
          "what all keys of a policy read now, as a histogram"},
    Route{"GET", "/v1/overrides", false, get_overrides, nullptr,
          "what operators have set on policies for a while"},
    Route{"PUT", "/v1/policies/{policy}/override", true, nullptr, override_policy,
          "sets the mode or thresholds of a policy for a while", "override.set"},
    Route{"DELETE", "/v1/policies/{policy}/override", false, nullptr, end_override,
          "ends all overrides of a policy", "override.end"},
    Route{"GET", "/v1/replicas", false, nullptr, get_replicas,
          "which configuration each replica runs, and who is behind"},
    Route{"GET", "/v1/tables", false, get_tables, nullptr,
          "all tables, and what waits for approval"},
    Route{"GET", "/v1/tables/{table}", false, get_table, nullptr,
          "the limits of a table, and how they came about"},
    Route{"PUT", "/v1/tables/{table}", true, nullptr, put_table,
          "sets limits of a table; they stay", "table.set"},
    Route{"POST", "/v1/tables/{table}/approve", true, nullptr, approve_table,
          "approves or rejects a change that waits for a second person", "table.approve"},
    Route{"POST", "/v1/tables/{table}/undo", true, nullptr, undo_table,
          "takes back a change of a table", "table.undo"},
    Route{"GET", "/v1/config", false, get_config, nullptr,
          "the configuration in force, with secrets masked"},
    Route{"GET", "/v1/reloads", false, get_reloads, nullptr,
          "the last loads of the configuration, with what they changed"},
    Route{"GET", "/v1/metrics", false, get_metrics, nullptr,
          "what the health door says at /metrics"},
    Route{"GET", "/v1/lineage", false, get_lineage, nullptr,
          "what counters, patterns and lists are known by, for `weir check --against`"},
    Route{"GET", "/v1/counters/{policy}", false, nullptr, get_counters,
          "what a policy has counted for a key; never counts"},
    Route{"DELETE", "/v1/counters/{policy}", false, nullptr, reset_counters,
          "empties what a policy has counted for a key", "counter.reset"},
    Route{"GET", "/v1/views", false, get_views, nullptr, "all views and what they hold"},
    Route{"GET", "/v1/views/{view}", false, get_view, nullptr,
          "the last complete windows of a view, and the running one"},
    Route{"GET", "/v1/verdicts", false, get_verdicts, nullptr,
          "verdicts as they come, for `weir ctl tail`"},
    Route{"GET", "/v1/live", false, get_live, nullptr, "what happens, second by second"},
    Route{"GET", "/v1/lists", false, get_lists, nullptr, "all lists and how full they are"},
    Route{"GET", "/v1/lists/{list}", false, get_list, nullptr, "the entries of a list, by pages"},
    Route{"GET", "/v1/lists/{list}/entries", false, find_entry, nullptr, "the entries of a key"},
    Route{"GET", "/v1/entries", false, get_entries, nullptr,
          "the entries of all lists, by pages; with a search"},
    Route{"POST", "/v1/lists/{list}/entries", true, add_entry, nullptr,
          "lists a key, or extends its entry", "list.add"},
    Route{"DELETE", "/v1/lists/{list}/entries", false, nullptr, remove_entry,
          "takes a key off a list; with `forgive` it empties its count as well", "list.remove"},
    Route{"DELETE", "/v1/lists/{list}", false, clear_list, nullptr,
          "takes all keys off a list, or those that were listed since a time", "list.clear"},
    Route{"POST", "/v1/lists/{list}/import", true, import_entries, nullptr,
          "lists many keys at once, all or none", "list.import"},
    Route{"GET", "/v1/changes", false, get_changes, nullptr, "changes of lists that can be undone"},
    Route{"POST", "/v1/changes/{undo}/undo", false, undo_change, nullptr,
          "takes back a change of lists", "list.undo"},
    Route{"GET", "/v1/why", false, nullptr, get_why,
          "every list, counter and policy that concerns a key, and how to lift it"},
    Route{"GET", "/v1/hash", false, get_hash, nullptr, "what the log prints for a key"},
    Route{"POST", "/v1/explain", true, nullptr, explain_request,
          "how a request would be judged now; changes nothing"},
    Route{"GET", "/v1/session", false, get_session, nullptr, "how the caller logged in"},
    Route{"POST", "/v1/session", true, open_session, nullptr,
          "exchanges the code of a one-time link for a cookie", "session.open", true},
    Route{"DELETE", "/v1/session", false, end_session, nullptr, "ends the session of the cookie",
          "session.end"},
    Route{"POST", "/v1/session/link", false, make_link, nullptr,
          "makes a one-time link to the dashboard", "session.link"},
    Route{"POST", "/v1/reload", false, nullptr, reload_config, "reads the configuration again",
          "reload"},
    Route{"POST", "/v1/drain", true, begin_drain, nullptr, "begins to drain, or ends that",
          "drain"},
    Route{"GET", "/v1/audit", false, get_audit, nullptr, "the last changes: who, what, why"},
};

// Whether the segments have the form of a pattern; the segments at its braces go into `names`.
bool matches(std::string_view pattern, const std::vector<std::string>& segments,
             std::vector<std::string>& names) {
  names.clear();
  for (const std::string& segment : segments) {
    if (pattern.empty()) return false;
    pattern.remove_prefix(1);  // '/'
    const std::string_view expected = pattern.substr(0, pattern.find('/'));
    pattern.remove_prefix(expected.size());
    if (expected.starts_with('{')) {
      names.push_back(segment);
    } else if (segment != expected) {
      return false;
    }
  }
  return pattern.empty();
}

}  // namespace

std::span<const Route> routes() noexcept { return kRoutes; }

Match find_route(std::string_view method, const std::vector<std::string>& segments) {
  Match match;
  std::vector<std::string> names;
  for (const Route& route : routes()) {
    if (!matches(route.pattern, segments, names)) continue;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      match.route = &route;
      match.names = std::move(names);
      match.allowed.clear();
      return match;
    }
    match.allowed.push_back(route.method);
    if (route.method == "GET") match.allowed.emplace_back("HEAD");
  }
  return match;
}

std::optional<net::HttpReply> Call::refuse_unknown(
    std::initializer_list<std::string_view> known) const {
  const auto unknown = query.unknown(known);
  if (!unknown) return std::nullopt;
  std::string words;
  for (const std::string_view word : known) words.append(words.empty() ? "" : ", ").append(word);
  return problem(400, "unknown parameter \"" + utf8_text(unknown->substr(0, 64)) + "\"" +
                          (words.empty() ? "; there are none here" : "; known are " + words));
}

bool Call::read_count(std::string_view name, std::size_t least, std::size_t most,
                      std::size_t& out) const {
  if (!query.has(name)) return true;
  const auto text = query.one(name);
  const auto number = text ? parse_whole<std::size_t>(*text) : std::nullopt;
  if (!number || *number < least || *number > most) return false;
  out = *number;
  return true;
}

}  // namespace weir::admin
