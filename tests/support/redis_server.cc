#include "tests/support/redis_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace weir::test {
namespace {

constexpr int kLimitMs = 20'000;  // for any single answer

}  // namespace

RedisServer::RedisServer() {
  start();
  if (child_ > 0 && !connect()) ADD_FAILURE() << "no connection to " << path_;
}

RedisServer::~RedisServer() {
  if (socket_ >= 0) ::close(socket_);
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

void RedisServer::start() {
  std::string name = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    ADD_FAILURE() << "no directory: " << std::strerror(errno);
    return;
  }
  directory_ = name;
  path_ = directory_ + "/redis.sock";
  int log[2];
  if (::pipe2(log, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe: " << std::strerror(errno);
    return;
  }
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log[1], STDOUT_FILENO);
    ::execlp("redis-server", "redis-server", "--port", "0", "--unixsocket", path_.c_str(), "--save",
             "", "--appendonly", "no", "--dir", directory_.c_str(), "--logfile", "",
             static_cast<char*>(nullptr));
    ::_exit(127);
  }
  ::close(log[1]);
  // It says when it is ready; that is waited for, not some time.
  std::string said;
  char buffer[512];
  pollfd wait{log[0], POLLIN, 0};
  while (said.find("ready to accept connections") == std::string::npos &&
         said.find("Ready to accept connections") == std::string::npos) {
    if (::poll(&wait, 1, kLimitMs) <= 0) break;
    const ssize_t n = ::read(log[0], buffer, sizeof buffer);
    if (n <= 0) break;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  // Who would read what it says from now on? A closed pipe does it no harm: Redis ignores SIGPIPE.
  ::close(log[0]);
  if (said.find("ccept connections") == std::string::npos) {
    ADD_FAILURE() << "redis-server does not start; scripts/deps installs it\n" << said;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
  }
}

bool RedisServer::connect() {
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path_.data(), path_.size());
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return true;
  }
  ::close(socket_);
  socket_ = -1;
  return false;
}

bool RedisServer::read_line(std::string& line) {
  for (;;) {
    const std::size_t end = buffer_.find("\r\n");
    if (end != std::string::npos) {
      line = buffer_.substr(0, end);
      buffer_.erase(0, end + 2);
      return true;
    }
    char bytes[4096];
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, kLimitMs) <= 0) return false;
    const ssize_t n = ::read(socket_, bytes, sizeof bytes);
    if (n <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(n));
  }
}

std::int64_t RedisServer::integer(const std::vector<std::string>& command) {
  if (socket_ < 0) return -1;
  std::string out = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  for (std::size_t sent = 0; sent < out.size();) {
    const ssize_t n = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) {
      ADD_FAILURE() << "redis-server hung up";
      return -1;
    }
    sent += static_cast<std::size_t>(n);
  }
  std::string line;
  std::int64_t value = -1;
  if (!read_line(line) || line.empty() || line[0] != ':' ||
      std::from_chars(line.data() + 1, line.data() + line.size(), value).ec != std::errc()) {
    ADD_FAILURE() << "redis-server answers: " << line;
    return -1;
  }
  return value;
}

}  // namespace weir::test
