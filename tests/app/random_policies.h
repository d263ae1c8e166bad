#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

/// Random configurations and random traffic for them, small enough that counts, bans and patterns
/// meet.
namespace weir::app {

/// The source of events: requests, or records of one file.
enum class Traffic : std::uint8_t { requests, records };

/// One thing that happens, before it is written as a request, a line of a log or of JSON.
struct RandomEvent {
  std::int64_t ms = 0;
  std::string ip, method, url, user, device, amount;  ///< the last three: empty is missing
  std::string body = {};                              ///< JSON
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::vector<std::pair<std::string, std::string>> answer_headers = {};
  std::string answer_body = {};  ///< JSON
  std::string told = {};         ///< not empty: a record, as an app tells of it in JSON
};

/// The policies of the project's card, and traffic for them.
std::string_view card_yaml();
std::vector<RandomEvent> card_events(std::uint64_t seed, std::size_t count, std::int64_t start);

class RandomPolicies {
 public:
  /// out_of_order: events come up to some seconds after they have happened, and every policy counts
  /// by their own times.
  RandomPolicies(std::uint64_t seed, Traffic traffic, bool out_of_order = false)
      : random_(seed), traffic_(traffic), out_of_order_(out_of_order) {}

  /// A configuration; the loader may refuse it (thresholds that no value reaches and the like).
  std::string yaml();
  /// Events in the order in which they come, from `start` on.
  std::vector<RandomEvent> events(std::size_t count, std::int64_t start);

 private:
  std::size_t below(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }
  bool chance(int percent) { return below(100) < static_cast<std::size_t>(percent); }
  std::string pick(const std::vector<std::string>& of) { return of[below(of.size())]; }
  std::string number(std::size_t from, std::size_t to) {
    return std::to_string(from + below(to - from + 1));
  }

  std::string event() {
    return pick({"login", "login_failed", "login_ok", "pay", "item", "not_found",
                 traffic_ == Traffic::requests ? "request" : "act"});
  }
  std::string key();
  std::string metric();
  std::string window();
  std::string rungs(bool compares, const std::string& window);
  std::string action(bool may_refuse);
  std::string policy(std::size_t index);
  std::string counting();
  std::string meters();
  std::string pattern();
  std::string options();
  std::string clock();

  std::mt19937_64 random_;
  Traffic traffic_;
  bool out_of_order_;
};

}  // namespace weir::app
