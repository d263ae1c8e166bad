#pragma once

#include <string>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "config/text/tree.h"

/// Files of envoyproxy/ratelimit, read as they are.
namespace weir::config {

/// One descriptor of such a file with all of its parents: the entries that a call must have, and
/// the limit. Descriptors without a limit are here too, because they win over less exact ones.
struct RateLimitRule {
  DescriptorDef call;          ///< ordered; with call.rule
  std::vector<Text> replaces;  ///< names of rules
  bool shadow = false;
  Where where;
};

/// Reads one file (of which `tree` was made); appends its rules in the order of the file. Reports
/// and omits wrong rules.
void read_rate_limit_rules(const Tree& tree, std::uint32_t file, Problems& problems,
                           std::vector<RateLimitRule>& out);

/// Reports a domain of two files, and a repeated descriptor. `merge_domains`: files may add to
/// each other's domains.
void check_rate_limit_rules(const std::vector<RateLimitRule>& rules, bool merge_domains,
                            Problems& problems);

/// Adds the rules to the model: an event for each, and a policy for each limit. Fixed windows
/// (`every`); every hit of a call counts, whatever the verdict.
void add_rate_limit_rules(const std::vector<RateLimitRule>& rules, Model& model);

/// The events of descriptors that bring a limit of their own along, and their policies: one for
/// each unit. Only where some event is a call at all.
void add_limit_overrides(Model& model);

/// Bare on, off, yes and no are texts in such files, and numbers may have leading zeros.
TreeLimits rate_limit_file_limits();

}  // namespace weir::config
