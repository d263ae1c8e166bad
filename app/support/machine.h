#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The resources that the machine and its cgroup grant to this process.
namespace weir::app {

/// Cores that a cgroup's `cpu.max` grants ("200000 100000" -> 2.0); none: "max", or no such text.
std::optional<double> cpu_quota(std::string_view cpu_max) noexcept;
/// Bytes that `memory.max` grants; none: "max".
std::optional<std::uint64_t> memory_limit(std::string_view memory_max) noexcept;
/// The same of version 1: `cpu.cfs_quota_us` ("-1": none) and `cpu.cfs_period_us`.
std::optional<double> cpu_quota(std::string_view quota_us, std::string_view period_us) noexcept;
/// The path of a process in the unified hierarchy, from /proc/self/cgroup ("0::/pods/x" ->
/// "/pods/x"); empty: not in one.
std::string_view unified_cgroup(std::string_view proc_self_cgroup) noexcept;

/// A hierarchy of version 1 ("4:cpu,cpuacct:/pods/x"). Views into the text that it was read from.
struct LegacyCgroup {
  std::string_view controllers;  ///< `cpu,cpuacct`; empty: the process is in none with it
  std::string_view path;
};
/// The one that has `controller`, from /proc/self/cgroup.
LegacyCgroup legacy_cgroup(std::string_view proc_self_cgroup, std::string_view controller) noexcept;

/// Cores that this process can keep busy: min(affinity, max(1, ceil(quota))), at least 1.
unsigned usable_cores(unsigned affinity, std::optional<double> quota) noexcept;
/// Worker threads: `configured`, else the usable cores, and without a quota at most 2: a sidecar
/// shares its node with others, and one thread carries more than most apps.
unsigned worker_threads(std::optional<unsigned> configured, unsigned affinity,
                        std::optional<double> quota) noexcept;

struct Machine {
  unsigned affinity = 1;                ///< cores that this process may run on
  std::optional<double> quota;          ///< the tightest of its cgroup and those above
  std::optional<std::uint64_t> memory;  ///< the same for memory
  std::uint64_t installed = 0;          ///< bytes of memory that the machine has; 0: unknown
};
/// Reads the cgroups of version 1 and 2 (below /sys/fs/cgroup) and the affinity mask; an unreadable
/// one is no limit, and where both versions have one, the tighter counts. `root`: the prefix of
/// `/proc` and `/sys`.
Machine look_at_machine(const std::string& root = {});

/// How many connections each may have.
struct ConnectionShares {
  std::uint64_t clients;    ///< of the proxy, in all
  std::uint64_t idle;       ///< to the app, that one worker keeps for later requests
  std::uint64_t door;       ///< of a door with an address of its own, in all
  std::uint64_t http_door;  ///< of proxies that ask over HTTP, in each worker
  std::uint64_t operators;  ///< of the admin door, and as many of the health door
  std::uint64_t events;     ///< of the event API
  bool fit = true;          ///< false: all of them together take more descriptors than there are
};
/// The users of descriptors other than clients, the app, admin and health.
struct OpenDoors {
  std::size_t own = 0;     ///< doors with an address of their own
  bool http = false;       ///< proxies may ask over HTTP
  bool events = false;     ///< there is an event API
  std::size_t stores = 0;  ///< Redis servers that each worker connects to
};

/// Divides `open_files` (0: unknown, no limit) among `wanted` downstream connections: each may need
/// one to the app, and workers keep idle connections to the app. All doors can be full at the same
/// time, and Redis, log, state and reloads still find a descriptor.
ConnectionShares share_connections(std::uint64_t wanted, std::uint64_t open_files,
                                   std::size_t workers, const OpenDoors& doors = {}) noexcept;
/// The least number of open files with which `wanted` connections and all doors fit.
std::uint64_t open_files_for(std::uint64_t wanted, std::size_t workers,
                             const OpenDoors& doors = {}) noexcept;

/// The soft limit of open files becomes the hard one; returns it.
std::uint64_t raise_open_files() noexcept;

/// Gives back to the system what the start alone needed: memory that the heap has free, and pages
/// of the program and its libraries (their code and constants are in files, from which the kernel
/// maps those that are used again). The command line, the parsing of the configuration and the
/// compiling of policies are most of the program, and are not needed again until a reload. In a
/// small cgroup such pages are the last ones to go, because they are mapped.
///
/// Does nothing while a debugger is attached: its breakpoints are in those pages. On any thread.
void give_back_memory_of_start();

}  // namespace weir::app
