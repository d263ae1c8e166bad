#pragma once

#include "config/checks/policy_checks.h"

/// Reads the keys of patterns in a policy: sequence, pair, within, strict, among, overlap.
namespace weir::config {

void read_sequence(Reader& reader, const Member& m, PatternDraft& draft);
void read_pair(Reader& reader, const Member& m, PatternDraft& draft);
void read_within(Reader& reader, const Member& m, PatternDraft& draft);

/// Checks which keys go together; also finds keys of patterns in a policy without a pattern.
void check_pattern(Reader& reader, const PolicyDraft& draft);

}  // namespace weir::config
