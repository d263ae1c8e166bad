#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/array.hpp>
#include <variant>

#include "admin/call.h"

/// A change that is wanted on all replicas.
namespace weir::admin {

/// Whether the call has `replicas=all`; or what is wrong with it.
std::variant<bool, net::HttpReply> wants_replicas(const Call& call);

/// The same call at the other replicas, without its query: for each its address, whether it did so,
/// and why not. Takes some seconds at most.
boost::asio::awaitable<boost::json::array> on_other_replicas(const Call& call);

}  // namespace weir::admin
