#include "store/redis/slots.h"

#include <charconv>

#include "core/chars/parse.h"

namespace weir::store {
namespace {

constexpr std::array<std::uint16_t, 256> kCrc = [] {
  std::array<std::uint16_t, 256> table{};
  for (unsigned i = 0; i < 256; ++i) {
    unsigned crc = i << 8U;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000U) != 0 ? (crc << 1U) ^ 0x1021U : crc << 1U;
    }
    table[i] = static_cast<std::uint16_t>(crc);
  }
  return table;
}();

/// Behind the node at `at` and all that it holds.
std::size_t skip(const Reply& reply, std::size_t at) {
  std::size_t open = 1;
  while (open > 0 && at < reply.size()) {
    --open;
    if (reply[at].type == Reply::Type::array) open += reply[at].length;
    ++at;
  }
  return at;
}

}  // namespace

unsigned slot_of(std::string_view key) noexcept {
  const std::size_t open = key.find('{');
  if (open != key.npos) {
    const std::size_t close = key.find('}', open + 1);
    if (close != key.npos && close > open + 1) key = key.substr(open + 1, close - open - 1);
  }
  unsigned crc = 0;
  for (const char c : key) {
    crc = ((crc << 8U) ^ kCrc[((crc >> 8U) ^ static_cast<unsigned char>(c)) & 0xffU]) & 0xffffU;
  }
  return crc % kSlots;
}

std::optional<Redirect> parse_redirect(std::string_view error) {
  Redirect out;
  if (error.starts_with("MOVED ")) {
    error.remove_prefix(6);
  } else if (error.starts_with("ASK ")) {
    out.ask = true;
    error.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const auto [end, failure] = std::from_chars(error.data(), error.data() + error.size(), out.slot);
  if (failure != std::errc() || out.slot >= kSlots) return std::nullopt;
  error.remove_prefix(static_cast<std::size_t>(end - error.data()));
  if (!error.starts_with(' ')) return std::nullopt;
  error.remove_prefix(1);
  // Addresses of IPv6 have no brackets here.
  const std::size_t colon = error.rfind(':');
  if (colon == error.npos) return std::nullopt;
  const std::uint16_t port = parse_whole<std::uint16_t>(error.substr(colon + 1)).value_or(0);
  if (port == 0) return std::nullopt;
  out.to.host = error.substr(0, colon);
  out.to.port = port;
  return out;
}

bool read_slots(const Reply& reply,
                const std::function<void(unsigned, unsigned, const Endpoint&)>& range) {
  if (reply.size() == 0 || reply.root().type != Reply::Type::array) return false;
  std::size_t at = 1;
  for (std::uint32_t i = 0; i < reply.root().length; ++i) {
    // {first, last, {host, port, id, ...}, replicas...}
    if (at + 5 >= reply.size() + 1 || reply[at].type != Reply::Type::array ||
        reply[at].length < 3) {
      return false;
    }
    const std::int64_t first = reply[at + 1].integer, last = reply[at + 2].integer;
    const Reply::Node& node = reply[at + 3];
    if (reply[at + 1].type != Reply::Type::integer || reply[at + 2].type != Reply::Type::integer ||
        first < 0 || last < first || last >= kSlots || node.type != Reply::Type::array ||
        node.length < 2 || at + 5 >= reply.size() || reply[at + 5].type != Reply::Type::integer) {
      return false;
    }
    Endpoint master;
    master.host = reply.text(reply[at + 4]);
    if (master.host == "?") master.host.clear();
    const std::int64_t port = reply[at + 5].integer;
    if (port <= 0 || port > 65535) return false;
    master.port = static_cast<std::uint16_t>(port);
    range(static_cast<unsigned>(first), static_cast<unsigned>(last), master);
    at = skip(reply, at);
  }
  return true;
}

}  // namespace weir::store
