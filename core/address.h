#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace weir {

/// An IP address in one canonical form: 16 bytes, IPv4 as IPv4-mapped IPv6. IPv4-mapped
/// (::ffff:a.b.c.d) and NAT64 (64:ff9b::/96) addresses *are* the IPv4 address, so that a caller
/// cannot double its budget by changing its spelling. A value type; thread-safe as such.
class Address {
 public:
  constexpr Address() noexcept = default;  // ::
  static Address v4(std::uint32_t host_order) noexcept;
  /// 127.0.0.1: this machine; also the client of a request that came over a Unix socket.
  static Address loopback() noexcept { return v4(0x7f000001); }
  static Address v6(const std::array<std::uint8_t, 16>& bytes) noexcept;
  /// Accepts dotted IPv4 (four plain decimal parts, no leading zeros) and RFC 4291 IPv6 text,
  /// without brackets, port or zone. Anything else: nullopt.
  static std::optional<Address> parse(std::string_view text) noexcept;

  bool is_v4() const noexcept;
  bool is_loopback() const noexcept;  ///< 127.0.0.0/8 or ::1
  const std::array<std::uint8_t, 16>& bytes() const noexcept { return bytes_; }
  /// Keeps the first `v4_bits` (0..32) of an IPv4 or the first `v6_bits` (0..128) of an IPv6
  /// address.
  Address masked(unsigned v4_bits, unsigned v6_bits) const noexcept;
  /// Canonical text (RFC 5952). Writes at most 46 bytes; returns the length.
  std::size_t to_chars(char* out) const noexcept;
  std::string to_string() const;

  friend auto operator<=>(const Address&, const Address&) = default;

 private:
  std::array<std::uint8_t, 16> bytes_{};
};

/// An address block, `10.0.0.0/8`. Host bits must be zero; a bare address is a /32 or /128. An IPv4
/// block may be written as that of its mapped addresses, `::ffff:10.0.0.0/104`.
struct Cidr {
  Address base;
  unsigned bits = 0;  ///< of the family's 32 or 128

  static std::optional<Cidr> parse(std::string_view text) noexcept;
  /// The same where host bits may be set: `10.1.2.3/8` is 10.0.0.0/8.
  static std::optional<Cidr> around(std::string_view text) noexcept;
  bool contains(const Address& address) const noexcept;
  std::string to_string() const;
  friend auto operator<=>(const Cidr&, const Cidr&) = default;
};

/// Addresses of one family, from the first to the last.
struct AddressRange {
  Address first, last;

  static AddressRange of(const Cidr& block) noexcept;
  /// Whether they have an address in common.
  bool overlaps(const AddressRange& other) const noexcept;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

}  // namespace weir
