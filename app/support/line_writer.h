#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/clock.h"

namespace weir::app {

/// Writes lines to a descriptor from a thread of its own. A stalled reader (a full pipe, a stopped
/// terminal) delays only that thread: lines wait in a queue of fixed size, and lines that find no
/// room there are lost and counted.
///
/// Thread-safe. The descriptor is not owned, keeps its flags, and must stay open.
class LineWriter {
 public:
  static constexpr std::size_t kBytes = std::size_t{512} << 10;
  /// How long the destructor waits for a reader.
  static constexpr milliseconds kLastWords{1'000};
  /// A line, with its newline, that says how many lines were lost at its place. Called on the
  /// writer's thread, also after the LineWriter has gone: it owns what it uses.
  using Notice = std::function<std::string(std::uint64_t lost)>;

  /// `bytes`: the most that may wait, >= 4.
  LineWriter(int descriptor, Notice notice, std::size_t bytes = kBytes);
  ~LineWriter();  ///< flush(kLastWords); the rest is dropped
  LineWriter(const LineWriter&) = delete;
  LineWriter& operator=(const LineWriter&) = delete;

  /// Queues a line, which ends with a newline; never waits for the reader. The last quarter of the
  /// queue is for `important` ones. False: no room, the line is lost.
  bool push(std::string_view line, bool important = false);
  /// Waits until all that was queued before has been written, at most `limit`. False: it has not.
  bool flush(milliseconds limit) const;
  /// Lines that found no room, or could not be written.
  std::uint64_t lost() const noexcept;

 private:
  struct State;
  std::shared_ptr<State> state_;  // the thread's as well: a write that never ends is left behind
};

}  // namespace weir::app
