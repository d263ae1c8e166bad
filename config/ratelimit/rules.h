#pragma once

#include <string>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "config/text/tree.h"

/// Files of envoyproxy/ratelimit, read as they are.
namespace weir::config {

/// One descriptor of such a file with everything above it: what a call must ask about, and what
/// holds then. Descriptors that limit nothing are here too, for they come before less exact ones.
struct RateLimitRule {
  DescriptorDef call;          ///< ordered; with call.rule
  std::vector<Text> replaces;  ///< names of rules
  bool shadow = false;
  Where where;
};

/// Reads one file (of which `tree` was made); appends its rules in the order of the file. What is
/// wrong is told, and left out.
void read_rate_limit_rules(const Tree& tree, std::uint32_t file, Problems& problems,
                           std::vector<RateLimitRule>& out);

/// Whether one domain stands in two files, or a descriptor twice. `merge_domains`: files may add to
/// each other's domains.
void check_rate_limit_rules(const std::vector<RateLimitRule>& rules, bool merge_domains,
                            Problems& problems);

/// What the rules are in weir's words: an event for each, and a policy for those that limit.
/// Fixed windows (`every`), counted whatever becomes of the call, each hit of it.
void add_rate_limit_rules(const std::vector<RateLimitRule>& rules, Model& model);

/// The events of descriptors that bring a limit of their own along, and their policies: one for
/// each unit. Only where some event is a call at all.
void add_limit_overrides(Model& model);

/// Bare on, off, yes and no are texts in such files, and numbers may have leading zeros.
TreeLimits rate_limit_file_limits();

}  // namespace weir::config
