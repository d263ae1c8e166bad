#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/model.h"
#include "limiter/counters/bank.h"
#include "limiter/lists/lists.h"
#include "limiter/patterns/pattern_bank.h"
#include "policies/judge/driver.h"
#include "policies/judge/immediate_outbox.h"
#include "policies/set/sharing.h"
#include "policies/set/view_bank.h"
#include "replay/formats.h"

namespace weir::replay {

/// A policy set with counters, lists and statistics of its own, which starts empty and sees events
/// in the order of replay. The secret is always the same one: equal input gives equal bytes. Not
/// thread-safe.
class Engine {
 public:
  /// The order of the rows: sorted by time, or as in their files.
  enum class Order : std::uint8_t { time, arrival };
  /// Takes a set that is not attached yet. Null: `problem` says why (memory).
  static std::unique_ptr<Engine> make(const config::Model& model,
                                      std::shared_ptr<policies::PolicySet> set, Order order,
                                      std::string& problem);
  /// `sink` receives the matches of patterns; null: they are not reported.
  void report_patterns_to(policies::PatternSink* sink) { driver_.use_patterns(&patterns_, sink); }

  /// Counters with `share: redis` are asked of a store, which fills the replies at once; without it
  /// they are counted here. `sharing` must outlive the engine.
  using Ask = policies::ImmediateOutbox::Ask;
  void use_store(const policies::Sharing& sharing, Ask ask);

  /// The event that `--event NAME` names: a base event or one that `is` another. Nothing: there is
  /// none.
  struct Kind {
    policies::EventIndex event = 0;
    bool request = false;  ///< rows are HTTP requests
  };
  std::optional<Kind> find_event(std::string_view name) const;

  /// Judges an event and, if it passed, lets its logged answer follow at the same instant. `now`
  /// never goes back from one call to the next. `line`: its number in its file.
  const policies::Verdict& judge(const Row& row, std::uint64_t line, Kind kind, TimePoint now,
                                 policies::RowSink* rows);

  /// A window of a view; alive for the call.
  using OnWindow = std::function<void(std::size_t view, const limiter::ViewWindow& window)>;
  /// Lets the timers of patterns fire that are due at `timers`, and hands out the windows that are
  /// complete at the watermark; each of the two in the order of time, then of the file.
  void advance(TimePoint watermark, TimePoint timers, const OnWindow& use);
  /// No more rows come, `last` was the latest. With `flush` the timers beyond the watermark fire as
  /// well, and all other windows are handed out, as not complete.
  void end(TimePoint last, bool flush, const OnWindow& use);

  const policies::PolicySet& set() const noexcept { return *set_; }
  const config::Model& model() const noexcept { return model_; }
  /// How often the policy did not judge an event because a key part or amount was missing.
  std::uint64_t missing(std::string_view policy) const {
    return stats_.totals("policy", policy).missing;
  }
  /// How often the policy did not judge an event because it came later than its `late` allows.
  std::uint64_t late(std::string_view policy) const { return stats_.totals("policy", policy).late; }
  /// How often the policy did not judge an event because its amount was negative or not finite.
  std::uint64_t amounts_refused(std::string_view policy) const {
    return stats_.totals("policy", policy).amounts_refused;
  }
  /// How often the view did not count an event because a part or amount was missing.
  std::uint64_t view_missing(std::size_t view) const {
    return set_->views[view].live->stats().missing;
  }
  /// How often the view did not count an event because all windows of its time were complete.
  std::uint64_t view_late(std::size_t view) const {
    return set_->views[view].live->stats().counted.late;
  }
  /// Keys that lost their count because there was no memory, what views dropped, and matches that
  /// had begun and had to go.
  std::uint64_t dropped() const;
  limiter::BankStats counters() const noexcept { return bank_.stats(); }
  /// Within judge(): the results that the sinks get depend on the logged answer.
  bool answering() const noexcept { return answering_; }
  const HashSecret& secret() const noexcept { return secret_; }
  /// The room that counts and lists use, their limits, and how much found no room.
  struct Room {
    std::uint64_t keys = 0, keys_most = 0, memory = 0, memory_most = 0;
    std::uint64_t patterns = 0, patterns_most = 0;  ///< bytes
    std::uint64_t lost = 0;
    std::vector<std::uint64_t> lists;  ///< entries held, by list
  };
  Room room() const;

 private:
  /// A window kept until those of all views can be put in order.
  struct Result {
    std::size_t view = 0;
    limiter::ViewWindow window;
    std::vector<limiter::ViewRow> rows;
    std::string parts;  // of all rows
    std::vector<std::size_t> sizes;
  };
  void collect(std::size_t view, const limiter::ViewWindow& window);
  void hand_out(const OnWindow& use);

  Engine(const config::Model& model, std::shared_ptr<policies::PolicySet> set, Order order);

  const config::Model& model_;
  std::shared_ptr<policies::PolicySet> set_;
  limiter::Bank bank_;
  limiter::ListBank lists_;
  limiter::PatternBank patterns_;
  bool forgets_;
  policies::ViewBank views_{false};
  HashSecret secret_;
  policies::StatsBank stats_;
  policies::Driver driver_;
  policies::Judgement judgement_;
  policies::Sharing sharing_;
  std::optional<policies::ImmediateOutbox> outbox_;  // none: nothing is shared
  bool answering_ = false;
  std::vector<Result> results_;
};

}  // namespace weir::replay
