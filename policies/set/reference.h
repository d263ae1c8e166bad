#pragma once

#include <string>

namespace weir::policies {

/// The reference of actions and expressions as Markdown, written from the tables that the compiler
/// walks: all fields, functions and actions. docs/policy_reference.md is config's
/// reference followed by this; a test holds them together.
std::string language_reference();

}  // namespace weir::policies
