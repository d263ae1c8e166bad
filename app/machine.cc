#include "app/machine.h"

#include <sched.h>
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "app/files.h"

namespace weir::app {
namespace {

constexpr std::size_t kSmallFile = 64 << 10;

std::string_view first_word(std::string_view text) noexcept {
  return text.substr(0, text.find_first_of(" \n"));
}

std::optional<std::uint64_t> number(std::string_view word) noexcept {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), out);
  if (error != std::errc{} || end != word.data() + word.size()) return std::nullopt;
  return out;
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

unsigned worker_threads(std::optional<unsigned> configured, unsigned affinity,
                        std::optional<double> quota) noexcept {
  if (configured) return std::max(1U, *configured);
  const unsigned cores = std::max(1U, affinity);
  if (!quota) return std::min(cores, 2U);
  const double wanted = std::max(1.0, std::ceil(*quota));
  return wanted >= cores ? cores : static_cast<unsigned>(wanted);
}

Machine look_at_machine() {
  Machine out;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    out.affinity = static_cast<unsigned>(std::max(1, CPU_COUNT(&set)));
  }
  const auto own = read_file("/proc/self/cgroup", kSmallFile);
  if (!own) return out;
  // With a cgroup namespace (containers) the path is "/", else our own; every group above binds
  // too.
  std::string path(unified_cgroup(*own));
  while (true) {
    const std::string directory = "/sys/fs/cgroup" + (path == "/" ? "" : path);
    if (const auto text = read_file(directory + "/cpu.max", kSmallFile)) {
      keep_least(out.quota, cpu_quota(*text));
    }
    if (const auto text = read_file(directory + "/memory.max", kSmallFile)) {
      keep_least(out.memory, memory_limit(*text));
    }
    if (path.size() <= 1) break;
    path.resize(std::max<std::size_t>(1, path.rfind('/')));
  }
  return out;
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

}  // namespace weir::app
