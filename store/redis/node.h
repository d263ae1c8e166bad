#pragma once

#include <array>
#include <string>
#include <vector>

#include "store/redis/connection.h"
#include "store/redis/pending_batches.h"
#include "store/redis/plain_calls.h"
#include "store/redis/ring.h"
#include "store/redis/round_trips.h"
#include "store/redis/script_call.h"
#include "store/redis/scripts.h"
#include "store/redis/store_clock.h"

namespace weir::store {

/// One server, as one worker sees it: its pipeline, its breaker, and the operations of a turn of
/// the loop. Operations of one script are gathered until the turn ends (or kCallMax is reached);
/// then they share a call, and all calls share one write.
///
/// The node is up when the server has the scripts (the budget of a request is too short for
/// NOSCRIPT and then the text) and has answered a probe in time: a call of one of the scripts
/// without operations. So a server that greets well and answers nothing is never up. If SCRIPT is
/// forbidden, the node is up without it. With functions, they are one library that is loaded in the
/// same way.
class Node final : Connection::Owner, net::Timer {
 public:
  /// The most operations of one call; an operation that is not plain counts as two. Redis does
  /// nothing else while a script runs: some 0.2 ms for this many.
  static constexpr std::size_t kCallMax = 64;
  static constexpr std::size_t kInFlightMax = 16'384;  ///< operations; then Error full

  /// Interprets answers: the store.
  class Owner {
   public:
    virtual void on_up(Node& node) = 0;
    virtual void on_down(Node& node, limiter::SharedError why) = 0;
    /// One operation failed; another attempt may help, or not.
    virtual void on_error(Node& node, OpRef ref, limiter::SharedError error,
                          std::string_view text) = 0;
    virtual void on_answer(Node& node, OpRef ref) = 0;  ///< its reply is filled
    virtual void on_slots(Node& node, const Reply& reply) = 0;
    virtual void on_call_error(Node& node, ScriptCall& call, limiter::SharedError error,
                               std::string_view text) = 0;

   protected:
    ~Owner() = default;
  };

  Node(net::Worker& worker, const Settings& settings, Connection::Greeting greeting,
       PendingBatches& pending, Owner& owner, std::uint64_t seed);
  ~Node() { net::Wheel::disarm(*this); }

  Connection& connection() noexcept { return connection_; }
  Breaker::State breaker() const noexcept { return breaker_.state(); }
  /// Whether operations that this server refuses for now are worth another attempt.
  Repeats& repeats() noexcept { return repeats_; }
  bool admits() const noexcept { return connection_.ready() && breaker_.admits(); }
  /// Connected, but the last answers came too late, so only probes are sent.
  bool is_late() const noexcept {
    return connection_.ready() && preparing_ == 0 && breaker_.state() == Breaker::State::open;
  }
  bool has_room() const noexcept { return in_flight() < kInFlightMax; }
  std::size_t in_flight() const noexcept { return flying_.size() + gathered_; }

  /// Operations of different slots never share a call; `slot` is 0 outside of a cluster. asking:
  /// the slot is being moved here. The node must be ready, and the operation still waited for.
  void add(OpRef ref, const limiter::SharedOp& op, unsigned slot, bool asking, TimePoint wall);
  /// The call goes out with this turn. The node must be ready. False: there is no memory for it,
  /// and the call gets neither answer nor failure.
  [[nodiscard]] bool add_call(ScriptCall& call, bool asking);
  void ask_slots();
  void end_turn();  ///< everything gathered goes out

  /// For people: which server refuses, and its error text.
  std::string refusal(std::string_view text) const;

  std::uint64_t calls() const noexcept { return calls_made_; }
  std::uint64_t bytes_out() const noexcept { return bytes_out_; }
  const RoundTrips& round_trips() const noexcept { return round_trips_; }

 private:
  struct Group {
    bool empty() const noexcept { return ops.empty() && plain.refs().empty(); }
    std::size_t size() const noexcept { return ops.size() + plain.refs().size(); }
    void clear();

    PlainCalls plain;             // sent first
    std::string keys, arguments;  // of the others
    unsigned key_count = 0;
    unsigned slot = 0;
    bool asking = false;
    std::vector<OpRef> ops;
  };
  struct Call {
    enum class What : std::uint8_t { script, asking, bring, probe, slots, call, exist, load };
    What what = What::script;
    ScriptIndex script = 0;
    std::uint16_t ops = 0;
    std::chrono::nanoseconds sent{0};  ///< ticks()
  };

  void push(const Call& call);
  void on_ready() override;
  void ask_what_it_has();
  void learn_what_it_has(const Reply& reply);
  void prepare(Call::What what);  ///< a command that must be answered before it is up
  unsigned begin_call(const Script& script, bool bring, bool asking, unsigned keys,
                      std::size_t words);
  void probe();
  bool probed(const Reply& reply);  ///< false: not an answer to a probe
  void on_reply(const Reply& reply) override;
  void on_down(limiter::SharedError why) override;
  void on_timer(TimePoint now) override;
  template <class Step>
  bool guarded(Step step);
  void gather(OpRef ref, const limiter::SharedOp& op, unsigned slot, bool asking, TimePoint wall);
  void send_call(ScriptCall& call, bool asking);
  void send_gathered();
  void list_unsent();
  void send_group(ScriptIndex index);
  void answer(const Call& call, const Reply& reply, std::chrono::nanoseconds heard);
  void answer_single(const Reply& reply);
  void answer_one(OpRef ref, const Reply& reply, std::size_t& at, TimePoint store_time,
                  bool& sound);

  net::Worker& worker_;
  PendingBatches& pending_;
  Owner& owner_;
  Breaker breaker_;
  Repeats repeats_;
  StoreClock clock_;
  Connection connection_;
  const bool wants_functions_;
  bool functions_ = false;  ///< and this server has them
  std::array<Group, kScripts> groups_;
  std::array<bool, kScripts>
      unknown_{};           ///< NOSCRIPT was the answer: the next call brings the text
  unsigned preparing_ = 0;  ///< commands before it is up, not yet answered
  std::size_t gathered_ = 0;
  Ring<Call> calls_;
  std::size_t fresh_ = 0;  // calls of this turn, at the end of calls_
  Ring<OpRef> flying_;
  Ring<ScriptCall*> single_;  // calls of What::call
  std::vector<OpRef> lost_;
  std::uint64_t calls_made_ = 0, bytes_out_ = 0;
  RoundTrips round_trips_;
};

}  // namespace weir::store
