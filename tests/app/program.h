#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

namespace weir::app {

/// The output and the exit code of a program.
struct Outcome {
  int code = -1;
  std::string out, err;
};

/// Runs the weir binary to its end. No WEIR_* variables reach it but those in `environment`.
Outcome run_weir(const std::vector<std::string>& arguments, const std::string& directory = ".",
                 const std::vector<std::string>& environment = {});

/// The first word of each line in a block of --help, such as "Subcommands".
std::vector<std::string> names_of_help(const std::string& help, const std::string& block);

/// A weir that runs until it is asked to end. Killed when the object goes.
class RunningWeir {
 public:
  RunningWeir(const std::vector<std::string>& arguments, const std::string& stderr_file);
  ~RunningWeir();
  RunningWeir(const RunningWeir&) = delete;
  RunningWeir& operator=(const RunningWeir&) = delete;

  void signal(int number) const;
  /// Its exit code (128 + n for signal n); nothing if it has not ended by itself after 20 s.
  std::optional<int> wait();

 private:
  pid_t pid_ = -1;
};

}  // namespace weir::app
