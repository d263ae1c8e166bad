#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace weir::test {

/// One end of a blocking stream with a generous deadline on every call (20 s, then the test fails).
class Stream {
 public:
  explicit Stream(int fd) noexcept : fd_(fd) {}
  Stream(Stream&& other) noexcept;
  Stream& operator=(Stream&& other) noexcept;
  ~Stream() { close(); }

  static Stream connect_tcp(std::uint16_t port);
  static Stream connect_unix(const std::string& path);

  bool is_open() const noexcept { return fd_ >= 0; }
  int fd() const noexcept { return fd_; }
  bool write(std::string_view bytes);  ///< false: the peer is gone
  /// More bytes into buffer(). False at the end of the stream or a reset.
  bool fill();
  std::string& buffer() noexcept { return buffer_; }
  std::optional<std::string> read_head();   ///< up to and with the empty line
  std::string read_exactly(std::size_t n);  ///< less only if the stream ended
  std::string read_to_end();
  /// The next body by the framing that its head states; `head_request`: there is none.
  std::string read_body(std::string_view head, bool head_request = false);
  std::string read_chunked();
  bool was_reset() const noexcept { return reset_; }
  void shutdown_write() noexcept;
  void reset() noexcept;  ///< closes with RST
  void close() noexcept;
  void shrink_receive_buffer() noexcept;

 private:
  int fd_;
  bool reset_ = false;
  std::string buffer_;
};

/// The value of a field, or nothing. Names without regard to case.
std::optional<std::string> field(std::string_view head, std::string_view name);

/// A scriptable app: runs the script on a thread per connection.
class OriginServer {
 public:
  /// `number` counts connections from 1.
  using Script = std::function<void(Stream& stream, int number)>;

  explicit OriginServer(Script script, std::string unix_path = {});
  ~OriginServer();

  std::uint16_t port() const noexcept { return port_; }
  int connections() const noexcept { return connections_; }
  void stop();     ///< refuses connections and cuts those it has
  void restart();  ///< listens again on the same port or path

  /// A script that answers every request of a connection with what `answer` makes of head and body.
  static Script answering(
      std::function<std::string(std::string_view head, std::string body)> answer);

 private:
  void listen();
  void accept_loop(int fd);

  Script script_;
  std::string unix_path_;
  std::uint16_t port_ = 0;
  int listen_fd_ = -1;
  std::atomic<int> connections_{0};
  std::thread acceptor_;
  std::mutex mutex_;
  std::list<std::thread> threads_;
  std::list<int> fds_;
};

}  // namespace weir::test
