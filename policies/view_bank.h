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
#include "limiter/view.h"

namespace weir::policies {

/// A view in use: its counts, which all workers add to, and its last results. Thread-safe: one
/// mutex, held for one event, or for the making of a result (which reads each group once).
class LiveView {
 public:
  /// Results kept for whoever asks: so many, and no more than a quarter of the view's memory.
  static constexpr std::size_t kResultsMax = 100;
  /// How long after its end a window stays open for events of workers that are a little behind;
  /// and for answers to its requests, if it watches answers. What comes later counts in those of
  /// its windows that are still open.
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
  /// The same, keeping the results as JSON (limiter/view_row.h) for results().
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
  Stats stats() const;
  /// Bytes of memory; 0: no limit.
  void limit(std::size_t bytes);

 private:
  void keep(const limiter::ViewWindow& window);

  std::string name_;
  std::atomic<std::uint64_t> missing_{0};
  mutable std::mutex mutex_;
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
