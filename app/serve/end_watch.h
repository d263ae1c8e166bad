#pragma once

#include <memory>

#include "core/clock.h"

namespace weir::app {

/// Ends a process whose last steps take too long: threads that are joined may wait for a name
/// server, which nothing can interrupt.
class EndWatch {
 public:
  EndWatch();
  ~EndWatch();  ///< what was begun has come to its end
  EndWatch(const EndWatch&) = delete;
  EndWatch& operator=(const EndWatch&) = delete;

  /// Unless it is destroyed within so long, the process ends with this exit code, without
  /// destructors: whoever calls has written all that is to stay. Without memory for a thread
  /// nobody watches.
  void begin(milliseconds limit, int code) noexcept;

 private:
  struct Watched;
  std::shared_ptr<Watched> watched_;
};

}  // namespace weir::app
