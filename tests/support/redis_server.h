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
  RedisServer() : RedisServer(std::vector<std::string>{}) {}
  /// With more words of its command line: {"--maxmemory", "2mb"}. {"--sentinel"} as the first makes
  /// a Sentinel of it.
  explicit RedisServer(std::vector<std::string> options);
  ~RedisServer();
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  bool running() const noexcept { return socket_ >= 0; }
  const std::string& path() const noexcept { return path_; }  ///< of the socket

  /// One command whose answer is an integer. Anything else fails the test and gives -1.
  std::int64_t integer(const std::vector<std::string>& command);
  /// One command whose answer is one line or string: `+OK`, `-ERR ...`, `:1`, or the string itself.
  std::string text(const std::vector<std::string>& command);
  /// One command, as many words as its answer has lines (arrays of strings, flattened).
  std::vector<std::string> words(const std::vector<std::string>& command);

  const std::string& directory() const noexcept { return directory_; }
  void pause();   ///< SIGSTOP: it keeps its sockets and says nothing
  void resume();  ///< SIGCONT
  void kill();    ///< SIGKILL
  void start();   ///< again, after kill(); its data are gone

 private:
  bool connect();
  bool send(const std::vector<std::string>& command);
  bool read_bytes(std::size_t n, std::string& out);
  void read_words(std::vector<std::string>& out);
  bool read_line(std::string& line);

  std::vector<std::string> options_;
  std::string directory_, path_;
  pid_t child_ = -1;
  int socket_ = -1;
  std::string buffer_;
};

}  // namespace weir::test
