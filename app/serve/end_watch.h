#pragma once

#include <memory>

#include "app/support/log.h"
#include "core/clock.h"

namespace weir::app {

/// Ends a process whose last steps take too long: threads that are joined may wait for a name
/// server, which nothing can interrupt.
class EndWatch {
 public:
  /// The log outlives it: there it says why the process ends.
  explicit EndWatch(Log& log);
  ~EndWatch();  ///< the end that was begun is complete
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  /// Unless it is destroyed or the next step begins within `limit`, the process ends with this exit
  /// code, without destructors: unwritten data of `step` is lost. `step`: for people; lives as long
  /// as the process. Without memory for a thread, nothing is watched.
  void begin(const char* step, milliseconds limit, int code) noexcept;

 private:
  struct Watched;
  std::shared_ptr<Watched> watched_;
};

}  // namespace weir::app
