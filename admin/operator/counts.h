#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/json/value.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "admin/call.h"

/// The counts of a key by policy, for the handlers that show or empty them.
namespace weir::admin {

/// One counter of a policy.
struct Count {
  const policies::Counter* counter = nullptr;
  limiter::KeptReading here;                ///< the count of this replica
  std::optional<limiter::KeptReading> all;  ///< the count of all replicas, if the store was asked

  const limiter::KeptReading& best_known() const noexcept { return all ? *all : here; }
};

/// `number` of the reading (its `value` or `settled`), or what `last` remembers.
boost::json::value value_of(const limiter::KeptReading& reading, Number number);

struct Counts {
  std::vector<Count> rows;  ///< in the order of the policy's counters
  std::string
      why_here;  ///< why the store did not answer, for people; empty: it answered, or was not asked
  bool fits = true;  ///< false: not a key of this policy; then there are no rows
};

/// Whether replicas share a counter of the policy.
bool is_shared(const policies::PolicySet& set, const policies::Policy& policy);

/// Whether the policy is there, but disabled: by the files, or for a while.
bool is_disabled(const policies::PolicySet& set, std::string_view name);
/// Why find_policy() found none, for people.
std::string why_no_policy(const policies::PolicySet& set, std::string_view name);
/// Why there is nothing to read of a policy without counters, for people.
std::string why_no_counters(const policies::PolicySet& set, const policies::Policy& policy);

/// Reads all counters of the policy for a canonical key; never counts. `ask_store`: shared counters
/// are asked of the store, which takes a second at most.
boost::asio::awaitable<Counts> read_counts(const Call& call, const policies::Policy& policy,
                                           std::vector<std::string> parts, bool ask_store);

/// Empties all counters of the policy for a canonical key, shared ones in the store first. Returns
/// why that failed, for people; then nothing was emptied. Empty: it is done.
boost::asio::awaitable<std::string> empty_counts(const Call& call, const policies::Policy& policy,
                                                 std::vector<std::string> parts);

}  // namespace weir::admin
