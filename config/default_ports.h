#pragma once

#include <cstdint>

/// Where weir listens if nothing says otherwise; help texts and the rows of config/sections name
/// the same numbers.
namespace weir::config {

inline constexpr std::uint16_t kProxyPort = 8480;   ///< on all addresses
inline constexpr std::uint16_t kAdminPort = 8481;   ///< on loopback
inline constexpr std::uint16_t kHealthPort = 8482;  ///< on all addresses
inline constexpr std::uint16_t kGrpcPort = 8483;    ///< on loopback, if it is free
inline constexpr std::uint16_t kApiPort = 8484;     ///< on loopback, if it is free

}  // namespace weir::config
