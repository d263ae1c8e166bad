#pragma once

#include <string>

#include "config/model.h"
#include "config/text/tree.h"

namespace weir::config {

/// The meaning of a node, whatever its layout: equal texts mean the same. Flow and block style, the
/// order of a map's keys and comments make no difference; quotes around a scalar do.
std::string spelling(const Node& node);

/// Files that are put together (recipes) name the same subject: a field, event, list, table or
/// notification that a later file defines as an earlier one did is taken out. Different definitions
/// of one name stay, and check_references reports them.
void merge_equal(Model& model);

}  // namespace weir::config
