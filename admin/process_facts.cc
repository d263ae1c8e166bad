#include "admin/process_facts.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "telemetry/prometheus_text.h"

namespace weir::admin {
namespace {

std::uint64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages = 0, resident = 0;
  if (!(file >> pages >> resident)) return 0;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t count_fds() {
  DIR* const dir = opendir("/proc/self/fd");
  if (dir == nullptr) return 0;
  std::uint64_t entries = 0;
  while (readdir(dir) != nullptr) ++entries;
  closedir(dir);
  return entries < 3 ? 0 : entries - 3;  // ".", ".." and the directory itself
}

// Boot time plus the start's distance from it: both stay, so it is read once.
double start_seconds() {
  std::ifstream stat("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  const std::size_t name_end = text.rfind(')');  // a process name may hold anything
  if (name_end == std::string::npos) return 0;
  std::istringstream rest(text.substr(name_end + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field) rest >> skipped;
  double ticks = 0, boot = 0;
  if (!(rest >> ticks)) return 0;
  std::ifstream system("/proc/stat");
  for (std::string line; std::getline(system, line);) {
    if (line.starts_with("btime "))
      std::from_chars(line.data() + 6, line.data() + line.size(), boot);
  }
  return boot == 0 ? 0 : boot + ticks / static_cast<double>(sysconf(_SC_CLK_TCK));
}

double seconds(const timeval& t) {
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
}

void write(std::string& out, const char* name, const char* kind, const char* help, double value) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", value);
  telemetry::append_family(out, name, kind, help);
  telemetry::append_sample(out, name, {}, std::string_view(text));
}

}  // namespace

ProcessFacts process_facts() {
  static const double started = start_seconds();
  ProcessFacts facts;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    facts.cpu_seconds = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  }
  facts.resident_bytes = resident_bytes();
  facts.open_fds = count_fds();
  facts.start_seconds = started;
  return facts;
}

void write_process_metrics(std::string& out) {
  const ProcessFacts facts = process_facts();
  write(out, "process_cpu_seconds_total", "counter", "User and system CPU time spent, in seconds.",
        facts.cpu_seconds);
  write(out, "process_resident_memory_bytes", "gauge", "Resident memory size in bytes.",
        static_cast<double>(facts.resident_bytes));
  write(out, "process_open_fds", "gauge", "Open file descriptors.",
        static_cast<double>(facts.open_fds));
  write(out, "process_start_time_seconds", "gauge",
        "Start time of the process since the Unix epoch, in seconds.", facts.start_seconds);
}

}  // namespace weir::admin
