// A peer that speaks RESP by a script: answers that no real server gives, and that must do no harm.
#include <gtest/gtest.h>

#include <atomic>

#include "tests/store/world.h"
#include "tests/support/origin_server.h"
#include "tests/support/temp_path.h"

namespace weir::store::hostile_test {
namespace {

using limiter::SharedCounter;
using limiter::SharedError;
using limiter::SharedPart;
using limiter::SharedVerb;
using test::Ask;
using test::World;
using weir::test::OriginServer;
using weir::test::Stream;

/// Reads one command (our own RESP); false at the end.
bool read_command(Stream& stream, std::vector<std::string>& words) {
  words.clear();
  const auto line = [&](std::string& out) {
    std::size_t end;
    while ((end = stream.buffer().find("\r\n")) == std::string::npos) {
      if (!stream.fill()) return false;
    }
    out = stream.buffer().substr(0, end);
    stream.buffer().erase(0, end + 2);
    return true;
  };
  std::string text;
  if (!line(text)) return false;
  for (int n = std::stoi(text.substr(1)); n > 0; --n) {
    if (!line(text)) return false;
    const auto size = static_cast<std::size_t>(std::stoul(text.substr(1)));
    while (stream.buffer().size() < size + 2) {
      if (!stream.fill()) return false;
    }
    words.push_back(stream.buffer().substr(0, size));
    stream.buffer().erase(0, size + 2);
  }
  return true;
}

struct SocketPath : weir::test::TempPath {
  SocketPath() { ::unlink(path.c_str()); }  // the peer makes a socket of it
};

const std::string kWorks = "*1\r\n:0\r\n";  // to a probe

struct Case {
  const char* name;
  std::string answer;  // to every EVALSHA; empty: none, ever
  SharedError error;
  SharedVerb verb = SharedVerb::add;  // whose answer is a number; that of others has a flag first
};

std::string nested(int depth) {
  std::string out;
  for (int i = 0; i < depth; ++i) out += "*1\r\n";
  return out;
}

const SharedCounter& counter() {
  static const SharedCounter made({0xFEED, 1}, limiter::CounterSpec{});
  return made;
}

void add(Ask& ask, SharedVerb verb = SharedVerb::add) {
  SharedPart part;
  part.counter = &counter();
  static std::uint64_t sequence = 0;
  ask.add(verb, {part}, "k").id = {3, ++sequence};
}

TEST(Hostile, WhateverAPeerAnswersIsAnErrorInTime) {
  const Case cases[] = {
      {"garbage", "HTTP/1.1 400 Bad Request\r\n\r\n", SharedError::malformed},
      {"a header of 2 GB", "$2147483647\r\n", SharedError::malformed},
      {"an array of 2^31", "*2147483648\r\n", SharedError::malformed},
      {"an array of 2^32 - 1", "*4294967295\r\n", SharedError::malformed},
      {"deep nesting", nested(100), SharedError::malformed},
      {"an answer to another question", "+OK\r\n", SharedError::malformed},
      {"an answer that is too short", "*1\r\n:1700000000000\r\n", SharedError::malformed},
      {"an answer that is not a number", "*2\r\n:1\r\n$-1\r\n", SharedError::malformed},
      {"an answer without a flag", "*2\r\n:1700000000000\r\n:1\r\n", SharedError::malformed,
       SharedVerb::read},
      {"an answer with texts for numbers", "*3\r\n:1\r\n:1\r\n$1\r\nx\r\n", SharedError::malformed,
       SharedVerb::read},
      {"an answer with a flag that is none", "*3\r\n:1\r\n:7\r\n:1\r\n", SharedError::malformed,
       SharedVerb::read},
      {"LOADING", "-LOADING Redis is loading the dataset in memory\r\n", SharedError::loading},
      {"BUSY, again and again", "-BUSY Redis is busy running a script.\r\n", SharedError::busy},
      {"NOSCRIPT even after EVAL", "-NOSCRIPT No matching script.\r\n", SharedError::no_script},
      {"an error that nobody knows", "-WEIRD what\r\n", SharedError::refused},
      {"MOVED outside of a cluster", "-MOVED 1 127.0.0.1:1\r\n", SharedError::moved},
      {"silence", "", SharedError::timed_out},
      {"a few bytes and then none", "*4\r\n:170000", SharedError::timed_out},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    const SocketPath socket;
    const std::string& path = socket.path;
    OriginServer peer(
        [&](Stream& stream, int) {
          std::vector<std::string> words;
          while (read_command(stream, words)) {
            if (words[0] == "PING") stream.write("+PONG\r\n");
            if (words[0] == "SCRIPT") stream.write("-NOPERM no\r\n");
            if (words[0].starts_with("EVAL")) stream.write(words[2] == "0" ? kWorks : c.answer);
          }
        },
        path);
    World world;
    Settings settings = test::unix_settings(path);
    settings.timeout = milliseconds(50);
    const auto store = test::connected(world, settings);
    Ask ask;
    add(ask, c.verb);
    ask.run(world, *store, milliseconds(2'000));
    EXPECT_EQ(ask.answers[0].error, c.error) << row_of(ask.answers[0].error).name;
    EXPECT_EQ(ask.told, 1);
  }
}

TEST(Hostile, AnswersThatNobodyAskedForEndTheConnection) {
  const SocketPath socket;
  const std::string& path = socket.path;
  OriginServer peer(
      [&](Stream& stream, int) {
        std::vector<std::string> words;
        while (read_command(stream, words)) stream.write("+PONG\r\n+PONG\r\n");
      },
      path);
  World world;
  RedisStore store(world.worker, test::unix_settings(path), 1);
  world.turn([&] { store.start(); });
  EXPECT_TRUE(world.until([&] { return store.stats().connects >= 3; })) << "made again each time";
}

Settings sentinels_at(const std::vector<std::string>& paths) {
  Settings out = test::unix_settings(paths.front());
  out.mode = Settings::Mode::sentinel;
  out.master = "counters";
  out.endpoints.clear();
  for (const std::string& path : paths) {
    Endpoint endpoint;
    endpoint.path = path;
    out.endpoints.push_back(endpoint);
  }
  return out;
}

TEST(Hostile, SentinelsThatCannotBeReachedAreTriedAgainInAWhile) {
  World world;
  const SocketPath first, second;  // no listener: connecting fails at once
  RedisStore away(world.worker, sentinels_at({first.path, second.path}), 1);
  world.turn([&] { away.start(); });
  world.until([] { return false; }, milliseconds(100));
  EXPECT_FALSE(away.stats().up);
  EXPECT_TRUE(away.why().starts_with("Sentinel: ")) << away.why();

  OriginServer a([](Stream&, int) {}, first.path), b([](Stream&, int) {}, second.path);
  RedisStore store(world.worker, sentinels_at({first.path, second.path}), 1);
  world.turn([&] { store.start(); });
  world.until([] { return false; }, milliseconds(500));
  EXPECT_GE(std::min(a.connections(), b.connections()), 1);
  EXPECT_LE(a.connections() + b.connections(), 20) << "with back-off";
}

TEST(Hostile, EverySentinelIsAskedUntilOneKnowsTheMaster) {
  for (const std::size_t count : {2U, 4U}) {
    SCOPED_TRACE(count);
    std::vector<std::atomic<int>> asked(count);
    std::vector<std::unique_ptr<SocketPath>> sockets;
    std::vector<std::string> paths;
    std::vector<std::unique_ptr<OriginServer>> sentinels;
    for (std::size_t i = 0; i < count; ++i) {
      sockets.push_back(std::make_unique<SocketPath>());
      paths.push_back(sockets.back()->path);
      const bool knows = i + 1 == count;
      const auto serve = [&asked, i, knows](Stream& stream, int) {
        std::vector<std::string> words;
        while (read_command(stream, words)) {
          const bool where = words[0] == "SENTINEL";
          if (where) ++asked[i];
          stream.write(!where  ? "+PONG\r\n"
                       : knows ? "*2\r\n$9\r\n127.0.0.1\r\n$1\r\n1\r\n"
                               : "*-1\r\n");
        }
      };
      sentinels.push_back(std::make_unique<OriginServer>(serve, paths.back()));
    }
    World world;
    RedisStore store(world.worker, sentinels_at(paths), 1);
    world.turn([&] { store.start(); });
    EXPECT_TRUE(world.until([&] { return asked.back() >= 1; })) << "the last one knows it";
    for (const auto& times : asked) EXPECT_GE(times.load(), 1);
  }
}

TEST(Hostile, APortWithMoreBehindItsDigitsNamesNoMaster) {
  const SocketPath first, second;
  std::atomic<int> asked{0};
  const auto odd = [&](Stream& stream, int) {
    std::vector<std::string> words;
    while (read_command(stream, words)) {
      const bool where = words[0] == "SENTINEL";
      stream.write(where ? "*2\r\n$9\r\n127.0.0.1\r\n$3\r\n1@2\r\n" : "+PONG\r\n");
      if (where) ++asked;
    }
  };
  OriginServer a(odd, first.path), b(odd, second.path);
  World world;
  RedisStore store(world.worker, sentinels_at({first.path, second.path}), 1);
  world.turn([&] { store.start(); });
  ASSERT_TRUE(world.until([&] { return asked >= 2; })) << "both";
  EXPECT_TRUE(world.until([&] {
    return store.why() == "Sentinel: no master is known as \"counters\"";
  })) << store.why();
}

TEST(Hostile, SentinelsThatKnowNoMasterAreAskedOnceASecond) {
  const SocketPath first, second;
  std::atomic<int> asked{0};
  std::atomic<bool> refuses{false};
  const auto ignorant = [&](Stream& stream, int) {
    std::vector<std::string> words;
    while (read_command(stream, words)) {
      const char* const reply = refuses ? "-NOPERM no permission\r\n" : "*-1\r\n";
      stream.write(words[0] == "SENTINEL" ? reply : "+PONG\r\n");
      if (words[0] == "SENTINEL") ++asked;
    }
  };
  OriginServer a(ignorant, first.path), b(ignorant, second.path);
  World world;
  RedisStore store(world.worker, sentinels_at({first.path, second.path}), 1);
  world.turn([&] { store.start(); });
  ASSERT_TRUE(world.until([&] { return asked >= 2; })) << "both";
  EXPECT_EQ(store.why(), "Sentinel: no master is known as \"counters\"");
  refuses = true;
  ASSERT_TRUE(world.until([&] { return store.why().find("NOPERM") != std::string::npos; }))
      << store.why();
  const int before = asked;
  world.until([] { return false; }, milliseconds(1'500));
  EXPECT_GE(asked, before + 1);
  EXPECT_LE(asked, before + 6);
}

/// `CLUSTER SLOTS`: all of them at one address.
std::string all_slots_at(const std::string& host, int port) {
  return "*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$" + std::to_string(host.size()) + "\r\n" + host +
         "\r\n:" + std::to_string(port) + "\r\n";
}

TEST(Hostile, NodesThatHaveLeftTheClusterMakeRoomForOthers) {
  // The same node, every time under another address, as in Kubernetes. The seed has no slots.
  std::atomic<int> moves{0};
  const auto node = [&](Stream& stream, int) {
    std::vector<std::string> words;
    while (read_command(stream, words)) {
      if (words[0] == "CLUSTER") {
        stream.write(all_slots_at("127.1.0." + std::to_string(++moves % 250), 1));
      } else if (words[0] == "SCRIPT") {
        stream.write("-NOPERM no\r\n");
      } else {
        stream.write("+PONG\r\n");
      }
    }
  };
  OriginServer seed(node);
  World world;
  Settings settings = test::unix_settings("");
  settings.mode = Settings::Mode::cluster;
  settings.endpoints = {{"127.0.0.1", seed.port(), ""}};
  RedisStore store(world.worker, settings, 1);
  world.turn([&] { store.start(); });
  ASSERT_TRUE(world.until([&] {  // the node of a key is away, so its owner is asked again
    Ask ask;
    add(ask);
    ask.run(world, store, milliseconds(5));
    return moves >= 12;
  }));
  EXPECT_LE(store.stats().nodes, 4U);
}

TEST(Hostile, ALoadingServerIsNotUsedUntilItHasLoaded) {
  const SocketPath socket;
  const std::string& path = socket.path;
  OriginServer peer(
      [&](Stream& stream, int number) {
        std::vector<std::string> words;
        while (read_command(stream, words)) {
          stream.write(number < 3 ? "-LOADING Redis is loading the dataset in memory\r\n"
                       : words[0].starts_with("EVAL") ? kWorks
                                                      : "+PONG\r\n");
        }
      },
      path);
  World world;
  RedisStore store(world.worker, test::unix_settings(path), 1);
  world.turn([&] { store.start(); });
  EXPECT_TRUE(world.until([&] { return store.stats().up; }));
  EXPECT_EQ(store.stats().connects, 3U);
}

TEST(Hostile, NodesThatSendKeysInACircleAreGivenUp) {
  std::atomic<int> port = 0;
  std::atomic<int> asked = 0;
  OriginServer peer([&](Stream& stream, int) {
    std::vector<std::string> words;
    while (read_command(stream, words)) {
      const std::string here = std::to_string(port);
      if (words[0] == "PING") stream.write("+PONG\r\n");
      if (words[0] == "SCRIPT") stream.write("-NOPERM no\r\n");
      if (words[0] == "CLUSTER") {
        stream.write("*1\r\n*3\r\n:0\r\n:16383\r\n*2\r\n$9\r\n127.0.0.1\r\n:" + here + "\r\n");
      }
      if (words[0] == "ASKING") stream.write("+OK\r\n");
      if (words[0].starts_with("EVAL")) {
        const std::string kind = ++asked % 2 == 0 ? "-ASK " : "-MOVED ";
        stream.write(kind + "11 127.0.0.1:" + here + "\r\n");
      }
    }
  });
  port = peer.port();
  World world;
  Settings settings;
  settings.mode = Settings::Mode::cluster;
  settings.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(port), ""}};
  settings.timeout = milliseconds(2'000);
  const auto store = test::connected(world, settings);
  Ask ask;
  add(ask);
  ask.run(world, *store);
  EXPECT_EQ(ask.answers[0].error, SharedError::moved);
  EXPECT_LE(asked, 6);
}

}  // namespace
}  // namespace weir::store::hostile_test
