#pragma once

#include <cstdint>
#include <optional>

namespace weir::test {

/// Segments with data that this process has sent on its connection to `port` of this machine: one
/// for each write of up to 60 KB, where Nagle's algorithm is off. Nothing: there is not one such
/// connection.
std::optional<std::uint32_t> segments_sent_to(int port);

}  // namespace weir::test
