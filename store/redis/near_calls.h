#pragma once

#include <array>
#include <optional>
#include <string>

#include "core/spares.h"
#include "store/redis/near_reading.h"
#include "store/redis/pending_batches.h"
#include "store/shared_store.h"

namespace weir::store {

/// Operations on counters with a radius. Each becomes one operation for each cell within reach,
/// nine at most. The first is the event's own cell, which is written before the others are read.
/// The readings are added up here, and the ceiling is judged here: an event that breaks it is taken
/// back.
///
/// Not atomic. On one server two events see each other, because both are written before either
/// reads: in a race for the last place both may be refused, but not both admitted. In a Cluster,
/// whose nodes hold the cells, both may be admitted.
///
/// One per store, on its worker's thread.
class NearCalls {
 public:
  class Owner {
   public:
    /// As SharedStore::submit, of operations each on one cell.
    virtual bool submit_cells(Batch& cells, TimePoint deadline) = 0;
    /// The result of the operation.
    virtual void on_near(OpRef ref, const limiter::SharedReply& reply) = 0;

   protected:
    ~Owner() = default;
  };
  static constexpr milliseconds kTakeBackWithin{10'000};

  explicit NearCalls(Owner& owner) noexcept : owner_(owner) {}

  static bool is_near(const limiter::SharedOp& op) noexcept {
    return op.pattern == nullptr && op.parts.front().counter->grid.has_value();
  }
  /// The operation must be one that can be sent. Its answer may come before this returns. Nothing
  /// of it is needed afterwards.
  void start(OpRef ref, const limiter::SharedOp& op, bool patient, TimePoint now,
             TimePoint deadline);

 private:
  struct Call final : Batch {
    explicit Call(NearCalls& n) : near(n) {}
    void on_replies() override { near.gather(*this); }

    NearCalls& near;
    OpRef ref;
    TimePoint began{};
    bool takes_back = false;
    std::optional<limiter::SharedCounter> counter;  // a copy: the caller may end before the call
    limiter::SharedPart part;
    std::optional<limiter::Ceiling> ceiling;
    std::array<std::string, limiter::PlaceGrid::kCells> keys;
    std::array<limiter::SharedOp, limiter::PlaceGrid::kCells> cells;
    std::array<limiter::SharedReply, limiter::PlaceGrid::kCells> answers;
    limiter::SharedReply reply;
  };
  void submit(Call& call, std::size_t cells, TimePoint deadline);
  void gather(Call& call);
  void put_together(Call& call);

  Owner& owner_;
  NearReading reading_;
  Spares<Call> calls_;
};

}  // namespace weir::store
