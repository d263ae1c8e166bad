#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "net/worker_pool.h"
#include "store/redis/near_calls.h"
#include "store/redis/node_list.h"
#include "store/redis/parking.h"
#include "store/redis/sentinels.h"
#include "store/redis/slot_map.h"
#include "store/shared_store.h"

namespace weir::store {

/// Statistics of a worker's store, for metrics. Plain numbers, taken on the worker's thread.
struct RedisStats {
  bool up = false;          ///< some node admits operations (cluster: all that own slots)
  bool refuses = false;     ///< it is there, and answers with errors that do not end by themselves
  std::uint64_t nodes = 0;  ///< known
  std::uint64_t nodes_open = 0;                                ///< whose breaker is open
  std::uint64_t in_flight = 0;                                 ///< operations
  std::uint64_t operations = 0;                                ///< submitted
  std::uint64_t calls = 0;                                     ///< script calls sent
  std::uint64_t bytes_out = 0;                                 ///< of calls
  std::uint64_t resent = 0;                                    ///< operations that were sent again
  std::uint64_t connects = 0;                                  ///< connections made
  std::array<std::uint64_t, limiter::kSharedErrors> errors{};  ///< replies with an error, by kind
  RoundTrips round_trips;  ///< of script calls that were answered
};

/// The shared store on Redis: a single server, one that Sentinels name, or a Cluster. One per
/// worker; lives on its thread. Connects by itself, and starts without a server.
class RedisStore final : public SharedStore,
                         Node::Owner,
                         Sentinels::Owner,
                         NearCalls::Owner,
                         net::TurnHook,
                         net::Timer {
 public:
  /// `seed`: of jitter; any number.
  RedisStore(net::Worker& worker, Settings settings, std::uint64_t seed);
  /// Does not touch batches: their owners may be gone.
  ~RedisStore() override;

  void start();
  void stop();  ///< closes all connections; batches that wait are cancelled silently

  bool submit(Batch& batch, TimePoint deadline) override;
  void cancel(Batch& batch) noexcept override;

  /// Sends the call with this turn. False: no node can take it now, and no answer will come.
  /// Otherwise the answer comes at the latest when the connection has been silent for its timeout.
  bool call(ScriptCall& call);

  /// Takes effect with the next connection (a reload has rotated the password).
  void set_credentials(const Credentials& credentials, const Credentials& sentinels);

  /// Calls `then` once: now, if it is up, else when it is.
  void when_up(std::function<void()> then);
  RedisStats stats() const;
  bool up() const noexcept;                                              ///< as RedisStats::up
  std::uint64_t connects() const noexcept { return nodes_.connects(); }  ///< likewise
  /// Why it is not up, for people; empty if it is.
  std::string why() const;

 private:
  static constexpr int kRedirectsMax = 4;
  static constexpr int kSendsMax = 4;

  void disconnect();
  void tell_up();
  void on_up(Node& node) override;
  void on_down(Node& node, limiter::SharedError why) override;
  void on_error(Node& node, OpRef ref, limiter::SharedError error, std::string_view text) override;
  void on_answer(Node& node, OpRef ref) override;
  void on_slots(Node& node, const Reply& reply) override;
  void on_call_error(Node& node, ScriptCall& call, limiter::SharedError error,
                     std::string_view text) override;
  void on_master(const Endpoint& endpoint) override;
  bool submit(Batch& batch, TimePoint deadline, bool whole);
  void begin(OpRef ref, const limiter::SharedOp& op, bool patient);
  bool submit_cells(Batch& cells, TimePoint deadline) override;
  void on_near(OpRef ref, const limiter::SharedReply& reply) override;
  void end_of_turn(TimePoint now) override;
  void on_timer(TimePoint now) override;

  bool is_cluster() const noexcept { return slots_.has_value(); }
  unsigned slot(const limiter::SharedOp& op) const;
  Node* node_of(unsigned slot) noexcept;
  void redirect(Node& node, OpRef ref, std::string_view text);
  Node* target_of(Node& node, const Redirect& to);
  bool send(OpRef ref, const limiter::SharedOp& op);
  void park(OpRef ref, TimePoint not_before, Node* asking = nullptr);
  bool send_parked(const Parking::Parked& parked, const limiter::SharedOp& op);
  void unpark();
  void finish(OpRef ref, limiter::SharedError error);
  void complain(Node& node, limiter::SharedError error, std::string_view text);
  bool refuses() const noexcept;
  void want_slots();
  void wake(TimePoint at);

  net::Worker& worker_;
  Settings settings_;
  PendingBatches pending_;
  NearCalls near_{*this};
  NodeList nodes_;
  std::optional<SlotMap> slots_;  // of a Cluster
  std::unique_ptr<Sentinels> sentinels_;
  Parking parking_;
  bool running_ = false;
  std::uint64_t operations_ = 0, resent_ = 0;
  std::array<std::uint64_t, limiter::kSharedErrors> errors_{};
  std::function<void()> up_;  // called once it is
  std::string complaint_;     // the last error of a server
  TimePoint complained_at_{}, helped_at_{};
};

}  // namespace weir::store
