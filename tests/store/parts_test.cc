// The parts of the store that touch no socket: addresses, slots, breaker, scripts, errors.
#include <gtest/gtest.h>

#include <set>

#include "store/redis/breaker.h"
#include "store/redis/codec.h"
#include "store/redis/ring.h"
#include "store/redis/scripts.h"
#include "store/redis/settings.h"
#include "store/redis/slots.h"

namespace weir::store::parts_test {
namespace {

using limiter::SharedError;

TEST(Url, NamesHostSocketUserPasswordAndDatabase) {
  const RedisUrl full = parse_redis_url("rediss://ann:p%40ss%2F@redis.example:7000/3").value();
  EXPECT_TRUE(full.tls);
  EXPECT_EQ(full.endpoint.to_string(), "redis.example:7000");
  EXPECT_EQ(full.user, "ann");
  EXPECT_EQ(full.password, "p@ss/");
  EXPECT_EQ(full.database, 3);
  EXPECT_EQ(parse_redis_url("redis://localhost").value().endpoint.port, 6379);
  EXPECT_EQ(parse_redis_url("redis://[::1]:1/").value().endpoint.to_string(), "[::1]:1");
  EXPECT_EQ(parse_redis_url("redis://:secret@h").value().password, "secret");
  const RedisUrl local = parse_redis_url("unix:///run/redis.sock?db=2").value();
  EXPECT_EQ(local.endpoint.path, "/run/redis.sock");
  EXPECT_EQ(local.database, 2);
  EXPECT_EQ(parse_redis_url("unix://u:p@/run/r.sock").value().user, "u");
  for (const char* bad :
       {"", "localhost:6379", "http://x", "redis://", "redis://:0", "redis://h:99999",
        "redis://h:", "redis://h/x", "redis://h/-1", "unix://run/x", "unix:///x?db=-1",
        "unix:///x?y=1", "redis://%zz@h", "redis://a b", "redis://[::1"}) {
    std::string why;
    EXPECT_FALSE(parse_redis_url(bad, &why)) << bad;
    EXPECT_FALSE(why.empty()) << bad;
  }
}

TEST(Slots, AreThoseOfTheSpecification) {
  EXPECT_EQ(slot_of("123456789"), 0x31C3U % kSlots);
  EXPECT_EQ(slot_of("weir:1:{user}"), slot_of("user"));
  EXPECT_EQ(slot_of("weir:1:{user}:r"), slot_of("weir:2:{user}"));
  EXPECT_NE(slot_of("{}user"), slot_of("")) << "an empty tag is none";
}

TEST(Slots, RedirectsAreReadOrRefused) {
  const Redirect moved = *parse_redirect("MOVED 3999 127.0.0.1:6381");
  EXPECT_FALSE(moved.ask);
  EXPECT_EQ(moved.slot, 3999U);
  EXPECT_EQ(moved.to.to_string(), "127.0.0.1:6381");
  EXPECT_TRUE(parse_redirect("ASK 0 ::1:6381")->ask);
  EXPECT_EQ(parse_redirect("ASK 0 ::1:6381")->to.host, "::1");
  EXPECT_EQ(parse_redirect("MOVED 1 :6381")->to.host, "");
  for (const char* bad : {"MOVED", "MOVED 16384 h:1", "MOVED -1 h:1", "MOVED 1 h", "MOVED 1 h:0",
                          "MOVED 1 h:70000", "MOVED x h:1", "OOM"}) {
    EXPECT_FALSE(parse_redirect(bad)) << bad;
  }
}

TEST(Errors, AreToldApartAlsoWhenScriptsHandThemOn) {
  const std::pair<const char*, SharedError> cases[] = {
      {"NOSCRIPT No matching script.", SharedError::no_script},
      {"LOADING Redis is loading the dataset in memory", SharedError::loading},
      {"BUSY Redis is busy running a script.", SharedError::busy},
      {"TRYAGAIN Multiple keys request during rehashing of slot", SharedError::busy},
      {"READONLY You can't write against a read only replica.", SharedError::read_only},
      {"-READONLY", SharedError::refused},
      {"@user_script: 12: -READONLY You can't write against a read only replica.",
       SharedError::read_only},
      {"ERR Error running script (call to f_0): @user_script:1: OOM command not allowed when",
       SharedError::out_of_memory},
      {"OOM command not allowed when used memory > 'maxmemory'.", SharedError::out_of_memory},
      {"CLUSTERDOWN Hash slot not served", SharedError::cluster_down},
      {"MASTERDOWN Link with MASTER is down", SharedError::cluster_down},
      {"MISCONF Redis is configured to save RDB snapshots", SharedError::misconfigured},
      {"NOAUTH Authentication required.", SharedError::denied},
      {"WRONGPASS invalid username-password pair", SharedError::denied},
      {"NOPERM this user has no permissions", SharedError::denied},
      {"ERR unknown command `EVALSHA`", SharedError::denied},
      {"WRONGTYPE Operation against a key", SharedError::wrong_type},
      {"MOVED 1 h:1", SharedError::moved},
      {"ERR something else", SharedError::refused},
      {"OOMPH", SharedError::refused},
  };
  for (const auto& [text, error] : cases) EXPECT_EQ(error_of(text), error) << text;
}

TEST(Errors, EachHasARowWithNameHelpAndRetryClass) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < limiter::kSharedErrors; ++i) {
    const limiter::SharedErrorRow& row = limiter::row_of(static_cast<SharedError>(i));
    EXPECT_EQ(static_cast<std::size_t>(row.error), i);
    EXPECT_FALSE(row.help.empty());
    EXPECT_EQ(row.retry == limiter::SharedRetry::none, row.error == SharedError::none);
    names.insert(row.name);
  }
  EXPECT_EQ(names.size(), limiter::kSharedErrors);
}

TEST(Breaker, OpensAfterLateAnswersAndClosesByAQuickProbe) {
  const auto at = [](std::int64_t ms) { return from_ms(1'700'000'000'000 + ms); };
  Breaker breaker(milliseconds(5), 7);
  EXPECT_FALSE(breaker.admits()) << "nothing is connected yet";
  breaker.close();
  for (int i = 0; i < Breaker::kFailures - 1; ++i) breaker.failed(at(0));
  breaker.succeeded();
  for (int i = 0; i < Breaker::kFailures - 1; ++i) breaker.failed(at(0));
  EXPECT_TRUE(breaker.admits());
  breaker.failed(at(10));
  EXPECT_EQ(breaker.state(), Breaker::State::open);
  EXPECT_GT(breaker.probe_at(), at(10));
  EXPECT_LE(breaker.probe_at(), at(10 + 25));
  breaker.probe_sent(at(40));
  EXPECT_EQ(breaker.state(), Breaker::State::half_open);
  breaker.probe_answered(at(90));
  EXPECT_EQ(breaker.state(), Breaker::State::open) << "as slow as before";
  breaker.probe_sent(at(200));
  breaker.probe_answered(at(203));
  EXPECT_TRUE(breaker.admits());
}

TEST(Repeats, EndWhereNoneHelpsButForOneNowAndThen) {
  const auto at = [](std::int64_t ms) { return from_ms(1'700'000'000'000 + ms); };
  Repeats repeats(7);
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < Repeats::kFailures - 1; ++i) repeats.failed(at(i));
    EXPECT_TRUE(repeats.worth(at(10)));
    repeats.helped();
  }
  for (int i = 0; i < Repeats::kFailures; ++i) repeats.failed(at(20));
  EXPECT_TRUE(repeats.open());
  int tried = 0;
  for (int ms = 21; ms < 10'021; ++ms) {
    if (!repeats.worth(at(ms))) continue;
    ++tried;
    repeats.failed(at(ms));
  }
  EXPECT_GE(tried, 5);
  EXPECT_LE(tried, 14) << "once in one to two seconds, after the first ones";
  repeats.helped();
  EXPECT_TRUE(repeats.worth(at(10'021)));
  EXPECT_TRUE(repeats.worth(at(10'021)));
}

TEST(Breaker, WaitsLongerAndLongerButNeverTwoSeconds) {
  Backoff backoff(milliseconds(20), milliseconds(500), 99);
  milliseconds longest{0};
  for (int i = 0; i < 50; ++i) {
    const milliseconds wait = backoff.next();
    EXPECT_GE(wait, milliseconds(10));
    EXPECT_LE(wait, milliseconds(500));
    longest = std::max(longest, wait);
  }
  EXPECT_GT(longest, milliseconds(250));
  backoff.reset();
  EXPECT_LE(backoff.next(), milliseconds(20));
}

TEST(Scripts, EachHasATextAndItsHash) {
  std::set<std::string_view> names, hashes;
  for (ScriptIndex i = 0; i < kScripts; ++i) {
    EXPECT_NE(script(i).text.find("return out"), std::string_view::npos);
    EXPECT_EQ(script(i).sha1.size(), 40U);
    names.insert(script(i).name);
    hashes.insert(script(i).sha1);
  }
  EXPECT_EQ(names.size(), kScripts);
  EXPECT_EQ(hashes.size(), kScripts);
}

TEST(Ring, KeepsOrderWhileItGrowsAndTurns) {
  Ring<int> ring;
  int in = 0, out = 0;
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < 3; ++i) ring.push(in++);
    for (int i = 0; i < 2; ++i) ASSERT_EQ(ring.pop(), out++);
  }
  EXPECT_EQ(ring.size(), 200U);
  for (std::size_t i = 0; i < ring.size(); ++i) ASSERT_EQ(ring[i], out + static_cast<int>(i));
}

}  // namespace
}  // namespace weir::store::parts_test
