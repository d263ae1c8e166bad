#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <string>
#include <variant>

#include "admin/call.h"

/// A change that is wanted on all replicas.
namespace weir::admin {

/// Where a change is to hold.
struct Scope {
  bool here = false;   ///< on this replica alone: `replicas=here`
  bool board = false;  ///< on all that share a Redis, through it
  bool peers = false;  ///< and at the addresses of `admin.replicas`: `replicas=all`
};
/// By the call's `replicas`; or the refusal.
std::variant<Scope, net::HttpReply> scope_of(const Call& call);
/// The `note` of a change of list entries: that it holds here alone, where replicas share the list
/// (`call.entry.shared`) and Redis is away; else empty. After a dry run (no `call.entry.action`) it
/// is empty.
void put_away_note(const Call& call, boost::json::object& reply);
/// Where it holds, for people; empty: there is this process alone.
std::string scope_note(const Call& call, const Scope& scope);

/// The same call at the other replicas, without its query: for each its address, whether it did so,
/// and why not. Takes some seconds at most.
boost::asio::awaitable<boost::json::array> on_other_replicas(const Call& call);

}  // namespace weir::admin
