#pragma once

#include <memory>

namespace weir::app {

/// Whether so many loops of the process already wait for a silent name server that no other loop
/// should start a lookup. Any thread.
bool too_many_are_left() noexcept;

/// Destroys `left` (an io_context and its users) on a detached thread, because its destructor
/// waits for a name lookup. If no thread can be started, the caller waits. The caller must not keep
/// another reference. Any thread.
void leave_alone(std::shared_ptr<void> left);

}  // namespace weir::app
