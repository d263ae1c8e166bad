#pragma once

#include <boost/json/object.hpp>
#include <string>
#include <string_view>

#include "admin/call.h"
#include "admin/operator/counts.h"

/// Explains in words what a count means for the next event.
namespace weir::admin {

/// `the count stands at 50 of 50: the next login_failed lists again`. Empty: the rung has no
/// threshold that is a number.
std::string outlook_text(const policies::PolicySet& set, const policies::Policy& policy,
                         std::size_t rung, const limiter::Reading& reading);

/// Whether the rung's threshold holds for this reading, with no further event.
bool holds(const policies::Policy& policy, std::size_t rung, const limiter::Reading& reading);

/// The threshold of a rung if it is a number, the same for all events; else null.
const Number* limit_of(const policies::Policy& policy, std::size_t rung);

/// The rungs of the policy that read its counter number `counter`, with their thresholds.
boost::json::array rungs_of(const Call& call, const policies::Policy& policy, std::size_t counter,
                            const limiter::Reading* reading);

/// Words as a shell takes them: quoted where they need it, with `$'...'` where a terminal would not
/// show them as they are. A word with a zero byte is no word of a shell.
std::string shell_words(const std::vector<std::string>& words);

/// `weir ctl list NAME KEY... --remove`
std::string list_command(std::string_view list, const std::vector<std::string>& key,
                         std::string_view flag);
/// `weir ctl counter POLICY KEY... --reset`
std::string reset_command(std::string_view policy, const std::vector<std::string>& key);

}  // namespace weir::admin
