#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/views/view.h"

namespace weir::limiter {

/// The state of a view's exchange with the other replicas.
struct ViewSharing {
  bool up = false;     ///< the latest call was answered, and all counts of others are in the view
  std::string why;     ///< for people, if not up
  TimePoint synced{};  ///< by Clock::now: the view has all that others sent before
  std::uint64_t replicas = 0;            ///< that called recently, this one included
  std::uint64_t silent = 0;              ///< that called until a minute ago: dead, or cut off
  std::uint64_t pending = 0;             ///< bytes that are in flight, or wait for Redis
  std::uint64_t sent = 0, received = 0;  ///< bytes of counts, so far
  std::uint64_t lost = 0;  ///< counts that others will not get, because there was no room
};

/// A view in use whose counts replicas exchange. Thread-safe.
class SharedView {
 public:
  using PaneFilter = std::function<bool(std::int64_t start)>;

  virtual ~SharedView() = default;
  virtual const ViewSpec& spec() const noexcept = 0;
  /// Takes out the counts of this replica since the last call, as chunks of about `most` bytes.
  virtual void take_delta(std::size_t most, std::vector<std::string>& out) = 0;
  /// Counts of others; only of panes that the filter wants. False: these bytes are no chunk of it.
  virtual bool absorb(std::string_view chunk, const PaneFilter& wanted) = 0;
  /// Drops all counts except those that take_delta() has not taken yet. The caller adds the rest
  /// again.
  virtual void begin_again() = 0;
  /// All that open windows have, pane by pane, as chunks: of a pane the keys with the greatest
  /// values that fit into `pane_most` bytes of memory. And apart from that what take_delta() would
  /// take, which is in it too.
  using Panes = std::map<std::int64_t, std::vector<std::string>>;
  virtual void take_all(std::size_t most, std::size_t pane_most, Panes& panes,
                        std::vector<std::string>& delta) = 0;
  virtual void heard(const ViewSharing& sharing) = 0;
};

}  // namespace weir::limiter
