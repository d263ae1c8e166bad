#include "app/support/memory_plan.h"

#include <algorithm>
#include <bit>
#include <cstdio>

#include "app/support/shared_store.h"
#include "core/text.h"
#include "gate/unsettled.h"
#include "limiter/counters/footprint.h"
#include "policies/set/describe.h"
#include "store/redis/connection.h"
#include "telemetry/request_sink.h"

namespace weir::app {
namespace {

// Without `threads` and a quota of CPU time, and the most with one.
constexpr unsigned kUsualThreads = 2, kManyThreads = 64;

// The program itself and its lists: beside the counters and the connections' buffers.
constexpr std::uint64_t kProgram = std::uint64_t{24} << 20;

/// Bytes of a key's name in the store: 22 letters, unless keys are readable.
constexpr std::size_t kNameBytes = 32;

/// Bytes of a request that waits for its answer, with its plan and its charges: measured
/// with two policies that count answers.
constexpr std::uint64_t kUnsettledBytes = 3 << 10;

std::string users_of(const policies::PolicySet& set, std::size_t index) {
  std::string out;
  for (const policies::Policy& policy : set.policies) {
    if (std::find(policy.counters.begin(), policy.counters.end(), index) == policy.counters.end())
      continue;
    out += (out.empty() ? "" : ", ") + policy.name;
  }
  return out;
}

std::string cell(const std::string& text, std::size_t width, bool right = false) {
  const std::string blanks(text.size() < width ? width - text.size() : 0, ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

unsigned threads_of(const config::Server& server, const Machine& machine) noexcept {
  return worker_threads(
      server.threads ? std::optional<unsigned>(server.threads->value) : std::nullopt,
      machine.affinity, machine.quota);
}

std::uint64_t buffer_bytes(const config::Server::Limits& limits, unsigned threads,
                           std::optional<std::uint64_t> granted) noexcept {
  constexpr std::uint64_t kLeast = std::uint64_t{8} << 20, kMost = std::uint64_t{64} << 20;
  const std::uint64_t bytes =
      limits.buffers.value_or(granted ? std::clamp(*granted / 16, kLeast, kMost) : kMost);
  return std::max(bytes, threads * least_buffer_bytes(limits));
}

std::size_t noted_requests(std::size_t threads, std::optional<std::uint64_t> granted) noexcept {
  constexpr std::size_t kLeast = 256, kMost = telemetry::RequestSink::kFactsMax;
  if (!granted) return kMost;
  // A sixty-fourth of all, as texts and numbers of a request take 1.4 KiB.
  const std::uint64_t fit =
      *granted / 64 / std::max<std::size_t>(1, threads) / sizeof(telemetry::RequestFacts);
  return static_cast<std::size_t>(std::clamp<std::uint64_t>(fit, kLeast, kMost));
}

std::uint64_t log_bytes(const config::Server& server, unsigned threads,
                        std::optional<std::uint64_t> granted) noexcept {
  using telemetry::RequestSink;
  const bool logs = server.access_log.is_on;
  const bool traces = server.tracing.endpoint.has_value();
  if (!logs && !traces) return 0;
  // The thread that writes has a queue of its own, with which it goes from sink to sink.
  return threads * RequestSink::most_bytes(noted_requests(threads, granted), logs, traces) +
         (logs ? RequestSink::kQueueBytes : 0);
}

std::uint64_t body_bytes(std::optional<std::uint64_t> granted) noexcept {
  constexpr std::uint64_t kLeast = std::uint64_t{2} << 20, kMost = std::uint64_t{8} << 20;
  return granted ? std::clamp(*granted / 16, kLeast, kMost) : kMost;
}

namespace {

/// Whether the file has a door for checks. The gRPC door is open on a loopback address without it.
bool has_check_door(const config::Server& server) noexcept {
  return server.api.ext_authz || !server.api.forward_auth.empty() || server.grpc.listen;
}

}  // namespace

std::size_t unsettled_most(const config::Server& server, std::size_t threads,
                           std::optional<std::uint64_t> granted) noexcept {
  constexpr std::size_t kLeast = 64, kUnplanned = 1'024;
  const std::size_t most = has_check_door(server) ? gate::Unsettled::kMost : kUnplanned;
  if (!granted) return most;
  const std::uint64_t fit = *granted / 16 / std::max<std::size_t>(1, threads) / kUnsettledBytes;
  return std::bit_floor(static_cast<std::size_t>(std::clamp<std::uint64_t>(fit, kLeast, most)));
}

std::uint64_t unsettled_bytes(const config::Server& server, unsigned threads,
                              std::optional<std::uint64_t> granted) noexcept {
  return has_check_door(server)
             ? threads * unsettled_most(server, threads, granted) * kUnsettledBytes
             : 0;
}

std::uint64_t memory_beside(const config::Server& server, const Machine& machine) noexcept {
  const unsigned threads = threads_of(server, machine);
  return kProgram + buffer_bytes(server.limits, threads, machine.memory) +
         (server.api.none ? 0 : body_bytes(machine.memory)) +
         log_bytes(server, threads, machine.memory) +
         unsettled_bytes(server, threads, machine.memory);
}

std::uint64_t counter_room(std::uint64_t granted, std::uint64_t fixed, bool patterns) noexcept {
  const std::uint64_t room = granted - std::min(granted, fixed);
  return patterns ? room / 9 * 8 : room;
}

std::string memory_advice(const config::Server& server, const Machine& machine, bool patterns) {
  constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;  // and the least of limits.memory
  const std::uint64_t room =
      counter_room(*machine.memory, memory_beside(server, machine), patterns);
  if (room >= kMiB)
    return "set limits.memory to " + human_size(room) +
           " or less, or raise the container's memory limit";
  // With more memory weir takes a little more beside its counters.
  Machine larger = machine;
  for (std::uint64_t needed = 0;; larger.memory = needed) {
    const std::uint64_t fixed = memory_beside(server, larger);
    needed = fixed + (patterns ? kLeastCounters / 8 * 9 : kLeastCounters);
    needed = (needed + kMiB - 1) / kMiB * kMiB;
    if (needed <= *larger.memory) break;
  }
  const bool lowered = server.limits.memory_given && server.limits.memory > kLeastCounters;
  return "the cgroup is too small for weir: raise the container's memory limit to " +
         human_size(*larger.memory) + " at least" +
         (lowered ? ", and set limits.memory to " + human_size(kLeastCounters) : std::string());
}

std::uint64_t least_buffer_bytes(const config::Server::Limits& limits) noexcept {
  return 4 * (limits.head + limits.body);
}

std::uint64_t grpc_buffer_bytes(std::uint64_t of_worker) noexcept { return of_worker / 2; }

std::uint64_t check_buffer_bytes(const config::Server::Limits& limits,
                                 std::uint64_t of_worker) noexcept {
  return std::max(of_worker / 8, least_buffer_bytes(limits));
}

MemoryPlan plan_memory(const policies::PolicySet& set, const config::Server& server) {
  const config::Server::Limits& limits = server.limits;
  MemoryPlan out;
  out.log_bytes = log_bytes(server, 1, std::nullopt);
  out.memory = limits.memory;
  const unsigned threads = server.threads ? server.threads->value : kUsualThreads;
  out.buffer_bytes = buffer_bytes(limits, threads, std::nullopt);
  if (!server.threads && out.buffer_bytes < kManyThreads * least_buffer_bytes(limits))
    out.least_buffer_bytes = least_buffer_bytes(limits);
  if (server.redis) out.redis_bytes = store::Connection::kOutMax;
  if (!server.api.none) out.body_bytes = body_bytes(std::nullopt);
  out.unsettled_bytes = unsettled_bytes(server, 1, std::nullopt);
  if (!set.patterns.empty()) out.pattern_bytes = limiter::pattern_memory(limits.memory);
  if (!set.views.empty()) out.view_bytes = set.view_memory;
  for (const policies::Counter& counter : set.counters) {
    if (counter.is_synced()) {
      out.sync_bytes = limiter::SyncTable::bytes(synced_keys(limits), kNameBytes);
    }
    if (counter.keys != 0) out.own_bytes += limiter::Bank::table_bytes(counter.keys);
  }
  const std::uint64_t one_slot = limiter::footprint({}).sparse;
  // As the bank sizes it: at most three quarters for slots, the rest for keys with many events.
  out.common_keys = std::min<std::uint64_t>(limits.keys, limits.memory / 4 * 3 / one_slot);
  out.common_bytes = limiter::Bank::table_bytes(out.common_keys);
  out.fits = out.common_bytes + out.own_bytes <= limits.memory;
  const std::uint64_t rest =
      limits.memory - std::min(limits.memory, out.common_bytes + out.own_bytes);
  for (std::size_t i = 0; i < set.counters.size(); ++i) {
    const policies::Counter& counter = set.counters[i];
    const limiter::Footprint print = limiter::footprint(counter.spec);
    MemoryPlan::Row row{};
    row.counter = users_of(set, i);
    row.what = policies::counter_text(counter);
    row.sparse_bytes = print.sparse;
    row.sparse_entries = print.sparse_entries;
    row.worst_bytes = print.worst;
    row.own_table = counter.keys != 0 ? limiter::Bank::table_bytes(counter.keys) : 0;
    row.keys_typical = counter.keys != 0 ? counter.keys : out.common_keys;
    row.keys_worst = print.worst == print.sparse
                         ? row.keys_typical
                         : std::min(row.keys_typical, rest / (print.worst - print.sparse));
    out.rows.push_back(std::move(row));
  }
  return out;
}

std::string to_text(const MemoryPlan& plan) {
  std::string out = "memory: " + human_size(plan.memory) + " for counters (limits.memory), " +
                    human_size(plan.common_bytes) + " of it a table for " +
                    human_count(plan.common_keys) + " keys";
  if (plan.own_bytes != 0)
    out += ", " + human_size(plan.own_bytes) + " tables of their own (keys:)";
  out += "\n";
  if (!plan.fits)
    out += "  the tables do not fit: raise limits.memory, or lower limits.keys or keys:\n";
  out += "  plus at most " + human_size(plan.buffer_bytes) +
         " for requests, checks, answers and TLS of gRPC (limits.buffers" +
         (plan.least_buffer_bytes == 0 ? std::string()
                                       : ", or " + human_size(plan.least_buffer_bytes) +
                                             " for each worker, if that is more") +
         "); above this, unfinished requests get 503\n";
  if (plan.body_bytes != 0) {
    out += "  plus at most " + human_size(plan.body_bytes) +
           " for bodies of events and of rate limit calls (api); above this, requests get 503\n";
  }
  if (plan.unsettled_bytes != 0) {
    out += "  plus at most " + human_size(plan.unsettled_bytes) +
           " a worker for checks whose answers the app reports (authz.settle); above this, the "
           "oldest ones are released uncounted\n";
  }
  if (plan.pattern_bytes != 0) {
    out +=
        "  plus at most " + human_size(plan.pattern_bytes) +
        " for open matches of patterns (an eighth of it); above this, weir drops the idlest keys\n";
  }
  if (plan.sync_bytes != 0) {
    out += "  plus at most " + human_size(plan.sync_bytes) +
           " for keys whose counts are exchanged (sync); above this, weir drops the idlest keys\n";
  }
  if (plan.view_bytes != 0) {
    out += "  plus at most " + human_size(plan.view_bytes) +
           " for views (limits.views); above this, new keys are dropped, and counted\n";
  }
  if (plan.redis_bytes != 0) {
    out += "  plus at most " + human_size(plan.redis_bytes) +
           " a worker and server of Redis for operations on their way; above this, weir connects "
           "again, and on_error holds\n";
  }
  if (plan.log_bytes != 0) {
    out += "  plus at most " + human_size(plan.log_bytes) +
           " a worker for lines and spans (access_log, tracing); above this, they are lost, and "
           "counted\n";
  }
  if (plan.rows.empty()) return out;
  std::size_t wide = 7;
  std::size_t wide_what = 6;
  for (const MemoryPlan::Row& row : plan.rows) {
    wide = std::max(wide, row.counter.size());
    wide_what = std::max(wide_what, row.what.size());
  }
  wide = std::min<std::size_t>(wide, 40);
  out += "  " + cell("policies", wide) + "  " + cell("counts", wide_what) + "  " +
         cell("bytes a key", 12, true) + cell("at worst", 10, true) +
         cell("keys that fit", 15, true) + cell("at worst", 12, true) + "\n";
  for (const MemoryPlan::Row& row : plan.rows) {
    out += "  " + cell(row.counter, wide) + "  " + cell(row.what, wide_what) + "  " +
           cell(std::to_string(row.sparse_bytes), 12, true) +
           cell(human_count(row.worst_bytes), 10, true) +
           cell(human_count(row.keys_typical), 15, true) +
           cell(human_count(row.keys_worst), 12, true) + "\n";
  }
  out += "  (counters without keys: share the table; a full one drops the idlest keys)\n";
  return out;
}

std::string to_json(const MemoryPlan& plan) {
  std::string out = "{\"memory_bytes\":" + std::to_string(plan.memory) +
                    ",\"common_keys\":" + std::to_string(plan.common_keys) +
                    ",\"common_bytes\":" + std::to_string(plan.common_bytes) +
                    ",\"own_bytes\":" + std::to_string(plan.own_bytes) +
                    ",\"buffer_bytes\":" + std::to_string(plan.buffer_bytes) +
                    ",\"body_bytes\":" + std::to_string(plan.body_bytes) +
                    ",\"pattern_bytes\":" + std::to_string(plan.pattern_bytes) +
                    ",\"view_bytes\":" + std::to_string(plan.view_bytes) +
                    ",\"sync_bytes\":" + std::to_string(plan.sync_bytes) +
                    ",\"redis_bytes_per_connection\":" + std::to_string(plan.redis_bytes) +
                    ",\"log_bytes_per_worker\":" + std::to_string(plan.log_bytes) +
                    ",\"fits\":" + (plan.fits ? "true" : "false") + ",\"counters\":[";
  bool first = true;
  for (const MemoryPlan::Row& row : plan.rows) {
    out += first ? "{\"policies\":" : ",{\"policies\":";
    first = false;
    append_json(out, row.counter);
    out += ",\"counts\":";
    append_json(out, row.what);
    out += ",\"bytes_per_key\":" + std::to_string(row.sparse_bytes) +
           ",\"bytes_per_key_worst\":" + std::to_string(row.worst_bytes) +
           ",\"keys\":" + std::to_string(row.keys_typical) +
           ",\"keys_worst\":" + std::to_string(row.keys_worst) +
           ",\"own_table_bytes\":" + std::to_string(row.own_table) + "}";
  }
  return out + "]}";
}

}  // namespace weir::app
