#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/set/policy_set.h"

/// What a policy set holds from one reload to the next, and what a reload would empty. A counter, a
/// pattern and a list are known by identities (docs/accuracy.md, History): what the next
/// configuration asks for under the same identity goes on, all else begins anew.
namespace weir::policies {

/// One counter, pattern or list of a set. A plain value, fit to be told by one process to another.
struct Lineage {
  enum class Kind : std::uint8_t { counter, pattern, list };
  Kind kind = Kind::counter;
  std::string owner;     ///< the policy, or the list
  std::string text;      ///< for people: `count over the last 10m`, `list of ip`
  std::string identity;  ///< hex; of a list the name that its entries are kept under
  bool shared = false;   ///< in Redis: under its identity alone, without history
  // Of a local counter over a trailing window: what another may begin with (limiter::Heritage).
  std::string what;             ///< hex; empty: nothing can be told from it
  std::int64_t quantum_ms = 0;  ///< its buckets
  std::int64_t kept_ms = 0;     ///< how far back it has every event
  std::int64_t length_ms = 0;   ///< how far back it reads
};

std::vector<Lineage> lineage_of(const PolicySet& set);

/// What a reload would do to something that the running set or the next one has.
struct Inheritance {
  enum class Fate : std::uint8_t {
    empties,   ///< it is there before and after, and begins empty: what was counted counts no more
    inherits,  ///< another identity, which begins with the history of a running one
    goes,      ///< nothing in the next configuration asks for it
  };
  Fate fate = Fate::empties;
  Lineage of;          ///< goes: as it is running; else as it will be
  std::string before;  ///< what its owner has there now; goes: empty
};

/// In the order of the next set, then of the running one. What goes on as it is, and what an owner
/// has that is new, is left out.
std::vector<Inheritance> foretell_reload(std::span<const Lineage> running,
                                         std::span<const Lineage> next);

/// `policy "login-per-ip": count over the last 20m begins empty (now: count over the last 10m)`.
std::string text_of(const Inheritance& change);

}  // namespace weir::policies
