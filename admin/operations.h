#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "admin/audit.h"
#include "config/override.h"
#include "config/table_edit.h"
#include "core/clock.h"
#include "core/key.h"
#include "core/number.h"
#include "limiter/counters/bank.h"
#include "limiter/kinds/kept_reading.h"
#include "limiter/lists/lists.h"
#include "policies/judgement/plan.h"
#include "policies/judgement/stats.h"
#include "policies/judgement/store_ops.h"
#include "policies/set/policy_set.h"
#include "policies/set/sharing.h"
#include "telemetry/latency.h"
#include "telemetry/metrics.h"

/// The interface through which the admin API reads and changes the running process. `app`
/// implements it; tests have an implementation of their own. Every function is called on the
/// control thread, which runs the io_context of the admin and health servers.
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
  std::vector<ProblemLine> problems;  ///< errors, then warnings: the first kProblemsMax
  std::size_t problem_count = 0;      ///< of all

  static constexpr std::size_t kProblemsMax = 100;
};

/// A verdict, or a key that a rung has put on a list: a row of `weir ctl tail`.
struct VerdictRow {
  bool listed = false;
  bool created = false;  ///< listed: a new entry
  bool shadow = false;
  int status = 0;  ///< 0: passed
  TimePoint time{};
  TimePoint until{};            ///< epoch: not known
  milliseconds window{0};       ///< 0: none
  Number value;                 ///< only with a window
  std::uint32_t in_flight = 0;  ///< it refuses for others under way alone, at least so many
  bool possible = false;        ///< `value` includes the request as if its answer matched
  std::optional<Number> limit;
  std::string effect;  ///< an action's name
  std::string event, client, method, path, policy, list, field, why, request_id;
  std::vector<std::string> key;  ///< listed: its parts; none: of a policy without a key
};

struct VerdictPage {
  std::uint64_t next = 0;    ///< the number to ask for next
  std::uint64_t missed = 0;  ///< that were there and are gone, or found no room
  std::vector<VerdictRow> rows;
};

/// The store of shared counters, as the workers see it.
struct RedisFacts {
  std::size_t workers_up = 0;  ///< for which it is there
  std::string away;            ///< why it is not, for people
};

/// How the lists that replicas share fare.
struct SharedListFacts {
  bool up = false;  ///< Redis answers
  std::string why;  ///< why not
  std::size_t lists = 0;
  std::uint64_t entries = 0;  ///< keys that Redis holds, removed ones included
  std::uint64_t pending = 0;  ///< changes that it does not have yet
  milliseconds lag{0};        ///< the most age of the knowledge about other replicas
  std::uint64_t sent = 0, learned = 0, rounds = 0, failures = 0, dropped = 0, refused = 0;
};

/// A text of the configuration in force, with its secrets masked.
struct ConfigText {
  std::string name;  ///< of the file, or `$NAME` of an environment variable
  std::string text;
};

/// A load of the configuration, as history keeps it.
struct LoadRecord {
  TimePoint at{};
  std::string cause;
  bool ok = false;
  std::string hash;
  std::size_t problem_count = 0;
  std::string first_problem;      ///< of a load that failed
  std::vector<ConfigText> diffs;  ///< of the files that differ from the load before

  static constexpr std::size_t kRecordsMax = 20;
  static constexpr std::size_t kDiffBytes = 16 << 10;  ///< of all diffs of a load
};

/// A file, URL or key of Redis that is read beside the configuration's files.
struct SourceFacts {
  std::string kind;                      ///< `list` or `include`
  std::string name;                      ///< of the list; of an include where it comes from
  std::string from;                      ///< the file, the URL, `redis:KEY`
  std::uint64_t entries = 0, bytes = 0;  ///< in force; of a list
  TimePoint loaded{};                    ///< the configuration in force; epoch: there is none
  std::string problem;                   ///< why there is nothing newer; empty: all is well
  bool newest = false;  ///< it is the newest, and `problem` is that the disk lacks it
  std::uint64_t loads = 0, failures = 0;
};

struct StatusFacts {
  std::string upstream;  ///< why the app's address is unknown; empty: it is known
  std::string version;
  std::string commit;  ///< that it was built from; empty: not known
  TimePoint started{};
  bool loaded = false;      ///< a policy set is in use
  std::string config_hash;  ///< of the policy set in use
  TimePoint config_loaded{};
  LoadReport last_load;
  std::size_t workers = 0;
  bool draining = false;
  std::optional<RedisFacts> redis;   ///< none: nothing is shared
  std::optional<std::string> state;  ///< why state.dir is not written, empty: it is; none: none
  std::optional<SharedListFacts> shared_lists;  ///< none: no list is shared
  std::vector<SourceFacts> sources;             ///< of lists and includes
};

/// A change of a table, as its history keeps it.
struct TableRecord {
  static constexpr const char* kApplied = "applied";  ///< it holds
  static constexpr const char* kPending = "pending";  ///< it waits for another person's approval
  static constexpr const char* kRejected = "rejected";
  static constexpr const char* kUndone = "undone";  ///< it was taken back
  static constexpr const char* kUndo = "undo";      ///< it holds, and has taken another back

  struct Change {
    std::vector<std::string> path;
    std::optional<Number> before, after;  ///< none: there was, or is, no limit
  };
  std::string id, table, state, reason;
  std::string by, decided_by;  ///< the author; the person who approved, rejected or took back
  TimePoint at{}, decided{};   ///< decided: epoch, no decision yet
  /// The decision of another replica that came too late: "rejected by cleo"; empty: none.
  std::string overtaken;
  std::vector<Change> changes;
};

/// A table as it is in force.
struct TableFacts {
  config::TableDef def;
  std::vector<config::TableCell> cells;  ///< the limits that operators have set over the files
  std::vector<std::string> policies;     ///< whose rungs ask it
  std::vector<TableRecord> records;      ///< the oldest first
  bool approval = false;                 ///< a change needs another person's approval
};

/// A change of a table that an operator requests.
struct TableRequest {
  enum class Verb : std::uint8_t { set, approve, reject, undo };
  Verb verb = Verb::set;
  std::string table, id, reason, by;  ///< `id`: of a change; empty: the only one, or the last
  std::vector<config::TableCell> cells;
};
struct TableAnswer {
  int status = 500;   ///< 200: it is done
  std::string why;    ///< for people, also what was done
  std::string id;     ///< of the change
  LoadReport report;  ///< of a change that does not compile, or that brings warnings
};

/// A question about the counters of a policy in the shared store, for one key.
struct StoreQuestion {
  bool reset = false;  ///< empties them; else they are only read
  std::shared_ptr<const policies::PolicySet> set;
  policies::PolicyIndex policy = 0;
  std::vector<std::string> parts;  ///< the key, canonical
};
struct StoreAnswer {
  std::string why;                             ///< there is none, for people; empty: there is one
  std::vector<limiter::KeptReading> readings;  ///< of the policy's counters, in their order
};

/// The operations on the shared store of a judgement that changes nothing.
struct StoreRequest {
  std::shared_ptr<const policies::PolicySet> set;  ///< whose counters it is about
  policies::StoreOps operations;
  bool replied = false;  ///< the replies are there, be they errors; else they are not to be touched
};

/// A replica, as the board in Redis has it.
struct ReplicaFacts {
  std::string name, admin;  ///< `admin`: the address of its admin door
  std::string version, hash, state;
  std::string problem;  ///< why it is not up, or the part that it could not put in force
  TimePoint loaded{}, started{};
  std::size_t overrides = 0;
  milliseconds silent{0};  ///< time since its last message
  bool self = false, up = false, behind = false;
};

/// The state of the replicas that share a Redis with this process.
struct FleetFacts {
  std::string name;                    ///< of this one
  bool up = false;                     ///< the members below are some seconds old at most
  std::string why;                     ///< why it is not
  std::optional<milliseconds> age;     ///< of the members below; none: no answer has come yet
  std::size_t unsent = 0;              ///< changes that Redis does not have yet
  std::uint64_t strangers = 0;         ///< texts of others that had a wrong seal
  std::string newest;                  ///< the configuration that the fleet came to last
  milliseconds ahead{0};               ///< of the clock that they share, to ours
  std::vector<ReplicaFacts> replicas;  ///< by name, with this one
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
  /// The temporary overrides of policies, in the order in which operators set them.
  virtual std::vector<config::Override> overrides() const = 0;
  /// Puts an override in force on every worker, or says in the report why it can't be. It ends by
  /// itself, and holds over reloads; unless it is of this replica alone, on all that share a Redis.
  virtual boost::asio::awaitable<LoadReport> override_policy(config::Override change) = 0;
  /// Ends all overrides of a policy now; `here`: those of this replica alone.
  virtual boost::asio::awaitable<LoadReport> end_overrides(std::string policy, bool here) = 0;
  /// All tables, as they are in force.
  virtual std::vector<TableFacts> tables() const = 0;
  /// Changes a table, or decides about a change. The resulting table is compiled like the files.
  virtual boost::asio::awaitable<TableAnswer> change_table(TableRequest asked) = 0;
  /// The texts of the configuration in force.
  virtual std::vector<ConfigText> configuration() const = 0;
  /// The last loads, the newest first.
  virtual std::vector<LoadRecord> loads() const = 0;
  /// The verdicts from number `after` on, `most` of them; nullopt: those that are yet to come.
  /// Keeps the last ones for some seconds after it was asked.
  virtual VerdictPage verdicts(std::optional<std::uint64_t> after, std::size_t most) = 0;
  /// Counters of all replicas; those that are not shared have no reading. Takes a second at most,
  /// and more only on a machine that is late itself.
  virtual boost::asio::awaitable<StoreAnswer> ask_store(StoreQuestion question) = 0;
  /// The same for a request to the store: why it has no replies, or the error in them.
  virtual boost::asio::awaitable<std::string> run_store_request(
      std::shared_ptr<StoreRequest> /*request*/) {
    co_return "nothing is shared";
  }
  /// The replicas that share a Redis with this one; nullopt: it has none.
  virtual std::optional<FleetFacts> fleet() const { return std::nullopt; }
  /// Begins to drain, or ends the drain; returns whether it is draining now.
  virtual bool drain(bool begin) = 0;
  /// Writes a change to the audit log.
  virtual void audit(AuditEntry) {}
  /// The last ones, `most` of them.
  virtual AuditPage audit_entries(std::size_t /*most*/) const { return {}; }
};

/// The counters, lists and statistics that workers and the admin API share. Each is thread-safe.
struct Stores {
  limiter::Bank& counters;
  limiter::ListBank& lists;
  policies::StatsBank& stats;
  telemetry::Metrics& metrics;
  const HashSecret& secret;
  limiter::PatternBank* patterns = nullptr;
  const telemetry::Latency* latency = nullptr;  ///< null: there are no histograms
  std::string_view upstream = {};               ///< their name for the app
  /// How keys are spelt in the shared store, with an origin of its own; null: nothing is shared.
  const policies::Sharing* sharing = nullptr;
};

/// The workers' loops, as /livez asks them.
class WorkerProbe {
 public:
  virtual ~WorkerProbe() = default;
  virtual std::size_t workers() const = 0;
  /// Has `beat` called on that worker's thread by its event loop, soon. `beat` posts to the control
  /// thread's io_context, which must live as long as any worker runs.
  virtual void ask(std::size_t worker, std::function<void()> beat) = 0;
};

}  // namespace weir::admin
