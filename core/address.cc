#include "core/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "core/chars/parse.h"

namespace weir {
namespace {

constexpr std::array<std::uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
constexpr std::array<std::uint8_t, 12> kNat64{0, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0};

/// Four plain decimal parts, as inet_pton takes them, at a twelfth of its cost: a part is one to
/// three digits, so nothing is looped over.
std::optional<std::uint32_t> parse_v4(std::string_view text) noexcept {
  constexpr std::size_t kShortest = 7, kLongest = 15;
  if (text.size() < kShortest || text.size() > kLongest) return std::nullopt;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto digit = [&] {  // above 9: there is none
    return at == end ? 10U : static_cast<unsigned char>(*at) - unsigned{'0'};
  };
  std::uint32_t out = 0;
  for (int part = 0; part < 4; ++part) {
    unsigned value = digit();
    if (value > 9) return std::nullopt;
    ++at;
    if (const unsigned second = digit(); second <= 9) {
      if (value == 0) return std::nullopt;  // a leading zero
      value = value * 10 + second;
      ++at;
      if (const unsigned third = digit(); third <= 9) {
        value = value * 10 + third;
        if (value > 255) return std::nullopt;
        ++at;
      }
    }
    out = out << 8 | value;
    if (part == 3) break;
    if (at == end || *at != '.') return std::nullopt;
    ++at;
  }
  return at == end ? std::optional(out) : std::nullopt;
}

/// A part of an IPv4 address and its dot, `7.` to `255.`, as it is copied.
struct V4Part {
  std::array<char, 4> text{};
  std::uint8_t size = 0;
};

constexpr auto kV4Parts = [] {
  std::array<V4Part, 256> out;
  for (unsigned value = 0; value < out.size(); ++value) {
    V4Part& part = out[value];
    if (value >= 100) part.text[part.size++] = static_cast<char>('0' + value / 100);
    if (value >= 10) part.text[part.size++] = static_cast<char>('0' + value / 10 % 10);
    part.text[part.size++] = static_cast<char>('0' + value % 10);
    part.text[part.size++] = '.';
  }
  return out;
}();

}  // namespace

Address Address::v4(std::uint32_t host_order) noexcept {
  Address a;
  const std::uint32_t wire = __builtin_bswap32(host_order);
  std::memcpy(a.bytes_.data(), kMapped.data(), kMapped.size());
  std::memcpy(a.bytes_.data() + kMapped.size(), &wire, sizeof wire);
  return a;
}

Address Address::v6(const std::array<std::uint8_t, 16>& bytes) noexcept {
  Address a;
  a.bytes_ = bytes;
  if (std::equal(kNat64.begin(), kNat64.end(), bytes.begin())) {
    std::copy(kMapped.begin(), kMapped.end(), a.bytes_.begin());
  }
  return a;
}

std::optional<Address> Address::parse(std::string_view text) noexcept {
  if (const auto four = parse_v4(text)) return v4(*four);
  char buffer[INET6_ADDRSTRLEN + 1];
  if (text.empty() || text.size() >= sizeof buffer) return std::nullopt;
  std::memcpy(buffer, text.data(), text.size());
  buffer[text.size()] = '\0';
  if (std::strlen(buffer) != text.size()) return std::nullopt;  // an embedded NUL
  std::array<std::uint8_t, 16> six{};
  if (inet_pton(AF_INET6, buffer, six.data()) == 1) return v6(six);
  return std::nullopt;
}

bool Address::is_v4() const noexcept {
  return std::memcmp(bytes_.data(), kMapped.data(), kMapped.size()) == 0;
}

bool Address::is_loopback() const noexcept {
  if (is_v4()) return bytes_[12] == 127;
  constexpr std::array<std::uint8_t, 16> kSix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  return bytes_ == kSix;
}

Address Address::masked(unsigned v4_bits, unsigned v6_bits) const noexcept {
  const unsigned keep = is_v4() ? 96 + std::min(v4_bits, 32U) : std::min(v6_bits, 128U);
  // Two big-endian halves; a shift by 64 would be undefined.
  const auto mask = [](unsigned bits) {
    return bits == 0 ? std::uint64_t{0} : __builtin_bswap64(~std::uint64_t{0} << (64 - bits));
  };
  std::uint64_t halves[2];
  std::memcpy(halves, bytes_.data(), sizeof halves);
  halves[0] &= mask(std::min(keep, 64U));
  halves[1] &= mask(keep > 64 ? keep - 64 : 0);
  Address out;
  std::memcpy(out.bytes_.data(), halves, sizeof halves);
  return out;
}

std::size_t Address::to_chars(char* out) const noexcept {
  if (is_v4()) {
    char* p = out;
    for (unsigned i = 12; i < 16; ++i) {
      const V4Part& part = kV4Parts[bytes_[i]];
      std::memcpy(p, part.text.data(), part.text.size());
      p += part.size;
    }
    return static_cast<std::size_t>(p - out) - 1;  // the last dot
  }
  char buffer[INET6_ADDRSTRLEN];
  inet_ntop(AF_INET6, bytes_.data(), buffer, sizeof buffer);
  const std::size_t size = std::strlen(buffer);
  std::memcpy(out, buffer, size);
  return size;
}

std::string Address::to_string() const {
  char buffer[INET6_ADDRSTRLEN];
  return {buffer, to_chars(buffer)};
}

namespace {

/// As it is written: host bits may be set.
std::optional<Cidr> read_block(std::string_view text) noexcept {
  const auto slash = text.find('/');
  const auto address = Address::parse(text.substr(0, slash));
  if (!address) return std::nullopt;
  const unsigned most = address->is_v4() ? 32 : 128;
  Cidr out{*address, most};
  if (slash != std::string_view::npos) {
    const auto digits = text.substr(slash + 1);
    if (digits.empty() || digits.size() > 3 || (digits.size() > 1 && digits[0] == '0')) {
      return std::nullopt;
    }
    const auto bits = parse_whole<unsigned>(digits);
    if (!bits) return std::nullopt;
    out.bits = *bits;
    // In an IPv4 address in an IPv6 one (`::ffff:10.0.0.0/104`), the first 96 bits are the
    // wrapping. `::ffff:0:0/96` means a kind of IPv6 addresses, and not the whole of IPv4.
    constexpr unsigned kWrapping = 96;
    const bool wrapped =
        address->is_v4() && text.substr(0, slash).find(':') != std::string_view::npos;
    if (wrapped && out.bits <= kWrapping) return std::nullopt;
    if (wrapped) out.bits -= kWrapping;
    if (out.bits > most) return std::nullopt;
  }
  return out;
}

}  // namespace

std::optional<Cidr> Cidr::parse(std::string_view text) noexcept {
  const auto out = read_block(text);
  if (!out || out->base.masked(out->bits, out->bits) != out->base) return std::nullopt;
  return out;
}

std::optional<Cidr> Cidr::around(std::string_view text) noexcept {
  auto out = read_block(text);
  if (out) out->base = out->base.masked(out->bits, out->bits);
  return out;
}

bool Cidr::contains(const Address& address) const noexcept {
  return address.is_v4() == base.is_v4() && address.masked(bits, bits) == base;
}

std::string Cidr::to_string() const { return base.to_string() + "/" + std::to_string(bits); }

AddressRange AddressRange::of(const Cidr& block) noexcept {
  std::array<std::uint8_t, 16> bytes = block.base.bytes();
  const unsigned fixed = block.bits + (block.base.is_v4() ? 96 : 0);
  for (unsigned i = 0; i < 16; ++i) {
    const unsigned mine = fixed <= 8 * i ? 0 : std::min(fixed - 8 * i, 8U);
    bytes[i] = static_cast<std::uint8_t>(bytes[i] | (0xffU >> mine));
  }
  // The bytes of an IPv4 address keep its prefix.
  return {block.base, Address::v6(bytes)};
}

bool AddressRange::overlaps(const AddressRange& other) const noexcept {
  return first.is_v4() == other.first.is_v4() && first <= other.last && other.first <= last;
}

}  // namespace weir
