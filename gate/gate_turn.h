#pragma once

#include "gate/judge.h"
#include "net/reactor.h"
#include "net/wheel.h"
#include "net/worker_pool.h"

namespace weir::gate {

/// Ticks the Judge of a worker at the end of each turn of the loop, and at least every 20 ms while
/// requests wait: the one place that resumes them, for all doors of the worker.
///
/// The hooks of a worker run in the order in which they were registered, so this is how to build a
/// worker:
///
///   1. GateTurn: requests whose wait is over are judged, and their sessions note that they resume.
///   2. The doors (proxy::Server, authz::DoorServer, net::grpc::Server), in any order: resumed
///      sessions continue, answers are put out, closed sessions are reused.
///   3. store::RedisStore, registered by start(): all their operations leave in
///      one write.
///
/// Construct it before the worker runs or on its thread; destroy it after the worker has stopped,
/// and after the doors.
class GateTurn final : net::TurnHook {
 public:
  GateTurn(net::Worker& worker, Judge& judge);
  ~GateTurn();
  GateTurn(const GateTurn&) = delete;
  GateTurn& operator=(const GateTurn&) = delete;

 private:
  void end_of_turn(TimePoint now) override;

  /// Rings while requests wait, so that turns come.
  struct Waker final : net::Timer {
    void on_timer(TimePoint) override {}
  };

  net::Worker& worker_;
  Judge& judge_;
  Waker waker_;
};

}  // namespace weir::gate
