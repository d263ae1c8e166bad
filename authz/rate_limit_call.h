#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "authz/rate_limit_meter.h"
#include "gate/gate.h"
#include "policies/explain/rate_limit.h"

namespace weir::authz {

/// One call of the rate limit service, judged descriptor by descriptor through the worker's gate;
/// all of them together ask the shared store. Knows no wire format: the gRPC
/// door, `/json` and limitador's paths fill it and read it. Reused: keeps its memory, see clear().
///
/// The call holds views of the texts that it is filled with; the texts must live until it is done.
class RateLimitCall {
 public:
  /// The most that the doors take in one call. An empty descriptor takes two bytes of a message and
  /// some hundred bytes here. Envoy sends one descriptor for each of its configured actions.
  static constexpr std::size_t kDescriptorsMax = 1'024;
  static constexpr std::size_t kEntriesMax = 64;  ///< of one descriptor
  static constexpr std::string_view kTooLarge =
      "a call has at most 1024 descriptors, and a descriptor at most 64 entries";

  /// Receives the result of a call that could not be completed in judge().
  class Waiting {
   public:
    virtual void judged(RateLimitCall& call, TimePoint now) = 0;
    /// There was no memory to continue: nothing of it is judged any more.
    virtual void failed(RateLimitCall& call) = 0;

   protected:
    ~Waiting() = default;
  };
  /// Follows a call, for `weir explain`.
  class Watching {
   public:
    /// Told right before each descriptor is judged, in order. `record`: null if nothing judges it.
    virtual void will_judge(std::size_t index, const policies::FoundDescriptor& found,
                            const policies::Record* record) = 0;

   protected:
    ~Watching() = default;
  };
  enum class Mode : std::uint8_t {
    count,
    insist,  ///< counts also a refused call, in all counters
    look,    ///< reports the result, and counts nothing
  };

  /// `meter`: of the worker.
  RateLimitCall(gate::Gate& gate, RateLimitMeter& meter) : gate_(gate), meter_(meter) {}
  RateLimitCall(const RateLimitCall&) = delete;
  RateLimitCall& operator=(const RateLimitCall&) = delete;

  void begin(std::string_view domain) {
    domain_ = domain;
    entries_.clear();
    sizes_.clear();
    descriptors_.clear();
  }
  /// The next descriptor; then its entries, in order.
  Descriptor& add();
  void add_entry(std::string_view key, std::string_view value);

  /// Why it cannot be judged; empty: it can.
  std::string_view wrong() const noexcept;
  /// True: the call is complete. Otherwise a later turn of the worker's loop calls `waiting`.
  bool judge(Mode mode, TimePoint now, Waiting& waiting);
  /// Null: no observer. Must outlive the use.
  void watch(Watching* watching) noexcept { watching_ = watching; }
  /// The caller no longer waits. Events that are counted stay counted.
  void give_up(TimePoint now);
  /// The call has ended: drops its views and its results. Gives memory back if the call was larger
  /// than most calls are.
  void clear() noexcept;

  // Once it is done:
  struct Status {
    policies::DescriptorStatus what;  ///< without its name:
    std::string name;
  };
  std::size_t size() const noexcept { return descriptors_.size(); }
  const Status& status(std::size_t i) const noexcept { return statuses_[i]; }
  const Descriptor& descriptor(std::size_t i) const noexcept { return descriptors_[i]; }
  bool is_over() const noexcept { return over_; }
  /// Counts it as one call of its domain, in limitador's metrics.
  void meter() {
    const std::int64_t hits = descriptors_.empty() ? 0 : descriptors_.front().hits;
    meter_.count_call(gate_.set(), domain_, hits, over_);
  }
  /// The one that is nearest to its limit; null: none has any.
  const Status* scarcest() const noexcept;
  /// Lines for the app, and for the client.
  std::string_view request_lines() const noexcept { return request_lines_; }
  std::string_view response_lines() const noexcept {
    return speaker_ != nullptr ? std::string_view(speaker_->lines) : std::string_view();
  }
  std::string_view body() const noexcept {
    return speaker_ != nullptr ? std::string_view(speaker_->body) : std::string_view();
  }
  std::string_view content_type() const noexcept {
    return speaker_ != nullptr ? std::string_view(speaker_->content_type) : std::string_view();
  }
  /// A counter's value in the answer to a call without side effects, with the hits of the call.
  struct CounterReading {
    std::size_t descriptor;
    std::string policy;
    Number value;
  };
  const std::vector<CounterReading>& readings() const noexcept { return readings_; }
  /// The metadata of the rules of descriptors that passed: JSON objects.
  const std::vector<std::string>& metadata() const noexcept { return metadata_; }

 private:
  /// One descriptor; for a look it keeps the counters' readings.
  struct Part final : gate::Waiter, policies::Trace {
    RateLimitCall* call = nullptr;
    std::size_t index = 0;
    bool waits = false;
    std::string lines, body, content_type;  ///< for the client, if this part is speaker()
    void resume(TimePoint now) override { call->resumed(*this, now); }
    void event(const policies::Event&, Happened) override {}
    void list(const policies::List&, std::optional<TimePoint>, std::string_view) override {}
    void skipped(const policies::Policy&, policies::Skip, std::string_view,
                 policies::MissReason) override {}
    void counted(const policies::Policy& policy, const policies::Binding& binding,
                 const policies::Counter& counter,
                 const policies::PlannedCounter& planned) override;
    void rung(const policies::Policy&, std::size_t, const Value&, std::optional<Number>,
              bool) override {}
    void pattern(const policies::Policy&, const policies::PlannedPattern&,
                 const limiter::PatternView&) override {}
  };

  void judge(std::size_t index, TimePoint now);
  void resumed(Part& part, TimePoint now);
  void take(std::size_t index, const gate::Gate::Judged& judged, TimePoint now);
  void finish(const policies::PolicySet& set);
  const Part* speaker() const noexcept;

  gate::Gate& gate_;
  RateLimitMeter& meter_;
  std::string_view domain_;
  std::vector<DescriptorEntry> entries_;
  std::vector<std::size_t> sizes_;
  std::vector<Descriptor> descriptors_;
  std::vector<policies::FoundDescriptor> found_;
  const policies::PolicySet* set_ = nullptr;  // of found_
  std::vector<Status> statuses_;
  std::vector<policies::DescriptorStatus> plain_;
  std::deque<Part> parts_;  // they are linked while they wait, and stay where they are
  std::size_t open_ = 0;
  Mode mode_ = Mode::count;
  Waiting* waiting_ = nullptr;
  Watching* watching_ = nullptr;
  bool over_ = false;       // false in shadow mode
  bool all_quota_ = false;  // ratelimit.quota, of the set that answered
  Action verdict_ = Action::none;
  std::string verdict_line_, request_lines_;
  const Part* speaker_ = nullptr;  // null: no part defines lines for the client
  std::vector<std::string> metadata_;
  std::vector<CounterReading> readings_;
};

}  // namespace weir::authz
