#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/clock.h"
#include "core/number.h"
#include "policies/lang/extractors.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// The result of one policy or list for a request: the rung that won within it.
struct Standing {
  std::optional<PolicyIndex> policy;  ///< or a list
  std::optional<ListIndex> list;
  int rung = -1;
  Action effect = Action::none;
  bool shadow = false;
  bool has_value = false;  ///< a number was compared
  Number value;
  /// The value includes the event itself, as if its answer matched: it has none yet.
  bool possible = false;
  std::optional<Number> limit;
  /// The number of other requests under way (at least; 1 if unknown) whose reservations make it
  /// refuse: their answers may free the places. 0: the rung holds without them, or it is a shadow.
  std::uint32_t in_flight = 0;
  milliseconds window{0};
  milliseconds hold{0};
  int status = 0;
  Tell tell = Tell::nothing;
  std::optional<TimePoint> until;  ///< when it ends, if that is known
  /// Not empty: it refuses the request itself, for this could not be read (Defect).
  std::string_view field;
  MissReason why = MissReason::none;
};

/// The decision about a request, made from all standings by judge/ladder.cc.
struct Verdict {
  enum class Kind : std::uint8_t {
    pass,
    hold,
    refuse,
    wait,
  };
  Kind kind = Kind::pass;
  Action effect = Action::none;  ///< the severest that applies
  bool exempt = false;           ///< an allow list ended judging
  int status = 0;
  Tell tell = Tell::nothing;
  milliseconds hold{0};
  milliseconds retry_after{0};
  bool crowded =
      false;  ///< refused only because of others' reservations, or because it cannot be held
  std::string_view
      defect;        ///< the unreadable field, if the request itself was refused because of it
  int decider = -1;  ///< index into standings
  std::int64_t score = 0;
  std::vector<Standing>
      standings;  ///< enforced ones that hold, in the order of the file, then shadows

  void clear() {
    auto memory = std::move(standings);
    memory.clear();
    *this = Verdict{};
    standings = std::move(memory);
  }
};

}  // namespace weir::policies
