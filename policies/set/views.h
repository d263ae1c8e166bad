#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "limiter/views/view.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/key_slot.h"
#include "policies/set/view_bank.h"

/// Views as a policy set has them: numbers of events, taken after the policies have judged.
namespace weir::policies {

/// A compiled view.
struct View {
  /// The view as one event provides it.
  struct Binding {
    std::uint16_t event = 0;
    bool outcome = false;  ///< the answer decides whether it happens, or its amount
    std::optional<Expression> when;
    std::vector<KeySlot> key;
    std::vector<Expression> arguments;  ///< the amount, or the members
    std::vector<SlotId> captures;       ///< outcome: the fields of the request
  };
  std::string name;
  Hash128 identity;
  limiter::ViewSpec spec;
  std::string metric;  ///< for people: `distinct(user)`
  std::vector<std::string> key_names;
  bool wall_clock = false;        ///< fixed and calendar windows follow the current wall clock
  bool outcome = false;           ///< some binding is
  bool shared = false;            ///< the events of all replicas count (`share: redis`)
  std::vector<Binding> bindings;  ///< in the order of `watch`: an event counts by the first one
  std::shared_ptr<LiveView>
      live;  ///< after PolicySet::attach_views(); null: the view counts nothing

  /// Live: keeps the results that are complete at this time (`wall` for those that follow it).
  void advance(TimePoint now, TimePoint wall) const;
};

/// `the last 10m, every 5s`, `every 1h`, `each day of Asia/Shanghai`.
std::string window_text(const limiter::ViewSpec& spec);

}  // namespace weir::policies
