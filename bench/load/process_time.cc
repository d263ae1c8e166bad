#include "bench/load/process_time.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace weir::load {

std::int64_t process_nanos(pid_t pid) noexcept {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/task", static_cast<int>(pid));
  DIR* tasks = ::opendir(path);
  if (tasks == nullptr) return -1;
  std::int64_t sum = 0;
  while (const dirent* task = ::readdir(tasks)) {
    if (task->d_name[0] == '.') continue;
    char file[384];
    std::snprintf(file, sizeof file, "%s/%s/schedstat", path, task->d_name);
    if (FILE* schedstat = std::fopen(file, "re")) {
      long long nanos = 0;
      if (std::fscanf(schedstat, "%lld", &nanos) == 1) sum += nanos;
      std::fclose(schedstat);
    }
  }
  ::closedir(tasks);
  return sum;
}

}  // namespace weir::load
