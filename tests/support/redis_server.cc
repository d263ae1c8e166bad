#include "tests/support/redis_server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
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
#include <fstream>

namespace weir::test {
namespace {

constexpr int kLimitMs = 20'000;  // for any single answer

}  // namespace

RedisServer::RedisServer(std::vector<std::string> options) : options_(std::move(options)) {
  std::string name = (std::filesystem::temp_directory_path() / "weir-redis-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    ADD_FAILURE() << "no directory: " << std::strerror(errno);
    return;
  }
  directory_ = name;
  path_ = directory_ + "/redis.sock";
  start();
}

RedisServer::~RedisServer() {
  kill();
  if (!directory_.empty()) std::filesystem::remove_all(directory_);
}

void RedisServer::kill() {
  if (socket_ >= 0) ::close(socket_);
  socket_ = -1;
  buffer_.clear();
  if (child_ > 0) {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  child_ = -1;
}

void RedisServer::pause() {
  ::kill(child_, SIGSTOP);
  ::waitpid(child_, nullptr, WUNTRACED);
}
void RedisServer::resume() { ::kill(child_, SIGCONT); }

void RedisServer::start() {
  if (directory_.empty() || child_ > 0) return;
  int log[2];
  if (::pipe2(log, O_CLOEXEC) != 0) {
    ADD_FAILURE() << "no pipe: " << std::strerror(errno);
    return;
  }
  std::vector<std::string> words = {"redis-server"};
  std::size_t first = 0;
  bool has_port = false;
  if (!options_.empty() && options_[0] == "--sentinel") {  // wants a file that it may write
    const std::string file = directory_ + "/sentinel.conf";
    std::ofstream(file) << "";
    words.insert(words.end(), {file, "--sentinel"});
    first = 1;
  } else {
    words.insert(words.end(), {"--save", "", "--appendonly", "no"});
  }
  words.insert(words.end(), {"--unixsocket", path_, "--dir", directory_, "--logfile", "",
                             "--loglevel", "notice"});
  for (std::size_t i = first; i < options_.size(); ++i) {
    has_port = has_port || options_[i] == "--port";
    words.push_back(options_[i]);
  }
  if (!has_port) words.insert(words.end(), {"--port", "0"});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  child_ = ::fork();
  if (child_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(log[1], STDOUT_FILENO);
    ::execvp("redis-server", arguments.data());
    ::_exit(127);
  }
  ::close(log[1]);
  // It says when it is ready; that is waited for, not some time.
  std::string said;
  char buffer[512];
  pollfd wait{log[0], POLLIN, 0};
  const auto ready = [&] {
    return said.find("ccept connections at") != std::string::npos ||
           said.find("Sentinel ID is") != std::string::npos;
  };
  while (!ready()) {
    if (::poll(&wait, 1, kLimitMs) <= 0) break;
    const ssize_t n = ::read(log[0], buffer, sizeof buffer);
    if (n <= 0) break;
    said.append(buffer, static_cast<std::size_t>(n));
  }
  // Who would read what it says from now on? A closed pipe does it no harm: Redis ignores SIGPIPE.
  ::close(log[0]);
  if (!ready()) {
    ADD_FAILURE() << "redis-server does not start; scripts/deps installs it\n" << said;
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
    child_ = -1;
    return;
  }
  if (!connect()) ADD_FAILURE() << "no connection to " << path_;
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

bool RedisServer::send(const std::vector<std::string>& command) {
  if (socket_ < 0) return false;
  char byte;
  if (buffer_.empty() && ::recv(socket_, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0) {
    ::close(socket_);  // a Sentinel closes what clients a server has when its role changes
    if (!connect()) return false;
  }
  std::string out = "*" + std::to_string(command.size()) + "\r\n";
  for (const std::string& word : command) {
    out += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  for (std::size_t sent = 0; sent < out.size();) {
    const ssize_t n = ::send(socket_, out.data() + sent, out.size() - sent, MSG_NOSIGNAL);
    if (n <= 0) {
      ADD_FAILURE() << "redis-server hung up";
      return false;
    }
    sent += static_cast<std::size_t>(n);
  }
  return true;
}

bool RedisServer::read_bytes(std::size_t n, std::string& out) {
  out.clear();
  while (buffer_.size() < n) {
    char bytes[4096];
    pollfd wait{socket_, POLLIN, 0};
    if (::poll(&wait, 1, kLimitMs) <= 0) return false;
    const ssize_t got = ::read(socket_, bytes, sizeof bytes);
    if (got <= 0) return false;
    buffer_.append(bytes, static_cast<std::size_t>(got));
  }
  out = buffer_.substr(0, n);
  buffer_.erase(0, n);
  return true;
}

void RedisServer::read_words(std::vector<std::string>& out) {
  std::string line;
  if (!read_line(line) || line.empty()) {
    ADD_FAILURE() << "redis-server says nothing";
    return;
  }
  long n = 0;
  std::from_chars(line.data() + 1, line.data() + line.size(), n);
  if (line[0] == '*') {
    for (long i = 0; i < n; ++i) read_words(out);
  } else if (line[0] == '$' && n >= 0) {
    std::string bytes;
    read_bytes(static_cast<std::size_t>(n) + 2, bytes);
    out.push_back(bytes.substr(0, static_cast<std::size_t>(n)));
  } else {
    out.push_back(line);
  }
}

std::vector<std::string> RedisServer::words(const std::vector<std::string>& command) {
  std::vector<std::string> out;
  if (send(command)) read_words(out);
  return out;
}

std::string RedisServer::text(const std::vector<std::string>& command) {
  const std::vector<std::string> all = words(command);
  return all.empty() ? std::string() : all.front();
}

std::int64_t RedisServer::integer(const std::vector<std::string>& command) {
  const std::string line = text(command);
  std::int64_t value = -1;
  if (line.empty() || line[0] != ':' ||
      std::from_chars(line.data() + 1, line.data() + line.size(), value).ec != std::errc()) {
    ADD_FAILURE() << "redis-server answers: " << line;
    return -1;
  }
  return value;
}

}  // namespace weir::test
