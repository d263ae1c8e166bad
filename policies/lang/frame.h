#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/descriptor.h"
#include "core/event.h"
#include "core/value.h"
#include "policies/lang/extractors.h"
#include "policies/lang/extractors/arena.h"
#include "policies/lang/record.h"
#include "policies/lang/slots.h"

namespace weir::policies {

class BodyReader;
class Expression;

/// Answers inList(), for the driver that runs a PolicySet.
class ListOracle {
 public:
  virtual ~ListOracle() = default;
  /// Whether list `index` (as the ExprScope gave it) has a live entry for these field values, none
  /// of which is null or an error. No allocation.
  virtual bool contains(std::size_t list_index, std::span<const Value> key) const noexcept = 0;
};

/// Values of request slots kept until the answer comes: deep copies in memory of its own, which is
/// reused by the next capture. Movable; views into it survive a move.
class Captured {
 public:
  Captured() = default;
  Captured(Captured&&) noexcept = default;
  Captured& operator=(Captured&&) noexcept = default;
  void clear() noexcept { entries_.clear(); }
  bool empty() const noexcept { return entries_.empty(); }
  std::size_t bytes() const noexcept;  ///< of memory held
  /// A value known otherwise, also of the answer: a view that must outlive the use.
  void add(const Preset& value) {
    entries_.push_back(
        {value.value, value.slot, value.value.is_null() ? MissReason::absent : MissReason::none});
  }

 private:
  friend class Frame;
  struct Entry {
    Value value;
    SlotId slot;
    MissReason why;
  };
  std::vector<Entry> entries_;
  std::vector<char> buffer_;
};

/// The values of one request (or one answer), computed when first asked for and remembered. One per
/// worker, reused: no allocation after warm-up. Not thread-safe. All views that it hands out live
/// until the next begin or resume, and no longer than the Request or Answer itself.
class Frame {
 public:
  Frame();
  ~Frame();
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  /// Forgets everything, in O(1), and looks at this request. The arguments must outlive the use;
  /// `lists` may be null (every inList() is then false).
  void begin(const SlotTable& slots, const Request& request, const ListOracle* lists);
  /// The same for a record: a value that is not preset is missing (absent). A preset text for a
  /// slot of type address becomes the address that it spells, or is missing (failed).
  void begin(const SlotTable& slots, const Record& record, const ListOracle* lists);
  /// Forgets everything and looks at the answer to a request of which only `captured` is left.
  /// Request slots outside the capture are missing (unread). `event_time` is the request's.
  void resume(const SlotTable& slots, const Captured& captured, const Answer& answer,
              TimePoint event_time, const ListOracle* lists);
  /// Goes on with the request as begun, and with `answer`: slots in `of_answers` are forgotten; of
  /// those in `not_kept` lists and JSON become missing (unread), as if captured and resumed.
  void look_at(const Answer& answer, std::span<const SlotId> of_answers,
               std::span<const SlotId> not_kept);
  /// Sets the value of `event` from now on (a view that outlives the use).
  void set_event(std::string_view name) noexcept { event_ = name; }
  /// Sets the values of `value` and `limit` from now on.
  void set_rung(Value value, Value limit) noexcept { value_ = value, limit_ = limit; }
  /// Sets the value of the k-th of a policy's `metrics` from now on; k is below kMetricsMax.
  static constexpr std::size_t kMetricsMax = 16;
  void set_metric(std::size_t k, Value value) noexcept { metrics_[k] = value; }

  Value load(SlotId id) {
    if (id < cells_.size()) {
      const Cell& cell = cells_.data()[id];
      if (cell.epoch == epoch_) return cell.value;
    }
    return compute(id);
  }
  /// After load(id) gave null or an error: why. none if it has a value.
  MissReason why(SlotId id);
  /// Explains why this expression just gave null or an error: of all values that it missed, the
  /// reason that weighs most (an unreadable body weighs more than an absent header).
  MissReason why(const Expression& expression, const Value& result);
  /// Copies the values of these slots; JSON objects, arrays and lists become missing (unread).
  void capture(std::span<const SlotId> slots, Captured& into);

  // For extractors and functions.
  const Request* request() const noexcept { return request_; }  ///< null on the answer side
  const Answer* answer() const noexcept { return answer_; }     ///< null on the request side
  const SlotTable& slots() const noexcept { return *slots_; }
  /// The descriptor of a rate limit call; null for everything else.
  const Descriptor* descriptor() const noexcept { return descriptor_; }
  TimePoint time() const noexcept { return time_; }
  const ListOracle* lists() const noexcept { return lists_; }
  Arena& arena() noexcept { return arena_; }
  BodyReader& request_body() noexcept { return *request_body_; }
  BodyReader& answer_body() noexcept { return *answer_body_; }
  /// Why the answer's body cannot be read, if something has asked for it; else none.
  MissReason unread_answer() const noexcept;

 private:
  struct Cell {
    Value value;
    std::uint32_t epoch = 0;
    MissReason why = MissReason::none;
  };
  void restart(const SlotTable& slots, const ListOracle* lists);
  Value compute(SlotId id);
  void read_address(Cell& cell);
  MissReason why_missing(const expr::Program& program, const Value& result);

  std::vector<Cell> cells_;
  std::uint32_t epoch_ = 0;
  const SlotTable* slots_ = nullptr;
  const Request* request_ = nullptr;
  const Answer* answer_ = nullptr;
  const Descriptor* descriptor_ = nullptr;
  const ListOracle* lists_ = nullptr;
  TimePoint time_;
  std::string_view event_;
  Value value_, limit_;
  std::array<Value, kMetricsMax> metrics_;
  Arena arena_;
  std::unique_ptr<BodyReader> request_body_, answer_body_;
};

}  // namespace weir::policies
