#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tests/app/random_policies.h"

/// The doors of weir as tests compare them: each judges the same traffic by the same configuration,
/// with stores of its own, and says what came of it.
namespace weir::app {

inline constexpr std::int64_t kStart = 1'800'000'000'000;

/// The results that every door can report.
struct WhatCame {
  std::string rows;                   ///< readings, verdicts and matches as replay writes them
  std::vector<std::string> verdicts;  ///< of each event: a status, `held`, `pass`, `flag`, `gray`
  std::string recording;              ///< of a gate
  std::map<std::string, std::size_t> words;  ///< how many events ended so
  /// Verdicts by "POLICY ACTION", of a shadow "POLICY ACTION shadow": of a gate as its statistics
  /// count them, of replay as its report does. Without lists.
  std::map<std::string, std::size_t> by_policy;
  std::size_t late = 0;  ///< how often a policy with `clock: event` did not count one
};

/// Who counts what policies share.
enum class Store : std::uint8_t {
  none,      ///< the process alone
  at_once,   ///< a store whose replies are there when it is asked
  later,     ///< one that replies in another turn
  readable,  ///< the same, with keys as people read them
  away,      ///< one that can't be reached
};
/// The results of the proxy, with the answer at once.
WhatCame through_the_proxy(const std::string& yaml, const std::vector<RandomEvent>& events,
                           Store store = Store::none);
/// The results of `POST /v1/events`.
WhatCame through_the_api(const std::string& yaml, const std::vector<RandomEvent>& events,
                         Traffic traffic, Store store = Store::none);
/// The results of `weir replay --event EVENT=FILE` for a file of this text.
WhatCame replayed(const std::string& yaml, const std::string& event, const std::string& text,
                  std::string_view log_format, std::size_t events);
/// The same for a log of the traffic, or for a file of JSON. Only of RandomPolicies.
WhatCame through_replay(const std::string& yaml, const std::vector<RandomEvent>& events,
                        Traffic traffic);
/// Replays the recording of a door: everything but the keys is as it was.
WhatCame expect_recorded(const std::string& yaml, const WhatCame& live, std::size_t events);

/// Without the lines of a match's events, which only a file has, and without views.
std::string without_match_lines(const std::string& rows);
/// The first line that differs, of both.
std::string difference(const std::string& a, const std::string& b);
/// Whether the loader takes it; generated policies ask for many a thing that cannot be.
bool loads(const std::string& yaml);

}  // namespace weir::app
