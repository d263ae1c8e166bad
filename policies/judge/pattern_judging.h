#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "limiter/patterns/pattern_bank.h"
#include "policies/judge/event_keys.h"
#include "policies/judge/event_matching.h"
#include "policies/judge/ladder.h"
#include "policies/judge/list_checks.h"
#include "policies/judge/memory.h"
#include "policies/judge/planning.h"
#include "policies/judge/row_reporting.h"
#include "policies/judge/store_calls.h"
#include "policies/judgement/pattern_message.h"
#include "policies/judgement/pattern_sink.h"
#include "policies/judgement/unread.h"

namespace weir::limiter {
class Reader;
}

namespace weir::policies {

/// Patterns in a judgement: the role of the request in each pattern, whether it completes a match,
/// and, once it is known to pass, its delivery to the pattern. If the answer decides a part of the
/// event, the whole event waits for the answer: one event has all its parts at once.
///
/// pattern_judging.cc handles the current event, pattern_messages.cc patterns of all replicas, and
/// pattern_firing.cc matches that no request completes: deadlines.
class PatternJudging final {
 public:
  PatternJudging(Judging& work, EventKeys& keys, EventMatching& matching, ListChecks& lists,
                 StoreCalls& store, Planning& planning, Ladder& ladder, Memory& memory,
                 RowReporting& row_reporting) noexcept
      : work_(work),
        keys_(keys),
        matching_(matching),
        lists_(lists),
        store_(store),
        planning_(planning),
        ladder_(ladder),
        memory_(memory),
        row_reporting_(row_reporting) {}

  /// Where the patterns' open matches are; without it they never match. `sink` may be null.
  void use_patterns(limiter::PatternBank* bank, PatternSink* sink = nullptr) {
    pattern_bank_ = bank;
    pattern_sink_ = sink;
  }
  /// Events of shared patterns for the store, in order: Outbox::deliver() takes them. After the
  /// delivery of a message, call delivered() and return the message.
  std::vector<std::unique_ptr<PatternMessage>>& messages() noexcept { return messages_; }
  /// How many matches of shared patterns their own rungs have refused since the last call. The
  /// store does not count them, because it only answered a question; the bank counts those of other
  /// patterns.
  std::uint64_t take_refused_matches() noexcept { return std::exchange(refused_matches_, 0); }
  /// Whether there are messages or refused matches.
  bool has_news() const noexcept { return !messages_.empty() || refused_matches_ != 0; }
  /// The set in use.
  const PolicySet& set() const noexcept { return *work_.set; }
  /// The means of sharing; the set must have shared patterns.
  const Sharing& sharing() const noexcept { return *store_.sharing(); }
  /// The store has the message. here: the event is still the one that was judged or answered last.
  void delivered(const PatternMessage& message, const limiter::PatternReply& reply, Instant now,
                 bool here);
  /// The store is away. True: the local pattern counts the event meanwhile (`on_error: local`).
  bool keep_here(PatternMessage& message, Instant now);
  void give_back(std::unique_ptr<PatternMessage> message);
  /// Asks all shards of a shared pattern for matches that are due at `at`; with a lease, see
  /// PatternAsk.
  void ask_due(const PolicySet& set, std::size_t pattern, TimePoint at, milliseconds lease,
               StoreOps& into) const;
  /// Takes one shard's answer, for a pattern of the set in use; after the last one, call
  /// fire_due(). `lease`: the value that ask_due() got.
  void take_due(std::size_t pattern, const limiter::SharedReply& reply, unsigned shard, Instant now,
                milliseconds lease);
  void fire_due();
  /// At or before the earliest deadline of shared patterns that a reply has named.
  TimePoint& shared_due() noexcept { return shared_due_; }
  /// Fires the deadlines of patterns at or before the watermark: no event as old as that will come
  /// any more. Cheap if there are none. Entries begin at the time of their deadline.
  void advance(TimePoint watermark);
  /// After the last event of all files: see PatternBank::end_of_input.
  void end_of_input(TimePoint last, bool flush);
  void plan_pattern(const Policy& policy, Instant at, Trace* trace);
  void feed_patterns();
  void feed_answered(Instant now, bool told);
  void keep_patterns();
  void ask_about_patterns();
  void take_pattern_replies(const JudgeOptions& options);

 private:
  struct Parts {
    std::uint8_t steps = 0, open_steps = 0;
    std::uint8_t unread_steps = 0;  // of these, those that depend on `unread`
    Unread unread;
    bool among = false, open_among = false;
    bool any() const noexcept { return steps != 0 || open_steps != 0 || among || open_among; }
  };
  bool takes_unread(const Policy& policy, std::uint16_t binding, Parts& parts, Trace* trace);
  Parts parts_of(const Policy& policy, const Pattern& pattern, std::uint16_t binding);
  void feed(const PlannedPattern& planned, std::uint8_t steps, bool among, TimePoint time,
            std::uint64_t line);
  bool own_rung_refuses(const PlannedPattern& planned) const;
  void judge_pattern(const Policy& policy, const Pattern& pattern, const PlannedPattern& planned);
  bool is_shared(const Pattern& pattern) const noexcept;
  void plan_asking(const Pattern& pattern, const Binding& binding, PlannedPattern& planned);
  static bool must_ask(const Pattern& pattern, PlannedPattern& planned, bool traced);
  void report_refused(const PlannedPattern& planned, const Policy& policy);
  PatternMessage& new_message();
  void tell(const PlannedPattern& planned, std::uint8_t steps, bool among, TimePoint time,
            std::uint64_t line, bool remembered);
  void remember_delivered(const PatternMessage& message, Instant now, bool here);
  std::string_view payload_of(const Policy& policy, const PlannedPattern& planned);
  void fire(const limiter::PatternMatches& matches);
  void fire_rungs(const Policy& policy, const limiter::PatternMatch& match);
  static bool read_texts(limiter::Reader& in, std::vector<std::string_view>& texts);
  void list_from_payload(const Policy& policy, std::size_t rung, std::string_view payload,
                         std::uint8_t events, Instant at);
  void for_winning_rungs(const Policy& policy, const Binding& binding, std::uint8_t events,
                         const std::function<void(std::size_t)>& what);
  void report_matches(const Policy& policy, const Binding& binding);
  void report(const Policy& policy, const limiter::PatternMatch& match);

  Judging& work_;
  EventKeys& keys_;
  EventMatching& matching_;
  ListChecks& lists_;
  StoreCalls& store_;
  Planning& planning_;
  Ladder& ladder_;
  Memory& memory_;
  RowReporting& row_reporting_;
  limiter::PatternBank* pattern_bank_ = nullptr;
  PatternSink* pattern_sink_ = nullptr;
  limiter::PatternMatches matches_;
  std::string payload_;
  std::vector<MatchedPattern::Event> matched_events_;
  std::vector<std::unique_ptr<PatternMessage>> messages_, spare_messages_;
  std::uint64_t refused_matches_ = 0;
  TimePoint shared_due_ = limiter::kNever;
  limiter::PatternMatches due_;  // taken, and not fired yet
};

}  // namespace weir::policies
