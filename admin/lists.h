#pragma once

#include <string_view>
#include <vector>

#include "admin/call.h"

namespace weir::admin {

/// The lists that `{list}` names: one list of the set, or all own lists of a policy, none of them
/// shadow. Empty: there is no such list.
std::vector<const policies::List*> lists_named(const policies::PolicySet& set,
                                               std::string_view name);

/// Whether replicas share one of them, so that a change here is a change on all.
bool any_shared(const std::vector<const policies::List*>& lists);
/// The same of the list whose entries are kept under this name.
bool shares_entries(const policies::PolicySet& set, std::string_view kept_as);

/// The answer when lists_named() is empty, in words that fit.
net::HttpReply no_such_list(const policies::PolicySet& set, std::string_view name);

}  // namespace weir::admin
