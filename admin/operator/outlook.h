#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "admin/call.h"
#include "admin/operator/counts.h"
#include "admin/operator/threshold.h"

/// Explains in words what a count means for the next event.
namespace weir::admin {

/// `the count stands at 50 of 50: the next login_failed lists again`; of a table `the sum stands at
/// 4000, listed at 3000; gold_limit has 1500 to 3000 by shop, os: the next reward lists again while
/// it does`. Empty: the rung has no threshold, or one that nothing reaches.
std::string outlook_text(const policies::PolicySet& set, const policies::Policy& policy,
                         std::size_t rung, const Threshold& threshold,
                         const limiter::Reading& reading);

/// The rungs of the policy that read its counter number `counter`, with their thresholds for this
/// key.
boost::json::array rungs_of(const Call& call, const policies::Policy& policy, std::size_t counter,
                            const KeyFacts& key, const limiter::Reading* reading);

/// Words as a shell takes them: quoted where they need it, with `$'...'` where a terminal would not
/// show them as they are. A word with a zero byte is no word of a shell.
std::string shell_words(const std::vector<std::string>& words);

/// `weir ctl list NAME KEY... --remove`
std::string list_command(std::string_view list, const std::vector<std::string>& key,
                         std::string_view flag);
/// `weir ctl counter POLICY KEY... --reset`
std::string reset_command(std::string_view policy, const std::vector<std::string>& key);

}  // namespace weir::admin
