#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "limiter/views/view.h"

namespace weir::policies {

/// Events that wait for a view: copies, as many as there is room for. Not thread-safe.
class ViewInbox {
 public:
  /// While the windows of a large view are made, some 100,000 of them may come in a second.
  static constexpr std::size_t kEventsMost = 8'192;
  static constexpr std::size_t kBytesMost = std::size_t{1} << 20;  ///< of their keys' text

  /// False: it is full.
  bool add(const limiter::ViewEvent& event);
  /// Gives every event to the view, in the order in which they came, and is empty then.
  void move_into(limiter::View& view);

 private:
  static constexpr std::size_t kEventsKept = 256;  // room that is kept for the next ones
  struct Waiting {
    limiter::ViewEvent event;  // its `parts` are in text_
    std::size_t parts_at;
    std::size_t parts_size;
  };
  std::vector<Waiting> events_;
  std::string text_;
};

/// A view in use: its counts, which all workers add to, and its last results. Thread-safe. If the
/// view is taken (by a worker for one event, or while a result is made, which reads each group
/// once), a worker leaves the event in an inbox and continues; the next worker that takes the view
/// empties the inbox. A worker waits only if the inbox is full.
class LiveView {
 public:
  /// Results kept for readers: at most this many, and at most a quarter of the view's memory.
  static constexpr std::size_t kResultsMax = 100;
  /// How long after its end a window stays open for events of workers that are a little behind, and
  /// for answers to its requests if it watches answers. Later events count in those of their
  /// windows that are still open.
  static constexpr milliseconds kGrace{1'000};
  static constexpr milliseconds kAnswerGrace{5'000};

  LiveView(std::string name, const limiter::ViewSpec& spec);
  const std::string& name() const noexcept { return name_; }

  void observe(const limiter::ViewEvent& event);
  /// An event had no value for a key part, amount or member.
  void miss() noexcept { missing_.fetch_add(1, std::memory_order_relaxed); }

  /// Hands out what is complete at this watermark, resp. all the rest, in the order of time.
  void advance(TimePoint watermark, const limiter::ViewSink& sink);
  void flush(const limiter::ViewSink& sink);
  /// The same, keeping the results as JSON (limiter/views/view_row.h) for results().
  void advance(TimePoint watermark);

  struct Results {
    std::vector<std::string> complete;  ///< JSON, oldest first
    std::string running;                ///< the next one; empty: nothing has happened in it
  };
  /// The last `most` complete windows.
  Results results(std::size_t most);

  struct Stats {
    limiter::ViewStats counted;
    std::uint64_t missing = 0;
    std::uint64_t limit = 0;  ///< bytes; 0: none
  };
  Stats stats();
  /// Bytes of memory; 0: no limit.
  void limit(std::size_t bytes);

 private:
  void keep(const limiter::ViewWindow& window);
  /// The view, with all that has waited for it.
  std::unique_lock<std::mutex> take();
  void take_in();

  std::string name_;
  std::atomic<std::uint64_t> missing_{0};
  std::mutex inbox_mutex_;  // for a copy or a swap; locked behind mutex_, never before it
  ViewInbox inbox_;
  std::atomic<bool> waits_{false};  // the inbox has something
  std::mutex mutex_;                // guards all below
  ViewInbox taken_;
  std::unique_ptr<limiter::View> view_;
  std::deque<std::string> results_;
  std::size_t result_bytes_ = 0;
  std::size_t limit_ = 0;
};

/// The views of the process, by identity: one that a reload leaves as it is goes on counting; one
/// that no policy set has any more is gone. Thread-safe.
class ViewBank {
 public:
  /// bounded: views keep to their policy set's `limits.views`; false (replay): no limit.
  explicit ViewBank(bool bounded = true) : bounded_(bounded) {}
  bool bounded() const noexcept { return bounded_; }
  std::shared_ptr<LiveView> open(const Hash128& identity, const std::string& name,
                                 const limiter::ViewSpec& spec);

 private:
  bool bounded_;
  std::mutex mutex_;
  std::map<Hash128, std::weak_ptr<LiveView>> views_;
};

}  // namespace weir::policies
