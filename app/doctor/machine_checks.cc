#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <system_error>

#include "app/doctor/checks.h"
#include "app/doctor/writing.h"
#include "app/doors/doors.h"
#include "app/doors/settings.h"
#include "app/serve/state.h"
#include "app/support/files.h"
#include "app/support/memory_plan.h"
#include "core/text.h"
#include "limiter/patterns/pattern_bank.h"

namespace weir::app::doctor {
namespace {

// A snapshot is written beside the one before it.
constexpr std::uint64_t kStateRoom = std::uint64_t{16} << 20;

std::string quoted_path(const std::string& path) { return "\"" + path + "\""; }

struct Mount {
  std::string root;   ///< the directory of the file system that is mounted
  std::string point;  ///< where
};

/// A word of mountinfo, with `\040` for a blank; it leaves `line`.
std::string take_word(std::string_view& line) {
  const std::string_view escaped = line.substr(0, line.find(' '));
  line.remove_prefix(std::min(escaped.size() + 1, line.size()));
  std::string out;
  for (std::size_t i = 0; i < escaped.size(); ++i) {
    if (escaped[i] == '\\' && i + 3 < escaped.size()) {
      int code = 0;
      for (std::size_t k = 1; k <= 3; ++k) code = code * 8 + (escaped[i + k] - '0');
      out += static_cast<char>(code);
      i += 3;
    } else {
      out += escaped[i];
    }
  }
  return out;
}

/// A line of mountinfo: number, parent, device, root, mount point and more.
Mount mount_of(std::string_view line) {
  for (int word = 0; word < 3; ++word) take_word(line);
  Mount out;
  out.root = take_word(line);
  out.point = take_word(line);
  return out;
}

bool is_inside(const std::string& file, const std::string& directory) {
  return file.starts_with(directory) && (directory == "/" || file[directory.size()] == '/');
}

/// One state of a ConfigMap: the kubelet keeps each in a directory of its own, named by its time,
/// and points `..data` at the newest.
bool is_one_state(const std::string& root) { return root.find("/..20") != std::string::npos; }

}  // namespace

void check_memory(const config::Server& server, const Machine& machine, bool patterns,
                  Findings& out) {
  const config::Server::Limits& limits = server.limits;
  const std::uint64_t fixed = memory_beside(server, machine);
  const std::uint64_t beside =
      fixed + (patterns ? limiter::pattern_memory(limits.memory) : std::uint64_t{0});
  const std::uint64_t wanted = limits.memory + beside;
  if (!machine.memory && machine.installed != 0 && wanted > machine.installed) {
    return out.warning("memory",
                       "this machine has " + human_size(machine.installed) + "; limits.memory is " +
                           human_size(limits.memory) + ", in all weir may take " +
                           human_size(wanted),
                       "weir starts, but the kernel kills it when it uses that much: lower "
                       "limits.memory");
  }
  if (!machine.memory) {
    return out.ok("memory", "no limit of a cgroup; limits.memory is " + human_size(limits.memory) +
                                ", in all weir may take " + human_size(wanted));
  }
  const std::string seen = "the cgroup grants " + human_size(*machine.memory) +
                           "; limits.memory is " + human_size(limits.memory) + ", and weir needs " +
                           human_size(beside) + " beside it";
  if (wanted <= *machine.memory) return out.ok("memory", seen);
  const std::uint64_t room = counter_room(*machine.memory, fixed, patterns);
  if (!limits.memory_given && room >= kLeastCounters) {
    return out.ok("memory", "the cgroup grants " + human_size(*machine.memory) +
                                "; limits.memory is not set, and will be " + human_size(room));
  }
  out.problem("memory", seen, "weir would not start: " + memory_advice(server, machine, patterns));
}

void check_threads(const config::Server& server, const Machine& machine, Findings& out) {
  const auto configured =
      server.threads ? std::optional<unsigned>(server.threads->value) : std::nullopt;
  const unsigned threads = worker_threads(configured, machine.affinity, machine.quota);
  std::string seen =
      counted(threads, "worker", "workers") + " on " + counted(machine.affinity, "core", "cores");
  if (machine.quota) {
    std::string quota = std::to_string(*machine.quota);
    quota.resize(std::min(quota.size(), quota.find('.') + 3));
    seen += ", the cgroup grants " + quota + " of CPU time";
  }
  if (machine.quota && threads > std::max(1.0, std::ceil(*machine.quota))) {
    return out.warning("threads", seen,
                       "workers that share a quota are stopped together when it is used up, in "
                       "the middle of requests: leave `threads` out, or raise the CPU limit");
  }
  if (threads > machine.affinity) {
    return out.warning("threads", seen, "workers take turns on a core: leave `threads` out");
  }
  if (machine.quota && *machine.quota < 1) {
    return out.warning("threads", seen,
                       "with less than a core requests wait for the quota: leave the CPU limit "
                       "out and set a CPU request");
  }
  out.ok("threads", seen);
}

void check_descriptors(const config::Server& server, const Machine& machine,
                       std::uint64_t open_files, Findings& out) {
  const auto configured =
      server.threads ? std::optional<unsigned>(server.threads->value) : std::nullopt;
  const unsigned threads = worker_threads(configured, machine.affinity, machine.quota);
  const OpenDoors doors = doors_of(server);
  const ConnectionShares shares =
      share_connections(server.limits.connections, open_files, threads, doors);
  const std::string seen = (open_files == 0 ? std::string("unknown") : std::to_string(open_files)) +
                           " open files at most, limits.connections is " +
                           std::to_string(server.limits.connections);
  if (shares.fit && shares.clients >= server.limits.connections) return out.ok("descriptors", seen);
  const std::string room = shares.fit ? ": there is room for " + std::to_string(shares.clients)
                                      : ": they are not enough for all doors at the same time";
  out.warning("descriptors", seen + room,
              "each connection may need two, and the doors need some: raise the limit of open "
              "files (ulimit -n, LimitNOFILE of systemd, the container's runtime) to " +
                  std::to_string(open_files_for(server.limits.connections, threads, doors)) +
                  ", or lower limits.connections");
}

std::vector<std::string> mounted_alone(std::string_view mountinfo,
                                       const std::vector<std::string>& files) {
  std::vector<Mount> mounts;
  while (!mountinfo.empty()) {
    const std::size_t end = std::min(mountinfo.find('\n'), mountinfo.size());
    mounts.push_back(mount_of(mountinfo.substr(0, end)));
    mountinfo.remove_prefix(std::min(end + 1, mountinfo.size()));
  }
  std::vector<std::string> out;
  for (const std::string& file : files) {
    const Mount* nearest = nullptr;  // of two at one place the later hides the earlier
    for (const Mount& mount : mounts) {
      const bool holds =
          mount.point == file || (!mount.point.empty() && is_inside(file, mount.point));
      if (holds && (nearest == nullptr || mount.point.size() >= nearest->point.size()))
        nearest = &mount;
    }
    if (nearest != nullptr && (nearest->point == file || is_one_state(nearest->root)))
      out.push_back(file);
  }
  return out;
}

void check_mounts(const std::vector<std::string>& files, Findings& out) {
  std::vector<std::string> absolute;
  for (const std::string& file : files) {
    std::error_code failed;
    const auto path = std::filesystem::absolute(file, failed);
    if (!failed) absolute.push_back(path.lexically_normal().string());
  }
  const auto mountinfo = read_file("/proc/self/mountinfo", std::size_t{1} << 20);
  const auto alone = mountinfo ? mounted_alone(*mountinfo, absolute) : std::vector<std::string>{};
  for (const std::string& file : alone) {
    out.warning("reload", quoted_path(file) + " comes from a subPath mount",
                "it never shows a changed ConfigMap: mount the whole volume as a directory");
  }
  if (alone.empty() && !absolute.empty()) {
    out.ok("reload", counted(absolute.size(), "file", "files") +
                         " in directories that can be watched for changes");
  }
}

void check_state(const config::Server& server, Findings& out) {
  if (!server.state.dir) {
    return out.ok("state", "no state.dir: a restart begins with empty counters and lists");
  }
  const std::string& path = server.state.dir->value;
  std::string obstacle = state_obstacle(path);
  // weir makes the directory at the start, and files in it. Only trying shows whether that works.
  if (::access(path.c_str(), F_OK) == 0) {
    const int failure = obstacle.empty() ? try_to_write_in(path) : 0;
    if (failure != 0) {
      obstacle = "nothing can be written in " + quoted_path(path) + " (" +
                 std::generic_category().message(failure) + ")";
    }
  } else {
    if (::mkdir(path.c_str(), 0700) == 0) {
      ::rmdir(path.c_str());
    } else if (errno != EEXIST) {  // by the weir that starts now
      obstacle = quoted_path(path) + " can't be made: " + std::generic_category().message(errno);
    }
  }
  if (!obstacle.empty()) {
    return out.problem("state", obstacle,
                       "weir runs without it, and a restart forgets all counts and list entries: "
                       "make it writable for user " +
                           std::to_string(::geteuid()) + " (in Kubernetes: an emptyDir, fsGroup)");
  }
  struct statvfs disk {};
  if (::statvfs(path.c_str(), &disk) == 0) {
    const std::uint64_t room = std::uint64_t{disk.f_bavail} * disk.f_frsize;
    if (room < kStateRoom) {
      return out.warning("state", quoted_path(path) + " has " + human_size(room) + " left",
                         "a snapshot is written beside the one before it: make room");
    }
  }
  out.ok("state", quoted_path(path) + " can be written");
}

void check_logs(const config::Server& server, Findings& out) {
  std::vector<std::pair<const char*, std::string>> files;
  const std::string& access = server.access_log.path;
  if (server.access_log.is_on && access != "stdout" && access != "stderr")
    files.emplace_back("access_log", access);
  if (server.audit.path) files.emplace_back("audit", server.audit.path->value);
  for (const auto& [check, path] : files) {
    const int failure = try_to_append(path);
    if (failure == 0) {
      out.ok(check, quoted_path(path) + " can be written");
      continue;
    }
    out.problem(
        check, quoted_path(path) + " can't be written: " + std::generic_category().message(failure),
        "weir runs without it, and its lines are lost or go into the log: make the "
        "directory, or let user " +
            std::to_string(::geteuid()) + " write there");
  }
}

}  // namespace weir::app::doctor
