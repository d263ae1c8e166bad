#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>

#include "limiter/lists/lists.h"
#include "limiter/memory/frame.h"

/// List entries as bytes: in the state directory, and between replicas.
namespace weir::limiter {

inline constexpr std::size_t kListTextMax = 256;  ///< bytes of each text of an entry
inline constexpr std::size_t kListPartsMax = 32;  ///< printable key parts of an entry

inline TimePoint clamp_list_time(TimePoint t) noexcept {
  return std::clamp(t, TimePoint{}, kForever);
}

/// At most kListTextMax bytes and never half a UTF-8 character; `…` at the end says that the text
/// was cut. Entries of a hostile client must not cost more than they are worth. The key itself is
/// the hash of the whole text.
std::string printable(std::string_view text);
/// Whether printable() has cut this text.
bool is_cut(std::string_view kept) noexcept;
/// The same where an earlier version may have kept it, which cut without a mark.
bool may_be_cut(std::string_view kept) noexcept;

/// All of the entry but its key.
void put_entry(std::string& out, const ListEntry& entry);
/// Reads put_entry's text. The source is not trusted: texts are cut and times clamped. False,
/// or an error of `in`: not an entry.
bool get_entry(Reader& in, ListEntry& entry);

}  // namespace weir::limiter
