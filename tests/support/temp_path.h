#pragma once

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>

namespace weir::test {

/// A file of a name of its own that goes with the test.
struct TempPath {
  TempPath() {
    char name[] = "/tmp/weir-test-XXXXXX";
    ::close(::mkstemp(name));
    path = name;
  }
  ~TempPath() { ::unlink(path.c_str()); }
  void write(std::string_view text) const { std::ofstream(path, std::ios::trunc) << text; }
  std::string path;
};

}  // namespace weir::test
