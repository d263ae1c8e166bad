#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/key.h"
#include "policies/set/policy_set.h"
#include "policies/set/sharing.h"

namespace weir::policies {

/// A key part as people write it, in the canonical text that a key has of it (`1.50` of a number is
/// `1.5`). Nothing: no value of that type.
std::optional<std::string> canonical_part(Type type, std::string_view text);

/// Why no value of a key part is ever this text, and what to write instead.
struct NeverPart {
  std::string message, hint;
};
/// Looks at a text for that part: `/Secret` of a folded path, `shop.example.` of a host. Nothing:
/// some value may be this text.
std::optional<NeverPart> never_part(const PolicySet& set, SlotId part, std::string_view text);
/// The same of a part of a list's key: events may read it from different places, and all must say
/// so.
std::optional<NeverPart> never_part(const PolicySet& set, const List& list, std::size_t part,
                                    std::string_view text);

/// Keys as people name them (admin API, explain): one text per key part, an address where the
/// policy or list wants one. Error::malformed: wrong number of parts, or no address or number
/// where one is needed.
Result<limiter::CounterKey> counter_key(const PolicySet& set, const Policy& policy,
                                        const Counter& counter,
                                        std::span<const std::string_view> parts,
                                        const HashSecret& secret);
/// The same key in the form of the shared store: for limiter::SharedOp::key. A place of a radius
/// key is not part of it, but goes into SharedOp::place. `wall`: defines the window, if the window
/// is part of the key.
Result<std::string> shared_key(const Policy& policy, std::span<const std::string_view> parts,
                               const HashSecret& secret, const Sharing& sharing, TimePoint wall);
Result<Hash128> list_key(const PolicySet& set, const List& list,
                         std::span<const std::string_view> parts, const HashSecret& secret);

}  // namespace weir::policies
