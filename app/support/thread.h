#pragma once

#include <functional>
#include <thread>

namespace weir::app {

/// A thread of this name (at most 15 characters), which gets no signals: those are the control
/// thread's.
std::thread start_thread(const char* name, std::function<void()> run);

}  // namespace weir::app
