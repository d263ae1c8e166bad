#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "app/support/log.h"
#include "config/model.h"
#include "core/result.h"
#include "gate/gate.h"
#include "gate/unsettled.h"
#include "net/fd.h"
#include "net/worker_pool.h"
#include "telemetry/metrics.h"

namespace weir::app {

/// The objects of a worker that a door uses. All of them outlive the door.
struct DoorParts {
  net::Worker& worker;
  gate::Gate& gate;
  gate::Unsettled& unsettled;  ///< keeps passed events, if the door does not see the answers
  telemetry::MetricCells& metrics;
};

/// The part of a front door that one worker runs. All calls are on the worker's thread, except
/// construction and destruction.
class WorkerDoor {
 public:
  virtual ~WorkerDoor() = default;

  /// Puts these policies in force. The gate has them already.
  virtual void use(const policies::PolicySet& set) = 0;
  /// Accepts on a socket of net::open_listeners().
  virtual Result<void> listen(net::Fd fd) = 0;

  // The end, in this order:
  /// Still serves, and asks peers to go elsewhere. `draining` false ends that again.
  virtual void begin_drain(bool draining) = 0;
  virtual void stop_accepting() = 0;
  /// Calls `stopped` once no connection is left, at the latest at `deadline`, when the rest is cut.
  virtual void finish_by(TimePoint deadline, std::function<void()> stopped) = 0;
};

/// A front door beside the proxy, with an address of its own: all that its workers' parts have in
/// common. Outlives them. Lives on the control thread.
class FrontDoor {
 public:
  virtual ~FrontDoor() = default;

  /// The part of one worker. Before the workers run.
  virtual std::unique_ptr<WorkerDoor> on_worker(const DoorParts& parts) = 0;
  /// A reload has changed the settings. Most of them need a restart; a door takes over what does
  /// not, such as new certificates, and logs what it cannot use.
  virtual void reload(const config::Server& settings, Log& log) = 0;
};

/// The settings and limits from which a door is made.
struct DoorPlan {
  const config::Server& settings;
  std::uint64_t buffers;      ///< bytes that one worker's connections keep, of all doors together
  std::uint64_t connections;  ///< that the door may have, of all workers together
  telemetry::RuleStats& rules;
};

/// Where a door listens.
struct DoorAddress {
  std::optional<config::Endpoint> at;  ///< none: the door is not wanted
  bool is_asked_for = false;           ///< false: a default, which another process may have taken
};

}  // namespace weir::app
