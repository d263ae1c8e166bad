#include "app/support/machine.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "app/support/files.h"
#include "core/chars/parse.h"

namespace weir::app {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;
constexpr std::uint64_t kNoLegacyLimit = std::uint64_t{1} << 62;

std::string_view first_word(std::string_view text) noexcept {
  return text.substr(0, text.find_first_of(" \n"));
}

std::optional<std::uint64_t> number(std::string_view word) noexcept {
  return parse_whole<std::uint64_t>(word);
}

template <class T>
void keep_least(std::optional<T>& least, std::optional<T> next) {
  if (next && (!least || *next < *least)) least = next;
}

}  // namespace

std::optional<double> cpu_quota(std::string_view cpu_max) noexcept {
  const std::string_view quota_word = first_word(cpu_max);
  if (quota_word.size() == cpu_max.size()) return std::nullopt;
  const auto quota = number(quota_word);
  const auto period = number(first_word(cpu_max.substr(quota_word.size() + 1)));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<double> cpu_quota(std::string_view quota_us, std::string_view period_us) noexcept {
  const auto quota = number(first_word(quota_us));
  const auto period = number(first_word(period_us));
  if (!quota || !period || *quota == 0 || *period == 0) return std::nullopt;
  return static_cast<double>(*quota) / static_cast<double>(*period);
}

std::optional<std::uint64_t> memory_limit(std::string_view memory_max) noexcept {
  return number(first_word(memory_max));
}

std::string_view unified_cgroup(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with("0::/")) return line.substr(3);
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

LegacyCgroup legacy_cgroup(std::string_view text, std::string_view controller) noexcept {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second != std::string_view::npos) {
      const std::string_view all = line.substr(first + 1, second - first - 1);
      for (std::string_view names = all; !names.empty();) {
        const std::string_view name = names.substr(0, names.find(','));
        if (name == controller) return {all, line.substr(second + 1)};
        names.remove_prefix(std::min(names.size(), name.size() + 1));
      }
    }
    text.remove_prefix(std::min(text.size(), line.size() + 1));
  }
  return {};
}

unsigned usable_cores(unsigned affinity, std::optional<double> quota) noexcept {
  const unsigned cores = std::max(1U, affinity);
  const double granted = std::max(1.0, std::ceil(quota.value_or(cores)));
  return granted >= cores ? cores : static_cast<unsigned>(granted);
}

unsigned worker_threads(std::optional<unsigned> configured, unsigned affinity,
                        std::optional<double> quota) noexcept {
  if (configured) return std::max(1U, *configured);
  const unsigned cores = usable_cores(affinity, quota);
  return quota ? cores : std::min(cores, 2U);
}

namespace {

/// Calls look(directory) for a group and every group above it: each binds. With a namespace of its
/// own (containers) the path is "/"; without one it may be that of the host, of which the
/// container sees the end only, as the root of the hierarchy.
template <class F>
void climb(const std::string& hierarchy, std::string path, F look) {
  while (true) {
    look(path == "/" ? hierarchy : hierarchy + path);
    if (path.size() <= 1) return;
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  }
}

void read_unified(const std::string& mount, std::string_view own, Machine& out) {
  climb(mount, std::string(unified_cgroup(own)), [&out](const std::string& directory) {
    if (const auto text = read_file(directory + "/cpu.max", kSmallFile)) {
      keep_least(out.quota, cpu_quota(*text));
    }
    if (const auto text = read_file(directory + "/memory.max", kSmallFile)) {
      keep_least(out.memory, memory_limit(*text));
    }
  });
}

// A hierarchy is mounted by the names of its controllers, with a link for each of them.
template <class F>
void climb_legacy(const std::string& mount, std::string_view own, std::string_view controller,
                  F look) {
  const LegacyCgroup group = legacy_cgroup(own, controller);
  if (!group.path.starts_with('/')) return;
  for (const std::string_view name : {group.controllers, controller}) {
    climb(mount + "/" + std::string(name), std::string(group.path), look);
    if (group.controllers == controller) return;
  }
}

void read_legacy(const std::string& mount, std::string_view own, Machine& out) {
  climb_legacy(mount, own, "cpu", [&out](const std::string& directory) {
    const auto quota = read_file(directory + "/cpu.cfs_quota_us", kSmallFile);
    const auto period = read_file(directory + "/cpu.cfs_period_us", kSmallFile);
    if (quota && period) keep_least(out.quota, cpu_quota(*quota, *period));
  });
  climb_legacy(mount, own, "memory", [&out](const std::string& directory) {
    const auto text = read_file(directory + "/memory.limit_in_bytes", kSmallFile);
    if (!text) return;
    // No limit is written as the largest number of whole pages.
    const auto limit = memory_limit(*text);
    if (limit && *limit < kNoLegacyLimit) keep_least(out.memory, limit);
  });
}

}  // namespace

Machine look_at_machine(const std::string& root) {
  Machine out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    out.affinity = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    out.installed = static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page);
  const auto own = read_file(root + "/proc/self/cgroup", kSmallFile);
  if (!own) return out;
  const std::string mount = root + "/sys/fs/cgroup";
  read_unified(mount, *own, out);
  read_legacy(mount, *own, out);
  return out;
}

namespace {

// An Envoy opens one for each of its threads; so do the pools of other clients.
constexpr std::uint64_t kDoorMax = 4'096;
constexpr std::uint64_t kHttpDoorMax = 1'024;
constexpr std::uint64_t kOperatorsMax = 64;
constexpr std::uint64_t kEventsMax = 256;
constexpr std::uint64_t kIdleMax = 1'024;
/// Clients that a proxy takes, however few descriptors there are.
constexpr std::uint64_t kClientsMin = 16;

/// The number of descriptors that are open without any connection: 13 and 9 for each worker,
/// counted in a process with all doors. The rest is for files, Redis, lists from URLs,
/// notifications and connections that are refused.
std::uint64_t always_open(std::size_t workers, const OpenDoors& doors) noexcept {
  constexpr std::size_t kStores = 6;  // there is room for them in the 16 of a worker
  return 64 + (16 + (doors.stores > kStores ? doors.stores - kStores : 0)) * workers;
}

}  // namespace

ConnectionShares share_connections(std::uint64_t wanted, std::uint64_t open_files,
                                   std::size_t workers, const OpenDoors& doors) noexcept {
  // Kept idle: for all workers together a quarter of the clients' connections, and one each.
  const auto idle_of = [&](std::uint64_t clients) {
    return std::min(kIdleMax, clients / (4 * workers) + 1);
  };
  ConnectionShares out{wanted, idle_of(wanted), kDoorMax, kHttpDoorMax, kOperatorsMax, kEventsMax};
  if (open_files == 0) return out;
  out.door = std::clamp<std::uint64_t>(open_files / 8, 16, kDoorMax);
  out.http_door = std::clamp<std::uint64_t>(open_files / 8 / workers, 8, kHttpDoorMax);
  out.operators = std::clamp<std::uint64_t>(open_files / 16, 12, kOperatorsMax);
  out.events = std::clamp<std::uint64_t>(open_files / 16, 8, kEventsMax);
  std::uint64_t others = always_open(workers, doors) + workers + 2 * out.operators;
  others += out.door * doors.own;
  if (doors.http) others += out.http_door * workers;
  if (doors.events) others += out.events;
  const std::uint64_t left = open_files > others ? open_files - others : 0;
  const std::uint64_t room = left / 9 * 4 + left % 9 * 4 / 9;  // client, app, a quarter idle
  const std::uint64_t least = std::min(kClientsMin, std::max<std::uint64_t>(1, open_files / 4));
  out.clients = std::min(wanted, std::max(least, room));
  out.idle = idle_of(out.clients);
  out.fit = room >= out.clients;
  return out;
}

std::uint64_t open_files_for(std::uint64_t wanted, std::size_t workers,
                             const OpenDoors& doors) noexcept {
  const auto is_enough = [&](std::uint64_t open_files) {
    const ConnectionShares shares = share_connections(wanted, open_files, workers, doors);
    return shares.fit && shares.clients == wanted;
  };
  std::uint64_t low = 0, high = 256;
  for (; !is_enough(high); high *= 2) low = high;
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (is_enough(middle) ? high : low) = middle;
  }
  return high;
}

std::uint64_t raise_open_files() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
  if (limit.rlim_cur < limit.rlim_max) {
    rlimit wanted = limit;
    wanted.rlim_cur = wanted.rlim_max;
    if (::setrlimit(RLIMIT_NOFILE, &wanted) == 0) limit = wanted;
  }
  return limit.rlim_cur;
}

namespace {

bool is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int tracer = 0;
    if (word == "TracerPid:") return !(status >> tracer) || tracer != 0;
  }
  return true;
}

/// A read-only segment has the content of its file: it can be mapped again at any time.
int drop_constant_segments(dl_phdr_info* object, std::size_t, void* page_size) {
  const auto page = *static_cast<const std::uintptr_t*>(page_size);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    // Memory for which the call fails (locked memory, the kernel's own object) is unchanged.
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
  }
  return 0;
}

}  // namespace

void give_back_memory_of_start() {
  ::malloc_trim(0);
  if (is_traced()) return;
  auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  ::dl_iterate_phdr(drop_constant_segments, &page);
}

}  // namespace weir::app
