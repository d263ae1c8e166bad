#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/clock.h"

/// How gRPC writes its small things on HTTP/2.
namespace weir::net::grpc {

/// Before every message: one byte that says whether it is compressed, four for its length.
inline constexpr std::size_t kPrefixBytes = 5;

struct Prefix {
  std::uint8_t flag = 0;  ///< 0: as it is, 1: in the coding of `grpc-encoding`
  std::uint32_t bytes = 0;
};
/// `bytes`: at least kPrefixBytes.
Prefix read_prefix(std::string_view bytes) noexcept;
void write_prefix(char* to, const Prefix& prefix) noexcept;

/// `250m`: up to eight digits and a unit of H, M, S, m, u, n; parts of a millisecond are rounded
/// up. nullopt: not a time-out.
std::optional<milliseconds> parse_timeout(std::string_view text) noexcept;

/// Appends the text as `grpc-message` wants it: bytes outside of 0x20 to 0x7E, and `%`, as %XX; of
/// at most `most` bytes of it.
void append_escaped(std::string& out, std::string_view text, std::size_t most);

/// `application/grpc` in any case, also with a `+subtype` or parameters.
bool is_grpc(std::string_view content_type) noexcept;

/// Whether a list such as `identity, deflate, gzip` names this coding.
bool names_coding(std::string_view list, std::string_view coding) noexcept;

}  // namespace weir::net::grpc
