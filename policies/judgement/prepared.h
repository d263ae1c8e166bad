#pragma once

#include <array>
#include <cstdint>

#include "core/key.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Facts about a request, found before its judgement: the base events that it is, and hashes of its
/// keys. Another thread may have found them (Preparing); the judgement finds the rest. They mean
/// the same to all sets that are compiled of one configuration.
struct Prepared {
  static constexpr std::size_t kBasesMax = 4, kKeysMax = 6;
  std::array<Hash128, kKeysMax> hashes;
  std::array<KeyId, kKeysMax> ids;
  std::array<EventIndex, kBasesMax> bases;
  std::uint8_t key_count = 0;
  std::uint8_t base_count = 0;  ///< 0: they are not known
};

}  // namespace weir::policies
