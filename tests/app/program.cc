#include "tests/app/program.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/app/scratch.h"

extern char** environ;

namespace weir::app {
namespace {

pid_t spawn(const std::vector<std::string>& arguments, const std::string& directory,
            const std::string& out, const std::string& err,
            const std::vector<std::string>& environment) {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    if (std::strncmp(*each, "WEIR_", 5) != 0) variables.emplace_back(*each);
  }
  variables.insert(variables.end(), environment.begin(), environment.end());
  std::vector<char*> argv{const_cast<char*>("weir")};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  const int out_fd = ::open(out.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int err_fd = ::open(err.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  const int in_fd = ::open("/dev/null", O_RDONLY);
  ::dup2(in_fd, 0);
  ::dup2(out_fd, 1);
  ::dup2(err_fd, 2);
  if (::chdir(directory.c_str()) == 0) ::execve(WEIR_BINARY, argv.data(), envp.data());
  ::_exit(127);
}

int code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

}  // namespace

Outcome run_weir(const std::vector<std::string>& arguments, const std::string& directory,
                 const std::vector<std::string>& environment) {
  const Scratch scratch;
  const pid_t pid = spawn(arguments, directory, scratch / "out", scratch / "err", environment);
  int status = 0;
  ::waitpid(pid, &status, 0);
  return {code_of(status), scratch.read("out"), scratch.read("err")};
}

std::vector<std::string> names_of_help(const std::string& help, const std::string& block) {
  std::vector<std::string> out;
  std::istringstream lines(help);
  std::string line;
  while (std::getline(lines, line) && line != block + ":") {
  }
  while (std::getline(lines, line) && !line.empty()) {
    if (line.starts_with("  ") && !line.starts_with("   "))
      out.push_back(line.substr(2, line.find(' ', 2) - 2));
  }
  return out;
}

RunningWeir::RunningWeir(const std::vector<std::string>& arguments, const std::string& stderr_file)
    : pid_(spawn(arguments, ".", stderr_file + ".out", stderr_file, {})) {}

RunningWeir::~RunningWeir() {
  if (pid_ <= 0) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void RunningWeir::signal(int number) const { ::kill(pid_, number); }

std::optional<int> RunningWeir::wait() {
  const int handle = static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0));
  pollfd ended{handle, POLLIN, 0};
  const bool in_time = ::poll(&ended, 1, 20'000) == 1;
  ::close(handle);
  if (!in_time) return std::nullopt;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return code_of(status);
}

}  // namespace weir::app
