#pragma once

namespace weir::app {

/// Gives back to the system what the start alone needed: memory that the heap has free, and pages
/// of the program and its libraries (their code and constants are in files, from which the kernel
/// maps those that are used again). The command line, the parsing of the configuration and the
/// compiling of policies are most of the program, and are not needed again until a reload. In a
/// small cgroup such pages are the last ones to go, because they are mapped.
///
/// Does nothing while a debugger is attached: its breakpoints are in those pages. On any thread.
void give_back_memory_of_start();

}  // namespace weir::app
