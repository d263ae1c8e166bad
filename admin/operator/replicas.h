#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>
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
/// By the call's `replicas`; or what is wrong with it.
std::variant<Scope, net::HttpReply> scope_of(const Call& call);
/// Of what is `shared`, while Redis is away: that it holds here alone; else empty.
std::string away_note(const Call& call, bool shared);
/// Where it holds, for people; empty: there is this process alone.
std::string scope_note(const Call& call, const Scope& scope);

/// The same call at the other replicas, without its query: for each its address, whether it did so,
/// and why not. Takes some seconds at most.
boost::asio::awaitable<boost::json::array> on_other_replicas(const Call& call);

}  // namespace weir::admin
