#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "app/doctor/checks.h"
#include "app/doctor/redis_talk.h"
#include "app/support/shared_store.h"
#include "core/chars/ascii.h"
#include "core/chars/parse.h"
#include "core/text.h"
#include "core/ticks.h"

namespace weir::app::doctor {
namespace {

using store::Reply;

constexpr int kLeastMajor = 6, kLeastMinor = 2;
// Windows of shared counters follow the clock of Redis; the times that people read follow the clock
// of this machine.
constexpr milliseconds kSkewNoted{1'000}, kSkewBad{60'000};

/// Tries every command of weir's scripts on a key of its own, which it removes. Gives first why the
/// server takes no writes (empty: it does), then the names of the commands that the user may not
/// call, or that the server does not know.
/// The first write is one that takes memory: after another one a full Redis lets a script continue.
constexpr std::string_view kTryRights = R"(
local key, why, refused = KEYS[1], '', {}
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return end
  local err = reply.err
  if err:find("can't run") or err:find("can't access") or err:find('NOPERM') or err:find('nknown') then
    refused[#refused + 1] = (...)
  elseif why == '' and not err:find('WRONGTYPE') then
    why = err
  end
end
try('TIME')
try('SET', key, 'a', 'PX', 60000) try('GET', key) try('MGET', key) try('GETRANGE', key, 0, 0)
try('SETRANGE', key, 0, 'a') try('APPEND', key, 'a') try('STRLEN', key) try('EXISTS', key)
try('PEXPIRE', key, 60000) try('PEXPIREAT', key, 4102444800000) try('PTTL', key)
try('DEL', key)
try('INCRBY', key, 2) try('EXPIRE', key, 60) try('DECRBY', key, 1)
try('DEL', key)
try('HSET', key, 'a', 1) try('HMSET', key, 'a', 1) try('HGET', key, 'a') try('HMGET', key, 'a') try('HGETALL', key) try('HLEN', key)
try('HEXISTS', key, 'a') try('HSTRLEN', key, 'a') try('HINCRBY', key, 'a', 1) try('PEXPIRE', key, 60000) try('HDEL', key, 'a')
try('DEL', key)
try('ZADD', key, 1, 'a') try('PEXPIRE', key, 60000) try('ZCARD', key) try('ZCOUNT', key, 0, 1) try('ZSCORE', key, 'a')
try('ZRANGE', key, 0, 0) try('ZRANGEBYSCORE', key, 0, 1) try('ZREVRANGEBYSCORE', key, 1, 0) try('ZINCRBY', key, 1, 'a')
try('ZREMRANGEBYSCORE', key, 5, 6) try('ZREMRANGEBYRANK', key, 5, 6) try('ZREM', key, 'a')
try('DEL', key)
return {why, unpack(refused)}
)";

/// The value after `name:` in an answer to INFO; empty if it is not there.
std::string_view info_of(const Reply& reply, std::string_view name) {
  const std::string_view text = reply.is_error() ? std::string_view{} : reply.text();
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string_view::npos; ++at) {
    const std::size_t value = at + name.size();
    if ((at != 0 && text[at - 1] != '\n') || value >= text.size() || text[value] != ':') continue;
    return text.substr(value + 1, text.find_first_of("\r\n", value) - value - 1);
  }
  return {};
}

/// Advice for a server that refuses writes with this error.
std::string_view advice_for(std::string_view error) {
  if (error.starts_with("READONLY"))
    return "it is a replica: name the master, or let Sentinels say who it is";
  if (error.starts_with("OOM")) return "raise its maxmemory, or give weir a Redis of its own";
  if (error.starts_with("MISCONF")) return "it can't save its data: fix its disk, or see its log";
  if (error.starts_with("NOREPLICAS"))
    return "bring back its replicas, or lower min-replicas-to-write";
  return "see the log of the server; until it takes writes, policies follow their on_error";
}

/// The check of one server: its name and the results so far.
class ServerCheck {
 public:
  ServerCheck(const store::Settings& settings, const RedisEndpoint& at, bool sentinel,
              Findings& out)
      : settings_(settings), at_(at), sentinel_(sentinel), name_(at.to_string()), out_(out) {}

  /// Gives the server that this one points to, if there is one: the master that a Sentinel names,
  /// the node of a Cluster that has the key of the test.
  std::optional<RedisEndpoint> run() {
    look();
    return std::move(next_);
  }

 private:
  void look() {
    if (!talk_.open(at_, settings_.tls, settings_.server_name)) {
      return out_.problem("redis", name_ + ": " + talk_.why(),
                          "fix the address in `redis:`, the network between, or TLS; until then "
                          "policies follow their on_error");
    }
    if (!log_in() || !greet()) return;
    if (sentinel_) {
      out_.ok("redis", name_ + " is a Sentinel that answers");
      return ask_for_master();
    }
    look_at_version();
    look_at_memory();
    look_at_clock();
    if (settings_.mode == store::Settings::Mode::cluster) look_at_slots();
    look_at_rights();
  }

  bool log_in() {
    const store::Credentials& who =
        sentinel_ ? settings_.sentinel_credentials : settings_.credentials;
    if (who.password.empty() && who.user.empty()) return true;
    const Reply* reply = who.user.empty() ? talk_.ask({"AUTH", who.password})
                                          : talk_.ask({"AUTH", who.user, who.password});
    if (reply == nullptr) return no_answer();
    if (!reply->is_error()) return true;
    out_.problem("redis",
                 name_ + " does not take the user and password: " + std::string(reply->text()),
                 "set redis.user and redis.password_file to what the server's ACL says");
    return false;
  }

  bool greet() {
    if (settings_.database != 0 && !sentinel_) {
      const Reply* chosen = talk_.ask({"SELECT", std::to_string(settings_.database)});
      if (chosen == nullptr) return no_answer();
      if (chosen->is_error()) {
        out_.problem("redis", name_ + ": SELECT: " + std::string(chosen->text()),
                     "name a database that exists");
        return false;
      }
    }
    // The best of three: the first may wait for the server's machine to wake up.
    for (int i = 0; i < 3; ++i) {
      const auto began = ticks();
      const Reply* pong = talk_.ask({"PING"});
      if (pong == nullptr) return no_answer();
      if (pong->is_error()) return refuse_greeting(std::string(pong->text()));
      const auto took = std::chrono::duration_cast<std::chrono::microseconds>(ticks() - began);
      took_ = i == 0 ? took : std::min(took_, took);
    }
    return true;
  }

  bool refuse_greeting(const std::string& error) {
    out_.problem(
        "redis", name_ + ": " + error,
        error.starts_with("NOAUTH") ? "set redis.user and redis.password_file"
        : error.starts_with("NOPERM")
            ? "let the user call PING: +ping"
            : "see the log of the server; until it answers, policies follow their on_error");
    return false;
  }

  bool no_answer() {
    out_.problem("redis", name_ + ": " + talk_.why(), "see that it is a Redis, and not overloaded");
    return false;
  }

  void ask_for_master() {
    const Reply* reply = talk_.ask({"SENTINEL", "get-master-addr-by-name", settings_.master});
    if (reply == nullptr) return static_cast<void>(no_answer());
    if (reply->is_error() || reply->root().type != Reply::Type::array || reply->size() < 3) {
      return out_.problem("redis", name_ + " knows no master \"" + settings_.master + "\"",
                          "set redis.master to the name that the Sentinels have for it");
    }
    RedisEndpoint master;
    master.host = std::string(reply->text((*reply)[1]));
    std::int64_t port = 0;
    if (!read(*reply, 2, port) || port <= 0 || port > 65'535) {
      return out_.problem("redis", name_ + " names a master without a port",
                          "see that it is a Sentinel");
    }
    master.port = static_cast<std::uint16_t>(port);
    out_.ok("redis", "\"" + settings_.master + "\" is at " + master.to_string());
    next_ = std::move(master);
  }

  void look_at_version() {
    const Reply* reply = talk_.ask({"INFO", "server"});
    const std::string seen = name_ + " answers in " + std::to_string(took_.count()) + " us";
    if (reply == nullptr) return static_cast<void>(no_answer());
    const std::string_view version = info_of(*reply, "redis_version");
    if (version.empty()) {
      return out_.ok("redis", seen + "; its version can't be asked (+info would allow it)");
    }
    // A fork may have letters after the digits: `6.2-fork`.
    int major = 0, minor = 0;
    const auto read = std::from_chars(version.data(), version.data() + version.size(), major);
    if (read.ptr != version.data() + version.size())
      std::from_chars(read.ptr + 1, version.data() + version.size(), minor);
    const std::string known = seen + ", version " + std::string(version);
    if (major < kLeastMajor || (major == kLeastMajor && minor < kLeastMinor)) {
      return out_.problem("redis", known, "weir needs Redis 6.2 or newer");
    }
    if (settings_.functions && major < 7) {
      return out_.problem("redis", known, "redis.functions needs Redis 7: leave it out");
    }
    const std::int64_t budget_us = settings_.budget.count() * 1'000;
    if (took_.count() > budget_us) {
      return out_.warning("redis", known,
                          "that is more than redis.budget, " + human_duration(settings_.budget) +
                              ": requests would be judged without it; raise the budget, or bring "
                              "it nearer");
    }
    out_.ok("redis", known);
  }

  /// A Redis that throws keys away forgets counts without a word.
  void look_at_memory() {
    const Reply* reply = talk_.ask({"INFO", "memory"});
    if (reply == nullptr) return static_cast<void>(no_answer());
    const std::string policy(info_of(*reply, "maxmemory_policy"));
    const std::string_view most = info_of(*reply, "maxmemory");
    if (policy.empty() || policy == "noeviction" || most.empty() || most == "0") return;
    out_.warning("eviction",
                 name_ + " has maxmemory-policy " + policy +
                     ": when it is full, it drops counts and list entries",
                 "set maxmemory-policy noeviction: every key of weir ends by itself");
  }

  void look_at_slots() {
    const Reply* reply = talk_.ask({"CLUSTER", "SLOTS"});
    if (reply == nullptr) return static_cast<void>(no_answer());
    if (!reply->is_error()) return;
    const std::string text(reply->text());
    out_.problem(
        "redis", name_ + ": CLUSTER SLOTS: " + text,
        text.starts_with("NOPERM")
            ? "give the user +cluster|slots"
            : "it is not a node of a Cluster: name it in redis.url instead of redis.cluster");
  }

  void look_at_clock() {
    const TimePoint before = Clock::wall();
    const Reply* reply = talk_.ask({"TIME"});
    const TimePoint after = Clock::wall();
    if (reply == nullptr) return static_cast<void>(no_answer());
    std::int64_t seconds = 0, micros = 0;
    if (reply->is_error() || reply->size() < 3 || !read((*reply), 1, seconds) ||
        !read((*reply), 2, micros)) {
      return out_.warning("clock", name_ + " does not tell the time",
                          "let the user call TIME: +time");
    }
    const TimePoint theirs = from_ms(seconds * 1'000 + micros / 1'000);
    const milliseconds skew = theirs < before  ? before - theirs
                              : theirs > after ? theirs - after
                                               : milliseconds{0};
    const std::string seen = name_ + " is " + human_duration(skew) +
                             (theirs < before ? " behind" : " ahead of") + " this machine";
    if (skew < kSkewNoted) return out_.ok("clock", name_ + " has the time of this machine");
    if (skew < kSkewBad) {
      return out_.warning("clock", seen,
                          "let both take their time from NTP: windows that replicas "
                          "share use the clock of Redis");
    }
    out_.problem("clock", seen,
                 "let both take their time from NTP: entries of shared lists would end at another "
                 "time than the entries say");
  }

  void look_at_rights() {
    const Reply* reply = talk_.ask({"EVAL", kTryRights, "1", "weir:doctor:{doctor}"});
    if (reply == nullptr) return static_cast<void>(no_answer());
    if (reply->is_error()) {
      const std::string text(reply->text());
      if (text.starts_with("MOVED ")) return follow(text);
      if (!text.starts_with("NOPERM"))
        return out_.problem("redis", name_ + ": EVAL: " + text, std::string(advice_for(text)));
      return out_.problem("rights", name_ + ": EVAL: " + text,
                          "give the user +eval +evalsha and ~weir:*");
    }
    if (reply->root().type != Reply::Type::array || reply->size() < 2) {
      return out_.problem("rights", name_ + ": EVAL gives no list", "see that it is a Redis");
    }
    if (const std::string why(reply->text((*reply)[1])); !why.empty()) {
      return out_.problem("redis", name_ + " takes no writes: " + why,
                          std::string(advice_for(why)));
    }
    std::string refused;
    for (std::size_t i = 2; i < reply->size(); ++i) {
      const std::string word = ascii::lowered(reply->text((*reply)[i]));
      if ((refused + " ").find("+" + word + " ") != std::string::npos) continue;
      refused += (refused.empty() ? "+" : " +") + word;
    }
    if (!refused.empty()) {
      return out_.problem("rights", name_ + ": scripts may not call all that they need",
                          "give the user " + refused + " on ~weir:*");
    }
    const Reply* loaded = talk_.ask({"EVALSHA", "0000000000000000000000000000000000000000", "0"});
    if (loaded != nullptr && loaded->is_error() && loaded->text().starts_with("NOPERM")) {
      return out_.problem("rights", name_ + ": EVALSHA: " + std::string(loaded->text()),
                          "give the user +evalsha");
    }
    out_.ok("rights", name_ + ": the user may do what weir's scripts do");
  }

  static bool read(const Reply& reply, std::size_t i, std::int64_t& out) {
    const auto number = parse_whole<std::int64_t>(reply.text(reply[i]));
    if (number) out = *number;
    return number.has_value();
  }

  /// The key of the test belongs to another node: only that node shows the user's rights.
  void follow(const std::string& moved) {
    if (settings_.mode != store::Settings::Mode::cluster) {
      return out_.problem("redis", name_ + " is a node of a Cluster: " + moved,
                          "name some of its nodes in redis.cluster instead of redis.url");
    }
    const auto node = parse_redis_endpoint(moved.substr(moved.rfind(' ') + 1), 6379);
    if (node) next_ = *node;
  }

  const store::Settings& settings_;
  const RedisEndpoint& at_;
  bool sentinel_;
  std::string name_;
  Findings& out_;
  RedisTalk talk_;
  std::chrono::microseconds took_{0};
  std::optional<RedisEndpoint> next_;
};

}  // namespace

void check_redis(const config::Server& server, Findings& out) {
  if (!server.redis) return out.ok("redis", "not used: each replica counts by itself");
  SharedStoreSettings settings;
  std::string message;
  if (!read_shared_store(server, settings, message)) {
    return out.problem("redis", message, "weir would not start: fix the file");
  }
  const bool sentinels = settings.store.mode == store::Settings::Mode::sentinel;
  // Each server once; no more than each names one other.
  std::vector<RedisEndpoint> seen;
  for (const RedisEndpoint& at : settings.store.endpoints) {
    std::optional<RedisEndpoint> next = at;
    for (bool sentinel = sentinels; next; sentinel = false) {
      if (std::find(seen.begin(), seen.end(), *next) != seen.end()) break;
      seen.push_back(*next);
      next = ServerCheck(settings.store, seen.back(), sentinel, out).run();
    }
  }
}

std::string_view commands_tried() noexcept { return kTryRights; }

}  // namespace weir::app::doctor
