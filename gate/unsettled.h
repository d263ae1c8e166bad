#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/event.h"
#include "core/key.h"
#include "gate/judge.h"
#include "net/wheel.h"
#include "telemetry/metrics.h"

namespace weir::gate {

/// Requests that a door has let pass and whose answers the door does not see. Each has an id, with
/// which the app may report its answer (`POST /v1/events`). A request without a report in time is
/// released uncounted. At most `most`, a power of two, are kept: the oldest is released first. One
/// per worker, on its thread.
class Unsettled final : net::Timer {
 public:
  static constexpr std::size_t kMost = 16'384;
  static constexpr std::size_t kIdSize = 32;  ///< hex digits
  using Id = std::array<char, kIdSize>;

  Unsettled(Judge& judge, net::Wheel& wheel, std::size_t worker, milliseconds keep,
            telemetry::MetricCells& metrics, std::size_t most = kMost);
  ~Unsettled();  ///< everything must have been released

  /// The id of the next request that is kept. Ids of other processes and workers differ, and nobody
  /// can guess an id.
  Id next_id() const noexcept;
  /// Keeps it under next_id(), which is another one from now on.
  void keep(Ticket& ticket, TimePoint now);

  /// The worker that made this id; nullopt: no id of ours.
  static std::optional<std::size_t> worker_of(std::string_view id) noexcept;
  /// The answer of the app. False: there is no such request (any more).
  bool settle(std::string_view id, const Answer& answer, TimePoint now);
  void release_all(TimePoint now);
  std::size_t size() const noexcept { return open_; }

 private:
  struct Entry {
    Ticket* ticket = nullptr;  // null: settled
    TimePoint end{};
  };
  /// Entries have numbers without a gap; a power of two of them have room.
  Entry& at(std::uint64_t number) noexcept { return ring_[number & (ring_.size() - 1)]; }
  bool knows(std::uint64_t number) const noexcept { return number >= first_ && number < next_; }
  void grow();
  void on_timer(TimePoint now) override;
  void release(Entry& entry, TimePoint now);
  void drop_first(TimePoint now);  // and what is settled behind it
  void note_size();
  std::uint64_t tag(std::uint64_t number) const noexcept;

  Judge& judge_;
  net::Wheel& wheel_;
  std::uint64_t worker_;
  milliseconds keep_;
  std::size_t most_;
  telemetry::MetricCells& metrics_;
  HashSecret secret_;
  std::uint64_t first_ = 0, next_ = 0;  // the oldest, which ends first; the next one
  std::size_t open_ = 0;                // of them, those that are not settled
  std::vector<Entry> ring_;
};

}  // namespace weir::gate
