#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "policies/set/policy_set.h"

/// The state that a policy set keeps from one reload to the next, and the state that a reload would
/// empty. Counters, patterns and lists have identities (docs/accuracy.md, History): an item of the
/// next configuration with the same identity continues, all others start empty.
namespace weir::policies {

/// One counter, pattern or list of a set. A plain value, which one process can send to another.
struct Lineage {
  enum class Kind : std::uint8_t { counter, pattern, list };
  Kind kind = Kind::counter;
  std::string owner;     ///< the policy, or the list
  std::string text;      ///< for people: `count over the last 10m`, `list of ip`
  std::string identity;  ///< hex; of a list the name that its entries are kept under
  bool shared = false;   ///< in Redis: under its identity alone, without history
  // For a local counter: its metric without the window. From a counter that counts the same
  // another may start (limiter::HistoryFacts), or get the events while it was closed (Joining).
  std::string what;             ///< hex; empty: nothing can come from it or go to it
  std::string form;             ///< how it is kept: the name of a limiter::Kind
  std::int64_t quantum_ms = 0;  ///< of a trailing window its buckets; else 0
  std::int64_t kept_ms = 0;     ///< how far back a trailing window has every event; else 0
  std::int64_t length_ms = 0;   ///< how far back it reads, at most; 0: that is no time
};

std::vector<Lineage> lineage_of(const PolicySet& set);

/// The effect of a reload on an item of the running set or the next one.
struct ReloadEffect {
  enum class Fate : std::uint8_t {
    empties,   ///< it exists before and after, and starts empty: earlier counts are lost
    returns,   ///< it was closed by an earlier reload, and comes back with its counts
    inherits,  ///< another identity, which begins with the history of a running one
    goes,      ///< nothing in the next configuration asks for it
    begins,    ///< a counter of a new owner, without a history to start from
  };
  Fate fate = Fate::empties;
  Lineage of;          ///< goes: as it is running; else as it will be
  std::string before;  ///< the owner's item now; goes: empty
  bool lacks = false;  ///< returns: the events while it was closed are missing
};

/// In the order of the next set, then of the running one. Omits unchanged items, and new lists and
/// patterns of a new owner. `closed`: the identities (hex) of counters that the process holds and
/// the running set does not use any more.
std::vector<ReloadEffect> predict_reload(std::span<const Lineage> running,
                                         std::span<const Lineage> next,
                                         std::span<const std::string> closed = {});

/// `policy "login-per-ip": count over the last 20m begins empty (now: count over the last 10m)`.
std::string text_of(const ReloadEffect& change);

}  // namespace weir::policies
