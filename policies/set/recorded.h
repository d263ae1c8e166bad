#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policies/set/policy_set.h"

namespace weir::policies {

/// Something that a recording keeps of an event, so that replay can judge it again.
struct RecordedField {
  SlotId slot = 0;
  /// Only identity matters, not content: the value is used in keys and as a member, and no
  /// expression reads it. Only a keyed hash of it is written.
  bool hashed = false;
  bool address = false;  ///< hashed: an address stays one (gate::pseudonym)
};

/// The recorded fields of a policy set's events (docs/replay.md). Immutable.
struct RecordedFields {
  std::vector<RecordedField> request, answer;  ///< by the side that knows them
  /// Plain if an app reported them by name; otherwise they are computed again. Sorted.
  std::vector<SlotId> told;
  bool plain_ip = false;  ///< an expression or an entry of the file looks into the caller's address
  /// The slot of `ip`, or of the field with this name, by event: a sample selects callers by it.
  std::vector<std::optional<SlotId>> subject;
  bool subject_known = true;  ///< false: no event has such a field, the caller is the subject

  const RecordedField* find(SlotId slot) const noexcept;
  /// Their canonical texts: `header.x_user`, `ip`.
  std::vector<std::string> names(const PolicySet& set, bool hashed) const;
  /// The same for people: `header.x_user, ip`, hashed; or, with the fields of every row, readable.
  std::string text(const PolicySet& set, bool hashed) const;
};

RecordedFields recorded_fields(const PolicySet& set, std::string_view subject = "ip");

/// Whether a recorded value can fill this slot: the types fit, or the value is a hash and no
/// expression reads it.
bool fits_recorded(const Slot& slot, const RecordedField* field, const Value& value) noexcept;

}  // namespace weir::policies
