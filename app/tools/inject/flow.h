#pragma once

#include <yaml-cpp/yaml.h>

#include <string>

/// YAML nodes as text, to be put between other people's lines.
namespace weir::app {

/// On one line, as JSON: which YAML reads too.
std::string to_flow(const YAML::Node& node);

/// On one line, as people write it: `{a: b, c: [d]}`.
std::string to_short(const YAML::Node& node);

/// Writes block form, except for parts that were in flow form; each line after the first begins
/// with `indent` blanks. No line end after the last.
std::string to_block(const YAML::Node& node, std::size_t indent);

}  // namespace weir::app
