#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "config/model.h"

namespace weir::app {

/// The messages that `weir dev` prints by itself while it runs: the app is unreachable or back, or
/// no request matches what a policy watches. No clock and no I/O.
class DevWatch {
 public:
  /// `app`: as the user has written it.
  DevWatch(const config::Model& model, std::string app);

  /// The counts at one moment. They never fall.
  struct Sample {
    std::uint64_t answers = 0;                    ///< that callers got, from the app or from weir
    std::uint64_t failures = 0;                   ///< requests for which the app could not be had
    std::map<std::string, std::uint64_t> events;  ///< by policy
  };
  /// Returns new messages; empty: there are none. Call it once a second.
  std::string look(const Sample& sample);

 private:
  /// A policy whose events are requests of certain routes.
  struct Watched {
    std::string policy;
    std::string what;  ///< "login_failed (POST /api/login, when status in [401, 403])"
  };
  std::string say_of_app(const Sample& sample);
  std::string say_of_events(const Sample& sample);

  std::string app_;
  std::vector<Watched> watched_;
  Sample last_;
  bool is_away_ = false;
  bool has_told_ = false;
  unsigned seconds_ = 0;  ///< since the first answer
};

}  // namespace weir::app
