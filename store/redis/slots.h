#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>

#include "store/redis/settings.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// Slots of a Redis Cluster (its specification, "Key distribution model").
inline constexpr unsigned kSlots = 16'384;
/// CRC16 (XMODEM) of the key, or of the text between its first braces if that is not empty.
unsigned slot_of(std::string_view key) noexcept;

/// `MOVED 3999 127.0.0.1:6381` and `ASK ...`. An empty host means the node that has sent it.
struct Redirect {
  bool ask = false;
  unsigned slot = 0;
  Endpoint to;
};
std::optional<Redirect> parse_redirect(std::string_view error);

/// Reads an answer to CLUSTER SLOTS: calls `range(first, last, master)` for each. An empty host as
/// above. False: not such an answer.
bool read_slots(const Reply& reply,
                const std::function<void(unsigned, unsigned, const Endpoint&)>& range);

}  // namespace weir::store
