#pragma once

#include <boost/asio/awaitable.hpp>
#include <span>
#include <string_view>
#include <vector>

#include "admin/call.h"

namespace weir::admin {

/// A row of the API. The dispatcher, the answer to a wrong method, and the test that compares the
/// API with docs/openapi.yaml all walk the table.
struct Route {
  std::string_view method;
  std::string_view pattern;  ///< `/v1/lists/{list}`: a segment in braces matches any
  bool body;                 ///< takes a JSON body; others take none
  net::HttpReply (*handler)(Call&);
  boost::asio::awaitable<net::HttpReply> (*waiting)(Call&);  ///< instead, where it has to wait
  std::string_view help;
  std::string_view change = {};  ///< its name in the audit log; empty: it changes nothing
  /// AdminServer::lets_in() lets every caller use it. So it needs no `Origin`, takes nothing of the
  /// limit of changes, and is in the audit log only if it has succeeded.
  bool is_public = false;
};

std::span<const Route> routes() noexcept;

/// Which row answers.
struct Match {
  const Route* route = nullptr;
  std::vector<std::string> names;
  std::vector<std::string_view> allowed;  ///< methods of the path, if its method was the wrong one
};
/// A HEAD is answered by the GET row.
Match find_route(std::string_view method, const std::vector<std::string>& segments);

// The handlers, by file.
net::HttpReply get_status(Call& call);    // status_route.cc
net::HttpReply get_policies(Call& call);  // policies_route.cc
net::HttpReply get_policy(Call& call);
net::HttpReply get_lineage(Call& call);                           // lineage_route.cc
boost::asio::awaitable<net::HttpReply> get_counters(Call& call);  // counters_route.cc
boost::asio::awaitable<net::HttpReply> reset_counters(Call& call);
net::HttpReply get_views(Call& call);  // views_route.cc
net::HttpReply get_view(Call& call);
net::HttpReply get_verdicts(Call& call);  // verdicts_route.cc
net::HttpReply get_lists(Call& call);     // lists_route.cc
net::HttpReply get_list(Call& call);
net::HttpReply get_entries(Call& call);
net::HttpReply find_entry(Call& call);  // entries_route.cc
net::HttpReply add_entry(Call& call);
boost::asio::awaitable<net::HttpReply> remove_entry(Call& call);  // operator/release_route.cc
net::HttpReply clear_list(Call& call);
net::HttpReply get_changes(Call& call);
net::HttpReply undo_change(Call& call);
net::HttpReply import_entries(Call& call);                   // operator/import_route.cc
boost::asio::awaitable<net::HttpReply> get_why(Call& call);  // operator/why_route.cc
net::HttpReply get_overrides(Call& call);                    // operator/override_route.cc
boost::asio::awaitable<net::HttpReply> override_policy(Call& call);
boost::asio::awaitable<net::HttpReply> end_override(Call& call);
boost::asio::awaitable<net::HttpReply> get_replicas(Call& call);  // operator/replicas_route.cc
net::HttpReply get_config(Call& call);                            // operator/config_route.cc
net::HttpReply get_tables(Call& call);                            // operator/tables_route.cc
net::HttpReply get_table(Call& call);
boost::asio::awaitable<net::HttpReply> put_table(Call& call);
boost::asio::awaitable<net::HttpReply> approve_table(Call& call);
boost::asio::awaitable<net::HttpReply> undo_table(Call& call);
net::HttpReply get_reloads(Call& call);
net::HttpReply get_metrics(Call& call);
net::HttpReply get_hash(Call& call);                                 // operator/hash_route.cc
boost::asio::awaitable<net::HttpReply> explain_request(Call& call);  // explain_route.cc
boost::asio::awaitable<net::HttpReply> get_readings(Call& call);     // operator/readings_route.cc
net::HttpReply make_link(Call& call);                                // dashboard/session_route.cc
net::HttpReply open_session(Call& call);
net::HttpReply get_session(Call& call);
net::HttpReply end_session(Call& call);
net::HttpReply get_live(Call& call);
boost::asio::awaitable<net::HttpReply> reload_config(Call& call);  // control_route.cc
net::HttpReply begin_drain(Call& call);
net::HttpReply get_audit(Call& call);  // audit.cc

}  // namespace weir::admin
