#pragma once

#include <memory>

namespace weir::app {

/// Whether a silent name server holds up so many loops of the process already that no other should
/// begin to ask names. Any thread.
bool too_many_are_left() noexcept;

/// Ends a loop (an io_context, and what uses it) whose look-up of a name may be under way: its end
/// waits for the look-up, on a thread that nobody joins. Where no thread can be had, the caller
/// waits. The last owner must be `left`. Any thread.
void leave_alone(std::shared_ptr<void> left);

}  // namespace weir::app
