#pragma once

#include "policies/lang/expr/checker.h"

namespace weir::policies::expr {

/// Checks a name, a member or an index: turns `header.x_device_id` and `body.items[0].sku` into the
/// load of a slot, and the rest of the path into index operations.
bool check_access(Checker& checker, AstPtr& node);
/// Turns a node into the load of this slot.
void make_load(Checker& checker, Ast& node, SlotId slot);

}  // namespace weir::policies::expr
