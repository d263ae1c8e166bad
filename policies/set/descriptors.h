#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "core/descriptor.h"

namespace weir::policies {

/// The data that an event of a rate limit call needs, beside its policies.
struct DescriptorEvent {
  std::uint16_t event = 0;
  std::vector<std::uint16_t> replaces;  ///< events that a call with this one does not make
  bool quota = false;
  bool limited = false;  ///< some policy with a threshold watches it
  std::optional<config::DescriptorDef::Rule> rule;
};

/// Which event a descriptor is: a trie over entries in each domain. The cost of a lookup grows with
/// the entries of the descriptor and with the lengths of patterns, not with how many are loaded.
///
/// In each step a value comes before a pattern (of several the one that was added first), and a
/// pattern before any value. Ordered descriptions are walked without going back, as
/// envoyproxy/ratelimit does; the others by their sorted keys, and there the nearest that matches
/// as a whole is found. An ordered one comes first.
///
/// Immutable after the last add(); thread-safe then.
class DescriptorRoutes {
 public:
  DescriptorRoutes();
  ~DescriptorRoutes();
  DescriptorRoutes(DescriptorRoutes&&) noexcept;
  DescriptorRoutes& operator=(DescriptorRoutes&&) noexcept;

  /// False: another event is described alike.
  bool add(const config::DescriptorDef& def, std::uint16_t event);

  struct Found {
    bool known = false;                   ///< the domain is
    std::optional<std::uint16_t> event;   ///< the nearest
    std::optional<std::uint16_t> domain;  ///< the event of the whole domain
  };
  Found match(std::string_view domain, std::span<const DescriptorEntry> entries) const noexcept;

  bool empty() const noexcept;

 private:
  struct Domain;
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

/// Whether the text matches the pattern: each `*` matches any characters, also none.
bool matches_pattern(const std::vector<std::string>& parts, std::string_view text) noexcept;
/// The pattern between its stars: `a*b` is {a, b}.
std::vector<std::string> split_pattern(std::string_view pattern);

}  // namespace weir::policies
