#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/support/machine.h"
#include "policies/set/policy_set.h"

namespace weir::app {

/// The share of limits.memory that the counters of a policy set take: the answer of `weir check`.
struct MemoryPlan {
  struct Row {
    std::string counter;         ///< of which policies
    std::string what;            ///< `count over 10m`
    std::uint64_t sparse_bytes;  ///< of a key with few events
    std::size_t sparse_entries;  ///< how few
    std::uint64_t worst_bytes;   ///< of a key with as many as are kept
    std::uint64_t keys_typical;  ///< that fit, if all are sparse
    std::uint64_t keys_worst;    ///< that fit, if all are at their worst
    std::uint64_t own_table;     ///< bytes reserved for `keys:`; 0: it shares the common table
  };
  std::uint64_t memory = 0;       ///< limits.memory
  std::uint64_t common_keys = 0;  ///< of the table that counters without `keys:` share
  std::uint64_t common_bytes = 0;
  std::uint64_t own_bytes = 0;  ///< of all tables of their own
  bool fits = true;
  std::uint64_t buffer_bytes = 0;  ///< at most, of requests, checks, answers and TLS
  /// Each worker's least of it, where many workers need more than that; 0: their number is known.
  std::uint64_t least_buffer_bytes = 0;
  std::uint64_t body_bytes = 0;  ///< at most, of bodies of the api door; 0: it has none
  /// At most, of one worker, for requests that a door has let pass until the app reports their
  /// answers; 0: there is no such door.
  std::uint64_t unsettled_bytes = 0;
  std::uint64_t pattern_bytes =
      0;  ///< for open matches of patterns, beside limits.memory; 0: there are none
  std::uint64_t view_bytes =
      0;  ///< for views, beside limits.memory: limits.views; 0: there are none
  std::uint64_t sync_bytes = 0;  ///< for exchanged counts, beside limits.memory; 0: there are none
  /// Bytes for unsent commands, at most, for each pair of worker and Redis server; 0: there is no
  /// Redis.
  std::uint64_t redis_bytes = 0;
  /// Bytes for the lines and spans of requests under way, at most, for each worker; 0: there are
  /// none.
  std::uint64_t log_bytes = 0;
  std::vector<Row> rows;
};

/// The workers of a process with this configuration on this machine.
unsigned threads_of(const config::Server& server, const Machine& machine) noexcept;

/// The memory of all connections together: `limits.buffers`, or 64 MiB. If a cgroup grants less
/// than 1 GiB, a sixteenth of that, and 8 MiB at least. But never less than least_buffer_bytes()
/// for each of the workers, which share it equally.
std::uint64_t buffer_bytes(const config::Server::Limits& limits, unsigned threads,
                           std::optional<std::uint64_t> granted) noexcept;

/// The requests at once that each of so many workers may note for the access log and for traces;
/// fewer if a cgroup grants less than some 100 MiB a worker.
std::size_t noted_requests(std::size_t threads, std::optional<std::uint64_t> granted) noexcept;

/// The memory of the access log and of traces, of all workers together; 0 without both.
std::uint64_t log_bytes(const config::Server& server, unsigned threads,
                        std::optional<std::uint64_t> granted) noexcept;

/// The bodies of the event API that are under way, and their answers: 8 MiB. If a cgroup grants
/// less than 128 MiB, a sixteenth of that, and 2 MiB at least.
std::uint64_t body_bytes(std::optional<std::uint64_t> granted) noexcept;

/// The requests that a worker keeps until their answers are reported (gate/unsettled.h): 16,384. If
/// a cgroup grants less than some 1.5 GiB for two workers, as many as fit into a sixteenth of that
/// for all workers, and 64 at least. A power of two. Where only the gRPC door is open that no file
/// names, 1,024 at most: their 3 MiB are part of the program's own.
std::size_t unsettled_most(const config::Server& server, std::size_t threads,
                           std::optional<std::uint64_t> granted) noexcept;

/// The memory of these requests, of all workers together; 0 without a door for checks.
std::uint64_t unsettled_bytes(const config::Server& server, unsigned threads,
                              std::optional<std::uint64_t> granted) noexcept;

/// The memory of weir beside counters and patterns: the program, its lists, connections' buffers,
/// bodies of the event API, requests whose answers are reported, the access log and traces.
std::uint64_t memory_beside(const config::Server& server, const Machine& machine) noexcept;

/// The smallest default of limits.memory in a small cgroup.
inline constexpr std::uint64_t kLeastCounters = std::uint64_t{4} << 20;

/// The most that counters may take of the `granted` bytes, beside `fixed` ones for everything else;
/// patterns take an eighth of it in addition. 0: there is no room.
std::uint64_t counter_room(std::uint64_t granted, std::uint64_t fixed, bool patterns) noexcept;

/// Advice for people if limits.memory does not fit into the cgroup (`machine.memory` is known). If
/// weir does not fit at all: the least memory that it needs.
std::string memory_advice(const config::Server& server, const Machine& machine, bool patterns);

/// The least that each worker may keep: some judged bodies, however large they may be.
std::uint64_t least_buffer_bytes(const config::Server::Limits& limits) noexcept;

/// The part of one worker's connection buffers that the gRPC door may keep: a half. In bytes.
std::uint64_t grpc_buffer_bytes(std::uint64_t of_worker) noexcept;

/// The part of one worker's connection buffers that the HTTP check door may keep: an eighth, but
/// never less than least_buffer_bytes(). In bytes. Nothing evicts a check. With the half of the
/// gRPC door that is an eighth less than the low water of the buffers, down to which the proxy's
/// sessions are evicted: an eighth is left to them, unless bodies are so large that the least is
/// more than an eighth.
std::uint64_t check_buffer_bytes(const config::Server::Limits& limits,
                                 std::uint64_t of_worker) noexcept;

MemoryPlan plan_memory(const policies::PolicySet& set, const config::Server& server);

std::string to_text(const MemoryPlan& plan);
std::string to_json(const MemoryPlan& plan);

}  // namespace weir::app
