#pragma once

namespace weir::proxy {

struct Context;

/// A worker's buffers are short: ends sessions that hold some, until fewer are in use than
/// net::BlockPool::low_water(). The order is: unfinished requests, the oldest first, because weir
/// has neither judged nor forwarded them; answers that weir reads only for a policy; clients that
/// do not read; other sessions. Call it before an event is handled, when no session is in the
/// middle of a step. Closed sessions stay in memory until the end of the turn.
void make_room(Context& context);

}  // namespace weir::proxy
