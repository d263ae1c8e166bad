#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace weir::replay {

/// A directory of the test's own, gone afterwards.
class ScratchFiles {
 public:
  ScratchFiles() {
    std::string pattern = std::filesystem::temp_directory_path() / "weir-replay-XXXXXX";
    path_ = ::mkdtemp(pattern.data());
  }
  ~ScratchFiles() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFiles(const ScratchFiles&) = delete;
  ScratchFiles& operator=(const ScratchFiles&) = delete;

  /// Writes the file and gives its path.
  std::string write(const std::string& name, std::string_view bytes) const {
    const std::string path = path_ + "/" + name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

 private:
  std::string path_;
};

}  // namespace weir::replay
