#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/calendar.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "limiter/kinds/counter_spec.h"

/// Views: a metric per group over windows, and the groups in order of it. Numbers, no verdict.
///
/// Windows are half-open, [start, end), named by both; windows of `hop` and of a fixed length begin
/// at multiples of the hop since the epoch. A window accepts events until the watermark reaches end
/// - 1; then it is complete and handed out, once, in the order of time. A window without events has
/// no result. The first and last windows, which the events cover only in part, have one. A window
/// without an end is never complete while events may come: its result is named by the first event
/// and the millisecond after the last one.
namespace weir::limiter {

struct ViewPane;
struct ViewPart;
class ViewDelta;

/// The definition of a view: its metric, its windows and the bounds of its memory.
struct ViewSpec {
  using Method = weir::Method;
  Metric metric = Metric::count;  ///< count, sum, average, minimum, maximum or distinct
  Method method = Method::exact;  ///< distinct only
  milliseconds length{0};         ///< kWindowMin .. kWindowMax; ignored with a zone
  milliseconds hop{0};            ///< 1 ms .. length; = length: fixed windows, one after the other
  std::shared_ptr<const TimeZone> zone;  ///< set: natural hours, days, weeks or months
  bool endless = false;                  ///< one window for all time; no length, hop or zone
  CalendarUnit unit = CalendarUnit::day;
  bool grouped = true;             ///< false: one group, whose key has no part
  std::size_t top = 0;             ///< rows of a window at most; 0: all
  std::optional<std::size_t> per;  ///< a part of the key: `top` rows for each value of it
  std::size_t expect = 1'000'000;  ///< bloom: distinct (key, member) pairs of a window
  double error = 0.01;             ///< bloom, hll: relative error of a number, 0.002 .. 0.5

  /// How many windows an event is in at most.
  std::int64_t overlap() const noexcept {
    return zone || endless ? 1 : (length + hop - milliseconds{1}) / hop;
  }
};

/// An event as a view sees it.
struct ViewEvent {
  TimePoint at;
  Hash128 key;             ///< keyed hash of `parts`
  std::string_view parts;  ///< the key: each part as KeyBuilder::add_text writes it
  Number amount{1};        ///< sum, average, minimum, maximum: finite, below 1e290 in size
  Hash128 member;          ///< distinct: keyed hash of the member
};

/// One row of a result: the key of a group and its number.
struct ViewRow {
  std::string_view parts;
  Number value;
};

/// A result. Its rows belong to the view and live until the view's next call.
struct ViewWindow {
  TimePoint start, end;
  bool complete = false;
  Number total;  ///< the metric of all events of the window together, whatever `top` leaves out
  /// Value descending, then key ascending: part by part, decimal integers as numbers and before
  /// all else, text by code point.
  std::span<const ViewRow> rows;
};
using ViewSink = std::function<void(const ViewWindow&)>;

/// Numbers of a view for metrics: `bytes` and `keys` are of this moment, the others count from the
/// start.
struct ViewStats {
  std::uint64_t bytes = 0;    ///< of memory, about
  std::uint64_t keys = 0;     ///< groups held
  std::uint64_t events = 0;   ///< counted so far
  std::uint64_t late = 0;     ///< not counted: every window of theirs was complete
  std::uint64_t dropped = 0;  ///< not counted for their key: no room for it
};

/// The state of one view. Not thread-safe. Allocates for new keys only, and reuses memory. The work
/// for an event does not depend on the number of windows that contain it (bloom, hll: it does). A
/// hop looks at each group of the window once, and at the events of the panes that come and go.
class View {
 public:
  /// known: counted, and of no effect on any number but that of events: the member is known.
  enum class Seen : std::uint8_t { counted, known, late, dropped };

  virtual ~View() = default;
  virtual Seen observe(const ViewEvent& event) = 0;
  /// Adds counts that were made elsewhere (another replica, an earlier process), pane by pane:
  /// first the pane as a whole, then each of its keys, or of its members. `at` of a key is the
  /// start of its pane. late: the windows of the pane are complete; the caller may leave out its
  /// keys.
  virtual Seen absorb(const ViewPane& pane) = 0;
  virtual Seen absorb(const ViewEvent& key, const ViewPart& part) = 0;
  /// Hands out the windows with end - 1 <= watermark, ascending. A watermark never falls: an
  /// earlier one than before does nothing.
  virtual void advance(TimePoint watermark, const ViewSink& sink) = 0;
  /// The events have ended: hands out all other windows with an event, ascending, as not complete;
  /// as complete if they have no end. The view is empty then.
  virtual void flush(const ViewSink& sink) = 0;
  /// Shows the next window to be completed, if it has an event so far; changes nothing.
  virtual void running(const ViewSink& sink) = 0;
  /// Adds the counts of the open windows to `out`, as if no other replica had them. Sketches of
  /// windows that overlap add nothing: they do not know which event came when.
  virtual void tell_all(ViewDelta& out) const = 0;
  virtual ViewStats stats() const noexcept = 0;
  /// `bytes` of memory at most, about; 0: no limit. Existing data stays.
  virtual void limit(std::size_t bytes) noexcept = 0;
};

std::unique_ptr<View> make_view(const ViewSpec& spec);

/// Calls `each` with every part of an encoded key, in order.
template <class Each>
void for_each_part(std::string_view parts, Each each) {
  while (parts.size() >= sizeof(std::uint32_t)) {
    std::uint32_t size;
    std::memcpy(&size, parts.data(), sizeof size);
    parts.remove_prefix(sizeof size);
    each(parts.substr(0, size));
    parts.remove_prefix(size < parts.size() ? size : parts.size());
  }
}

}  // namespace weir::limiter
