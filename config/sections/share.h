#pragma once

#include "config/checks/policy_checks.h"

/// Counters that all replicas share: `share` and `on_error`.
namespace weir::config {

void read_share(Reader& reader, const Member& m, std::optional<ShareDef>& out);
void read_on_error(Reader& reader, const Member& m, std::optional<OnErrorDef>& out);

/// Checks what can be shared; also finds keys of sharing in a policy that is not shared. Removes
/// `sync`, with a warning, if the counts cannot be exchanged.
void check_share(Reader& reader, PolicyDef& policy);
/// Whether the store is there. For all files together.
void check_shared_store(const Model& model, Problems& problems);

void add_share_tables(std::vector<TableDoc>& out);

}  // namespace weir::config
