// TLS to a real server: the server's certificate, and our own.
#include "net/tls.h"

#include "tests/store/world.h"
#include "tests/support/certificates.h"
#include "tests/support/free_port.h"
#include "tests/support/redis_server.h"

namespace weir::store::tls_test {
namespace {

using limiter::SharedError;
using limiter::SharedPart;
using limiter::SharedVerb;
using net::TlsContext;
using net::TlsFiles;
using test::Ask;
using test::World;
using weir::test::Certificates;
using weir::test::RedisServer;

/// redis-server's words for TLS on that port, and no other.
std::vector<std::string> tls_on(int port, const std::string& dir) {
  return {"--port",
          "0",
          "--bind",
          "127.0.0.1",
          "--tls-port",
          std::to_string(port),
          "--tls-cert-file",
          dir + "/server.pem",
          "--tls-key-file",
          dir + "/server.key",
          "--tls-ca-cert-file",
          dir + "/ca.pem",
          "--tls-auth-clients",
          "yes",
          "--tls-replication",
          "yes"};
}

TlsFiles files_of(const std::string& dir) {
  return {dir + "/ca.pem", dir + "/client.pem", dir + "/client.key"};
}

Settings secured(int port, const TlsFiles& files, const std::string& server_name = "redis.test") {
  Settings out;
  out.endpoints = {{"127.0.0.1", static_cast<std::uint16_t>(port), ""}};
  out.timeout = milliseconds(2'000);
  out.budget = milliseconds(1'000);
  out.server_name = server_name;
  std::string why;
  const auto context = TlsContext::open(files, why);
  EXPECT_TRUE(context) << why;
  if (context) out.tls = *context;
  return out;
}

/// Adds an event to each of so many new keys.
void count(World& world, RedisStore& store, const std::string& prefix, std::uint64_t keys) {
  const limiter::SharedCounter counter({7, 7}, limiter::CounterSpec{});
  Ask ask;
  for (std::uint64_t i = 0; i < keys; ++i) {
    SharedPart part;
    part.counter = &counter;
    ask.add(SharedVerb::add, {part}, prefix + std::to_string(i)).id = {1, i + 1};
  }
  ask.run(world, store, milliseconds(20'000));
  for (const auto& answer : ask.answers) {
    ASSERT_EQ(answer.error, SharedError::none) << store.why();
    ASSERT_EQ(answer.parts[0].reading.value, Number(1));
  }
}

TEST(Tls, TheServerMustProveItsNameAndWeOurs) {
  const Certificates certificates;
  const std::string& dir = certificates.dir;
  const int port = weir::test::free_port();
  RedisServer redis(tls_on(port, dir));
  struct Case {
    const char* name;
    TlsFiles files;
    const char* server_name;
    bool connects;
    const char* why;
  };
  const TlsFiles good = files_of(dir);
  const Case cases[] = {
      {"by name", good, "redis.test", true, ""},
      {"by address", good, "", true, ""},
      {"another name", good, "evil.test", false, "mismatch"},
      {"another CA", {dir + "/other.pem", good.cert, good.key}, "redis.test", false, "certificate"},
      {"no certificate of ours", {good.ca, "", ""}, "redis.test", false, ""},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(c.name);
    World world;
    RedisStore store(world.worker, secured(port, c.files, c.server_name), 1);
    world.turn([&] { store.start(); });
    ASSERT_TRUE(world.until([&] {
      return store.stats().up || (store.why() != "not connected yet" && !store.why().empty());
    }));
    EXPECT_EQ(store.stats().up, c.connects) << store.why();
    EXPECT_NE(store.why().find(c.why), std::string::npos) << store.why();
    if (!c.connects) continue;
    // Many at once: more than a record, both ways.
    count(world, store, c.name, 3'000);
  }
}

TEST(Tls, SentinelsAndTheMasterThatTheyNameHaveUsersOfTheirOwn) {
  const Certificates certificates;
  const std::string& dir = certificates.dir;
  const int port = weir::test::free_port(), sentinel_port = weir::test::free_port();
  RedisServer redis(tls_on(port, dir));
  std::vector<std::string> words = tls_on(sentinel_port, dir);
  words.insert(words.begin(), "--sentinel");
  RedisServer sentinel(words);
  redis.text({"ACL", "SETUSER", "counter", "on", ">of-the-master", "~*", "&*", "+@all"});
  redis.text({"ACL", "SETUSER", "default", "off"});
  sentinel.text({"SENTINEL", "MONITOR", "counters", "127.0.0.1", std::to_string(port), "1"});
  sentinel.text({"SENTINEL", "SET", "counters", "auth-user", "counter"});
  sentinel.text({"SENTINEL", "SET", "counters", "auth-pass", "of-the-master"});
  sentinel.text({"ACL", "SETUSER", "asker", "on", ">of-the-sentinel", "&*", "+@all"});
  sentinel.text({"ACL", "SETUSER", "default", "off"});

  World world;
  Settings settings = secured(sentinel_port, files_of(dir));
  settings.mode = Settings::Mode::sentinel;
  settings.master = "counters";
  settings.credentials = {"counter", "of-the-master"};
  settings.sentinel_credentials = {"asker", "of-the-sentinel"};
  count(world, *test::connected(world, settings), "k", 100);

  settings.sentinel_credentials = {"asker", "of-the-master"};
  RedisStore refused(world.worker, settings, 1);
  world.turn([&] { refused.start(); });
  EXPECT_TRUE(world.until([&] { return refused.why().find("WRONGPASS") != std::string::npos; }))
      << refused.why();
}

TEST(Tls, TheNodesOfAClusterAreReachedByIt) {
  const Certificates certificates;
  const std::string& dir = certificates.dir;
  const int port = weir::test::free_port();
  std::vector<std::string> words = tls_on(port, dir);
  for (const std::string word :
       {"--cluster-enabled", "yes", "--tls-cluster", "yes", "--cluster-port"}) {
    words.push_back(word);
  }
  words.push_back(std::to_string(weir::test::free_port()));
  RedisServer node(words);
  node.text({"CLUSTER", "ADDSLOTSRANGE", "0", "16383"});
  World world;
  ASSERT_TRUE(world.until([&] {
    for (const std::string& word : node.words({"CLUSTER", "INFO"})) {
      if (word.find("cluster_state:ok") != std::string::npos) return true;
    }
    return false;
  }));
  Settings settings = secured(port, files_of(dir));
  settings.mode = Settings::Mode::cluster;
  count(world, *test::connected(world, settings), "k", 100);
}

TEST(Tls, FilesThatCannotBeUsedAreNamed) {
  const Certificates certificates;
  const std::string& dir = certificates.dir;
  std::string why;
  EXPECT_FALSE(TlsContext::open({dir + "/none.pem", "", ""}, why));
  EXPECT_NE(why.find("none.pem: No such file"), std::string::npos) << why;
  EXPECT_FALSE(TlsContext::open({dir + "/ca.pem", dir + "/san", dir + "/client.key"}, why));
  EXPECT_NE(why.find("san"), std::string::npos) << why;
  EXPECT_FALSE(TlsContext::open({dir + "/ca.pem", dir + "/client.pem", dir + "/other.key"}, why));
  EXPECT_NE(why.find("other.key"), std::string::npos) << why;
}

}  // namespace
}  // namespace weir::store::tls_test
