#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/key.h"
#include "limiter/bank.h"
#include "limiter/lists.h"
#include "policies/plan.h"
#include "policies/policy_set.h"
#include "policies/stats.h"
#include "telemetry/metrics.h"

/// What the operators' doors need of the process. `app` provides it; tests have one of their own.
/// Everything here is called on the control thread, the one that runs the doors' io_context.
namespace weir::admin {

/// A problem of a configuration, ready to be read.
struct ProblemLine {
  bool is_error = true;
  std::string file;
  std::uint32_t line = 0, column = 0;  ///< 1-based; 0: no place
  std::string message, hint;
};

/// The last attempt to load the configuration, the first one included.
struct LoadReport {
  bool ok = false;
  TimePoint at{};
  std::string hash;                   ///< of the texts that were read
  std::vector<ProblemLine> problems;  ///< errors, then warnings: the first kProblemsMost
  std::size_t problem_count = 0;      ///< of all

  static constexpr std::size_t kProblemsMost = 100;
};

struct StatusFacts {
  std::string version;
  TimePoint started{};
  bool loaded = false;      ///< a policy set is in use
  std::string config_hash;  ///< of the policy set in use
  TimePoint config_loaded{};
  LoadReport last_load;
  std::size_t workers = 0;
  bool draining = false;
};

class Operations {
 public:
  virtual ~Operations() = default;
  virtual StatusFacts status() const = 0;
  virtual policies::Instant instant() const = 0;
  /// The set in use; null before the first.
  virtual std::shared_ptr<const policies::PolicySet> policies() const = 0;
  /// Reads the configuration again; with an error in it the running set stays.
  virtual boost::asio::awaitable<LoadReport> reload() = 0;
  /// Begins to drain, or ends that again; says whether it is draining now.
  virtual bool drain(bool begin) = 0;
};

/// What is counted and listed; shared with the workers, each of them thread-safe.
struct Stores {
  limiter::Bank& counters;
  limiter::ListBank& lists;
  policies::StatsBank& stats;
  telemetry::Metrics& metrics;
  const HashSecret& secret;
  limiter::PatternBank* patterns = nullptr;
};

/// The workers' loops, as /livez asks them.
class Pulse {
 public:
  virtual ~Pulse() = default;
  virtual std::size_t workers() const = 0;
  /// Has `beat` called on that worker's thread by its event loop, soon. `beat` posts to the control
  /// thread's io_context, which must live as long as any worker runs.
  virtual void ask(std::size_t worker, std::function<void()> beat) = 0;
};

}  // namespace weir::admin
