#pragma once

namespace weir::app {

/// How every command ends. Scripts rely on these: a number never changes its meaning.
enum ExitCode : int {
  kOk = 0,
  kNo = 1,           ///< the answer is no: problems in the files, a verdict that refuses, not ready
  kUsage = 2,        ///< unknown command, flag or value
  kWarnings = 3,     ///< only warnings, under --strict
  kUnreachable = 4,  ///< a peer, an address or a file can't be reached
  kRefused = 5,      ///< the peer or the system said no
  kBug = 70,         ///< ours
};

}  // namespace weir::app
