#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/clock.h"
#include "limiter/patterns/pattern.h"
#include "policies/judgement/pattern_sink.h"
#include "policies/judgement/row_sink.h"
#include "policies/judgement/verdict.h"
#include "policies/set/policy_set.h"
#include "replay/key_maxima.h"
#include "replay/timeline.h"

namespace weir::replay {

/// Keys that the user has confirmed (`--labels`), in the form of reports.
using Labels = std::set<std::string, std::less<>>;

/// A key that some rung held, or remembered without a verdict.
struct HitKey {
  std::string text;   ///< its parts, joined by ", "
  TimePoint first{};  ///< when a rung held for the first time
  /// Reading when a rung held: the highest; where rungs are `under`, the lowest. None was a number.
  std::optional<Number> hardest;
  std::size_t rung = 0;  ///< the severest one; of a pattern the MatchKind
  std::uint64_t verdicts = 0;
};

/// The results of one policy.
struct PolicyTally {
  /// Keys that a rung held are kept with their text; beyond so many the least hit ones go.
  static constexpr std::size_t kHitKeys = 10'000;

  std::uint64_t events = 0;  ///< counted or read, of a rule judged; of a pattern its matches
  std::array<std::uint64_t, limiter::kMatchKinds> matches{};  ///< of a pattern, by MatchKind
  std::vector<std::uint64_t> rungs;                           ///< verdicts, by rung
  KeyMaxima maxima;                                ///< highest reading by key; `under`: the lowest,
                                                   ///< negated; -infinity: it never had a value
  bool has_values = false;                         ///< some reading was a number
  bool under = false;                              ///< its rungs hold below their limits
  std::unordered_map<std::uint64_t, HitKey> hits;  ///< by hash of the key
  std::uint64_t hits_dropped = 0;                  ///< keys that went because there was no room
  std::uint64_t listed = 0;      ///< events whose verdict was that of one of the policy's own lists
  std::uint64_t remembered = 0;  ///< events that it listed or notified of without a verdict
  std::uint64_t unread = 0;  ///< events that the policy refused for a missing or unreadable field
  std::set<std::string_view> confirmed;  ///< labels that a rung held
  /// Verdicts of rungs whose limit is in a table, by rung and limit: no more than the table
  /// has.
  std::map<std::pair<std::size_t, double>, std::uint64_t> cells;

  std::uint64_t verdicts() const noexcept;
  void merge(PolicyTally&& other);
};

/// Counts what a replay finds: memory bounded by the policies. Also a RowSink and a PatternSink.
class Tally final : public policies::RowSink, public policies::PatternSink {
 public:
  explicit Tally(const policies::PolicySet& set);

  void set_time(TimePoint time) noexcept { time_ = time; }  ///< of the event that is judged next
  void expect(const policies::Policy& policy, const Hash128& key) override {
    policies_.data()[policy.index].maxima.prefetch(key);
  }
  void reading(const Row& row) override;
  void ruled(const Row& row) override;
  void verdict(const Row& row, const policies::Rung& rung, std::size_t index,
               std::optional<Number> limit) override;
  void remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                  std::optional<Number> limit) override;
  void pattern(const policies::MatchedPattern& match) override;
  /// The verdict of the whole event.
  void judged(const policies::Verdict& verdict);
  /// The proxy would answer it with 400 for its path: no policy has judged it.
  void refused() noexcept { ++refused_paths_; }
  std::uint64_t refused_paths() const noexcept { return refused_paths_; }
  /// As if all that the other has counted had been counted here; no key was counted by both.
  void merge(Tally&& other);
  /// An event of this time, whose verdict was `from`, had a severer one elsewhere.
  void change(TimePoint time, Action from, Action to);
  /// More keys were held by a rung than are kept: which ones are kept depends on the order.
  bool overflowed() const noexcept;
  const Timeline& timeline() const noexcept { return timeline_; }
  /// Events whose verdict was that of a list, by list.
  const std::vector<std::uint64_t>& of_lists() const noexcept { return listed_; }
  void use_labels(const Labels* labels) noexcept { labels_ = labels; }
  const Labels* labels() const noexcept { return labels_; }

  std::uint64_t events() const noexcept { return events_; }
  std::uint64_t effect(Action action) const noexcept {
    return effects_[static_cast<std::size_t>(action)];
  }
  const std::vector<PolicyTally>& policies() const noexcept { return policies_; }

  /// The hardest-hit keys of a policy: hardest value first, then first time, then text.
  std::vector<const HitKey*> hardest(std::size_t policy, std::size_t most) const;

 private:
  static void make_room(PolicyTally& tally);
  void add_cell(const Row& row, std::size_t rung, std::optional<Number> limit);
  HitKey& hit(const Row& row, std::size_t rung);
  HitKey& hit_of(PolicyTally& tally, std::uint64_t key, std::size_t rung, TimePoint time,
                 const std::function<std::string()>& text);

  const policies::PolicySet& set_;
  TimePoint time_{};
  std::uint64_t events_ = 0;
  std::uint64_t refused_paths_ = 0;
  ByAction<std::uint64_t> effects_{};
  std::vector<PolicyTally> policies_;
  Timeline timeline_;
  std::vector<std::uint64_t> listed_;
  const Labels* labels_ = nullptr;
};

/// The parts of a key as people read them.
std::string key_text(policies::RowSink::Key& key);

}  // namespace weir::replay
