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
/// released uncounted. At most `most`, a power of two, wait for a report: the oldest is released
/// first. Allocates nothing after warm-up. One per worker, on its thread.
class Unsettled final : net::Timer {
 public:
  static constexpr std::size_t kMost = 16'384;
  static constexpr std::size_t kIdSize = 32;  ///< hex digits
  using Id = std::array<char, kIdSize>;

  Unsettled(Judge& judge, net::Wheel& wheel, std::size_t worker, milliseconds keep,
            telemetry::MetricCells& metrics, std::size_t most = kMost);
  ~Unsettled();  ///< everything must have been released

  /// The id of the next request that is kept. Ids of other processes and workers differ, and an id
  /// cannot be guessed.
  Id next_id() const noexcept;
  /// Keeps it under next_id(), which is another one from now on.
  void keep(Ticket& ticket, TimePoint now);

  /// The worker that made this id; nullopt: not an id of this process.
  static std::optional<std::size_t> worker_of(std::string_view id) noexcept;
  /// The answer of the app. False: there is no such request (any more).
  bool settle(std::string_view id, const Answer& answer, TimePoint now);
  void release_all(TimePoint now);
  std::size_t size() const noexcept { return open_; }

 private:
  struct Entry {
    std::uint64_t number = 0;
    Ticket* ticket = nullptr;  // null: settled
    TimePoint end{};
  };
  /// Entries lie by their numbers from place first_ to last_ of a ring, whose size is a power of
  /// two. Those that are settled leave gaps, until a full ring is packed.
  Entry& at(std::uint64_t place) noexcept { return ring_[place & (ring_.size() - 1)]; }
  Entry* find(std::uint64_t number) noexcept;
  void make_room();
  void on_timer(TimePoint now) override;
  void release(Entry& entry, TimePoint now);
  void drop_first(TimePoint now);
  void skip_settled() noexcept;
  void note_size();
  std::uint64_t tag(std::uint64_t number) const noexcept;

  Judge& judge_;
  net::Wheel& wheel_;
  std::uint64_t worker_;
  milliseconds keep_;
  std::size_t most_;
  telemetry::MetricCells& metrics_;
  HashSecret secret_;
  std::uint64_t next_ = 0;   // number of the next one
  std::uint64_t first_ = 0;  // place of the oldest, which is open and ends first
  std::uint64_t last_ = 0;   // place after the newest
  std::size_t open_ = 0;     // of them, those that are not settled
  std::vector<Entry> ring_;
};

}  // namespace weir::gate
