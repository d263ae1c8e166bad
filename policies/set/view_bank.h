#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "limiter/views/shared_view.h"
#include "limiter/views/view.h"
#include "limiter/views/view_delta.h"

namespace weir::policies {

/// Events that wait for a view: copies, as many as there is room for. Not thread-safe.
class ViewInbox {
 public:
  /// While the windows of a large view are made, some 100,000 of them may come in a second.
  static constexpr std::size_t kEventsMax = 8'192;
  static constexpr std::size_t kBytesMax = std::size_t{1} << 20;  ///< of their keys' text

  /// False: it is full.
  bool add(const limiter::ViewEvent& event);
  /// Calls `use` with every event, in the order in which they came, and is empty then.
  template <class Use>
  void move_into(Use use) {
    for (Waiting& waiting : events_) {
      waiting.event.parts = std::string_view(text_).substr(waiting.parts_at, waiting.parts_size);
      use(waiting.event);
    }
    clear();
  }

 private:
  static constexpr std::size_t kEventsKept = 256;  // room that is kept for the next ones
  void clear();
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
///
/// A view that replicas share counts their events too: the sharer (store/views) brings them. It
/// keeps the local counts until the sharer takes them.
class LiveView final : public limiter::SharedView {
 public:
  /// Results kept for readers: at most this many, and at most a quarter of the view's memory.
  static constexpr std::size_t kResultsMax = 100;
  /// How long after its end a window stays open for events of workers that are a little behind, and
  /// for answers to its requests if it watches answers. Later events count in those of their
  /// windows that are still open.
  static constexpr milliseconds kGrace{1'000};
  static constexpr milliseconds kAnswerGrace{5'000};
  /// The time that a shared view waits in addition, for the counts that other replicas send once a
  /// second.
  static constexpr milliseconds kSharedGrace{2'500};
  /// The most time that a shared view waits in addition while Redis is away.
  static constexpr milliseconds kHoldMax{60'000};

  /// `sharing`: replicas share it, and hash keys with this.
  LiveView(std::string name, const limiter::ViewSpec& spec,
           const std::optional<HashSecret>& sharing = std::nullopt);
  const std::string& name() const noexcept { return name_; }

  void observe(const limiter::ViewEvent& event);
  /// An event had no value for a key part, amount or member.
  void miss() noexcept { missing_.fetch_add(1, std::memory_order_relaxed); }

  /// Hands out the windows complete at this watermark, or (flush) all, in the order of time.
  void advance(TimePoint watermark, const limiter::ViewSink& sink);
  void flush(const limiter::ViewSink& sink);
  /// The same, keeping the results as JSON (limiter/views/view_row.h) for results().
  void advance(TimePoint watermark);

  bool is_shared() const noexcept { return secret_.has_value(); }
  /// A shared view: how long at `now` its windows have to wait beyond their grace.
  milliseconds behind(TimePoint now) const noexcept;
  limiter::ViewSharing sharing() const;  ///< as last reported

  const limiter::ViewSpec& spec() const noexcept override { return spec_; }
  void take_delta(std::size_t most, std::vector<std::string>& out) override;
  bool absorb(std::string_view chunk, const PaneFilter& wanted) override;
  void begin_again() override;
  void take_all(std::size_t most, std::size_t pane_most, Panes& panes,
                std::vector<std::string>& delta) override;
  void heard(const limiter::ViewSharing& sharing) override;

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
  class Absorption;

  void count(const limiter::ViewEvent& event);
  void show(std::string& out, const limiter::ViewWindow& window) const;
  void set_limits() noexcept;
  void keep(const limiter::ViewWindow& window);
  /// The view, with all that has waited for it.
  std::unique_lock<std::mutex> take();
  void take_in();

  const std::string name_;
  const limiter::ViewSpec spec_;
  const std::optional<HashSecret> secret_;  // set: it is shared
  std::atomic<std::uint64_t> missing_{0};
  std::atomic<std::int64_t> synced_ms_{0};  // ViewSharing::synced
  std::mutex inbox_mutex_;  // for a copy or a swap; locked after mutex_, never before it
  ViewInbox inbox_;
  std::atomic<bool> waits_{false};  // the inbox has something
  mutable std::mutex mutex_;        // guards all below
  ViewInbox taken_;
  std::unique_ptr<limiter::View> view_;
  std::deque<std::string> results_;
  std::size_t result_bytes_ = 0;
  std::size_t limit_ = 0;
  TimePoint closed_{};                         // the last watermark
  std::unique_ptr<limiter::ViewDelta> delta_;  // shared: counted here, and not taken yet
  limiter::ViewSharing sharing_;
  std::uint64_t lost_ = 0;  // of the other delta

  std::mutex take_mutex_;  // of taken_delta_; locked before mutex_
  std::unique_ptr<limiter::ViewDelta> taken_delta_;
};

/// The views of the process, by identity: one that a reload leaves unchanged keeps counting; one
/// that no policy set has any more is gone. Thread-safe.
class ViewBank {
 public:
  /// bounded: views keep to their policy set's `limits.views`; false (replay): no limit.
  explicit ViewBank(bool bounded = true) : bounded_(bounded) {}
  bool bounded() const noexcept { return bounded_; }
  /// From now on views of `share: redis` are shared, and hash keys with this; without it, as in a
  /// replay, each counts the events of this process.
  void share(const HashSecret& secret) { secret_ = secret; }
  std::shared_ptr<LiveView> open(const Hash128& identity, const std::string& name,
                                 const limiter::ViewSpec& spec, bool shared);

 private:
  bool bounded_;
  std::optional<HashSecret> secret_;
  std::mutex mutex_;
  std::map<Hash128, std::weak_ptr<LiveView>> views_;
};

}  // namespace weir::policies
