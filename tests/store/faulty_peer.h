#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "tests/store/resp_stream.h"
#include "tests/support/origin_server.h"
#include "tests/support/redis_server.h"

namespace weir::store::test {

enum class Fault : std::uint8_t {
  none,
  refused,      ///< READONLY, as a server answers that is no master any more
  lost_before,  ///< the connection breaks: nothing was executed
  lost_after,   ///< everything was executed, but the replies are lost
};

inline std::string_view name_of(Fault fault) {
  constexpr std::string_view kNames[] = {"none", "refused", "lost before", "lost after"};
  return kNames[static_cast<std::size_t>(fault)];
}

/// A peer between a store and Redis. A fault that is armed happens to the next calls with
/// operations.
class FaultyPeer {
 public:
  explicit FaultyPeer(const weir::test::RedisServer& redis)
      : path_(redis.directory() + "/between.sock"),
        peer_([this, &redis](Stream& client, int) { serve(client, redis.path()); }, path_) {}

  const std::string& path() const noexcept { return path_; }
  /// To all calls that arrive together.
  void arm(Fault fault) noexcept {
    one_ = false;
    armed_ = fault;
  }
  /// To one call alone.
  void arm_one(Fault fault) noexcept {
    one_ = true;
    armed_ = fault;
  }
  /// Whether the armed fault has happened.
  bool has_happened() const noexcept { return armed_ == Fault::none; }

 private:
  using Stream = weir::test::Stream;

  /// A call of a script that has keys: not a probe, nor the text of a script.
  static bool has_operations(const std::string& command) {
    const std::vector<std::string> words = words_of(command);
    return words.size() > 2 && words[0].starts_with("EVAL") && words[2] != "0";
  }

  void serve(Stream& client, const std::string& path) {
    Stream server = Stream::connect_unix(path);
    std::string command;
    while (!(command = next_value(client)).empty()) {
      const Fault fault = has_operations(command) ? armed_.load() : Fault::none;
      const bool is_last = one_ || client.buffer().empty();
      if (fault == Fault::refused) {
        if (is_last) armed_ = Fault::none;
        client.write("-READONLY You can't write against a read only replica.\r\n");
        continue;
      }
      if (fault == Fault::lost_before) {
        armed_ = Fault::none;
        return;
      }
      server.write(command);
      const std::string answer = next_value(server);
      if (fault == Fault::lost_after) {
        if (!is_last) continue;
        armed_ = Fault::none;
        return;
      }
      client.write(answer);
    }
  }

  std::string path_;
  std::atomic<Fault> armed_{Fault::none};
  std::atomic<bool> one_{false};
  weir::test::OriginServer peer_;
};

}  // namespace weir::store::test
