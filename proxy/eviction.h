#pragma once

namespace weir::proxy {

struct Context;

/// A worker's buffers are short: gives up sessions that hold some, until fewer are in use than
/// net::BlockPool::low_water(). Unfinished requests go first, the oldest before the others: nothing
/// has been judged or passed on for them. Then what nobody waits for, then clients that do not
/// read, then the others. Call it before an event is dealt with, when no session is in the middle
/// of a step. Sessions that are closed stay in memory until the end of the turn.
void make_room(Context& context);

}  // namespace weir::proxy
