#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

/// A real redis-server of the test's own: on a Unix socket in a directory of its own, without
/// persistence; killed with the object. The test fails, and the server is not there, if it cannot
/// be started.
class RedisServer {
 public:
  RedisServer();
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  bool running() const noexcept { return socket_ >= 0; }
  const std::string& path() const noexcept { return path_; }  ///< of the socket

  /// One command whose answer is an integer. Anything else fails the test and gives -1.
  std::int64_t integer(const std::vector<std::string>& command);

 private:
  void start();
  bool connect();
  bool read_line(std::string& line);

  std::string directory_, path_;
  pid_t child_ = -1;
  int socket_ = -1;
  std::string buffer_;
};

}  // namespace weir::test
