#include "app/support/process_memory.h"

#include <elf.h>
#include <link.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace weir::app {
namespace {

bool is_traced() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int tracer = 0;
    if (word == "TracerPid:") return !(status >> tracer) || tracer != 0;
  }
  return true;
}

/// A segment that nobody can write is as its file says: it can be mapped again at any time.
int drop_constant_segments(dl_phdr_info* object, std::size_t, void* page_size) {
  const auto page = *static_cast<const std::uintptr_t*>(page_size);
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_W) != 0) continue;
    const std::uintptr_t begin = (object->dlpi_addr + segment.p_vaddr) / page * page;
    const std::uintptr_t end = object->dlpi_addr + segment.p_vaddr + segment.p_filesz;
    // What it refuses (memory that is locked, the kernel's own object) stays as it is.
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
