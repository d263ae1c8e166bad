#include <charconv>
#include <cmath>

#include "app/doctor/checks.h"
#include "app/doctor/redis_talk.h"
#include "app/support/shared_store.h"
#include "core/text.h"
#include "core/ticks.h"

namespace weir::app::doctor {
namespace {

using store::Reply;

constexpr int kLeastMajor = 6, kLeastMinor = 2;
// Windows of shared counters follow the clock of Redis; the times that people read follow the clock
// of this machine.
constexpr milliseconds kSkewNoted{1'000}, kSkewBad{60'000};

/// Tries every command of weir's scripts on a key of its own, which it removes. Gives the names of
/// those that the user may not call, or that the server does not know.
constexpr std::string_view kTryRights = R"(
local key, refused = KEYS[1], {}
local function try(...)
  local reply = redis.pcall(...)
  if type(reply) ~= 'table' or not reply.err then return end
  local err = reply.err
  if err:find("can't run") or err:find("can't access") or err:find('NOPERM') or err:find('nknown') then
    refused[#refused + 1] = (...)
  end
end
try('TIME')
try('DEL', key)
try('SET', key, 'a', 'PX', 60000) try('GET', key) try('MGET', key) try('GETRANGE', key, 0, 0)
try('SETRANGE', key, 0, 'a') try('APPEND', key, 'a') try('STRLEN', key) try('EXISTS', key)
try('PEXPIRE', key, 60000) try('PEXPIREAT', key, 4102444800000) try('PTTL', key)
try('DEL', key)
try('HSET', key, 'a', 1) try('HGET', key, 'a') try('HMGET', key, 'a') try('HGETALL', key) try('HLEN', key)
try('HINCRBY', key, 'a', 1) try('PEXPIRE', key, 60000) try('HDEL', key, 'a')
try('DEL', key)
try('ZADD', key, 1, 'a') try('PEXPIRE', key, 60000) try('ZCARD', key) try('ZCOUNT', key, 0, 1) try('ZSCORE', key, 'a')
try('ZRANGE', key, 0, 0) try('ZRANGEBYSCORE', key, 0, 1) try('ZREVRANGEBYSCORE', key, 1, 0) try('ZINCRBY', key, 1, 'a')
try('ZREMRANGEBYSCORE', key, 5, 6) try('ZREMRANGEBYRANK', key, 5, 6) try('ZREM', key, 'a')
try('DEL', key)
return refused
)";

/// The check of one server: its name and the results so far.
class ServerCheck {
 public:
  ServerCheck(const SharedStoreSettings& settings, const RedisEndpoint& at, bool sentinel,
              Findings& out)
      : settings_(settings.store), at_(at), sentinel_(sentinel), name_(at.to_string()), out_(out) {}

  void run() {
    if (!talk_.open(at_, settings_.tls, settings_.server_name)) {
      return out_.problem("redis", name_ + ": " + talk_.why(),
                          "mend the address in `redis:`, the network between, or TLS; until then "
                          "policies go on as their on_error says");
    }
    if (!log_in() || !greet()) return;
    if (sentinel_) {
      out_.ok("redis", name_ + " is a Sentinel that answers");
      return ask_for_master();
    }
    look_at_version();
    look_at_clock();
    look_at_rights();
  }

 private:
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
                     "name a database that there is");
        return false;
      }
    }
    const auto began = ticks();
    const Reply* pong = talk_.ask({"PING"});
    if (pong == nullptr) return no_answer();
    if (pong->is_error()) {
      const std::string text(pong->text());
      const bool needs = text.starts_with("NOAUTH");
      out_.problem(
          "redis", name_ + ": " + text,
          needs ? "set redis.user and redis.password_file" : "let the user call PING: +ping");
      return false;
    }
    took_ = std::chrono::duration_cast<std::chrono::microseconds>(ticks() - began);
    return true;
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
    out_.ok("redis", "\"" + settings_.master + "\" is at " + std::string(reply->text((*reply)[1])) +
                         ":" + std::string(reply->text((*reply)[2])));
  }

  void look_at_version() {
    const Reply* reply = talk_.ask({"INFO", "server"});
    const std::string seen = name_ + " answers in " + std::to_string(took_.count()) + " us";
    if (reply == nullptr) return static_cast<void>(no_answer());
    constexpr std::string_view kName = "redis_version:";
    const std::string_view text = reply->is_error() ? std::string_view{} : reply->text();
    const std::size_t at = text.find(kName);
    if (at == std::string_view::npos) {
      return out_.ok("redis", seen + "; its version can't be asked (+info would allow it)");
    }
    const std::string_view version =
        text.substr(at + kName.size(), text.find_first_of("\r\n", at) - at - kName.size());
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
                          "share are of Redis' clock");
    }
    out_.problem("clock", seen,
                 "let both take their time from NTP: entries of shared lists would end at another "
                 "time than they say");
  }

  void look_at_rights() {
    const Reply* reply = talk_.ask({"EVAL", kTryRights, "1", "weir:doctor:{doctor}"});
    if (reply == nullptr) return static_cast<void>(no_answer());
    if (reply->is_error()) {
      const std::string text(reply->text());
      if (text.starts_with("MOVED") || text.starts_with("CROSSSLOT")) {
        return out_.ok("rights", name_ + ": the key tried belongs to another node of the cluster");
      }
      return out_.problem("rights", name_ + ": EVAL: " + text,
                          text.starts_with("READONLY")
                              ? "it is a replica: name the master, or let Sentinels say who it is"
                              : "give the user +eval +evalsha and ~weir:*");
    }
    std::string refused;
    for (std::size_t i = 1; i < reply->size(); ++i) {
      std::string word(reply->text((*reply)[i]));
      if (refused.find("+" + lower(word)) != std::string::npos) continue;
      refused += (refused.empty() ? "+" : " +") + lower(word);
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
    const std::string_view text = reply.text(reply[i]);
    return std::from_chars(text.data(), text.data() + text.size(), out).ec == std::errc{};
  }
  static std::string lower(std::string text) {
    for (char& c : text) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
    return text;
  }

  const store::Settings& settings_;
  const RedisEndpoint& at_;
  bool sentinel_;
  std::string name_;
  Findings& out_;
  RedisTalk talk_;
  std::chrono::microseconds took_{0};
};

}  // namespace

void check_redis(const config::Server& server, Findings& out) {
  if (!server.redis) return out.ok("redis", "not used: each replica counts by itself");
  SharedStoreSettings settings;
  std::string message;
  if (!read_shared_store(server, settings, message)) {
    return out.problem("redis", message, "weir would not start: mend the file");
  }
  const bool sentinels = settings.store.mode == store::Settings::Mode::sentinel;
  for (const RedisEndpoint& at : settings.store.endpoints) {
    ServerCheck(settings, at, sentinels, out).run();
  }
}

}  // namespace weir::app::doctor
