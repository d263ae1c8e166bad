#include "policies/set/actions.h"

#include <array>

namespace weir::policies {
namespace {

using config::ListKind;
using config::Tell;

constexpr std::array<ActionRow, 6> kActions{{
    {Action::none, "none", 0, false, false, ListKind::gray, 0, Tell::nothing, "",
     "Nothing is seen of it: it only scores, clears, notifies or remembers."},
    {Action::flag, "flag", 1, false, false, ListKind::gray, 0, Tell::nothing, "flag",
     "Passes; the app is told by X-Weir-Verdict, X-Weir-Policy and X-Weir-Score."},
    {Action::graylist, "graylist", 2, false, true, ListKind::gray, 0, Tell::nothing, "gray",
     "The key goes on a list for `for`; its requests get the list's effect (flag unless it says "
     "otherwise)."},
    {Action::delay, "delay", 3, false, true, ListKind::gray, 429, Tell::retry, "delay",
     "Held for `hold`, then passed; the number of held requests is capped."},
    {Action::challenge, "challenge", 4, true, true, ListKind::gray, 403, Tell::nothing, "challenge",
     "Answered with the configured challenge: a status and body, or a redirect."},
    {Action::deny, "deny", 5, true, true, ListKind::deny, 429, Tell::retry, "deny",
     "Refused with 429 (or `status`) and Retry-After; with `for` the key stays refused until "
     "then."},
}};

}  // namespace

std::span<const ActionRow> action_rows() noexcept { return kActions; }

const ActionRow& action_row(Action action) noexcept {
  return kActions[static_cast<std::size_t>(action)];
}

}  // namespace weir::policies
