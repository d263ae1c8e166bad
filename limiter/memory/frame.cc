#include "limiter/memory/frame.h"

#include <algorithm>

namespace weir::limiter {

std::uint64_t checksum(std::uint8_t kind, std::string_view bytes) noexcept {
  // Multiply and rotate over words: any changed word changes the sum, at memory speed.
  constexpr std::uint64_t kOdd = 0x9E37'79B9'7F4A'7C15U;
  std::uint64_t h = (bytes.size() + kind + 1) * kOdd;
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const std::size_t n = bytes.size() < sizeof(word) ? bytes.size() : sizeof(word);
    std::memcpy(&word, bytes.data(), n);
    h = std::rotl((h ^ word) * kOdd, 29);
    bytes.remove_prefix(n);
  }
  h ^= h >> 32;
  return h * 0xD6E8'FEB8'6659'FD93U;
}

void append_frame(std::string& out, std::uint8_t kind, std::string_view payload) {
  out.append(kFrameMark);
  put(out, kFrameVersion);
  put(out, kind);
  put(out, std::uint16_t{0});
  put(out, static_cast<std::uint32_t>(payload.size()));
  put(out, checksum(kind, payload));
  out.append(payload);
}

std::size_t skip_to_frame(std::string_view& bytes) noexcept {
  const std::size_t skipped = std::min(bytes.find(kFrameMark, 1), bytes.size());
  bytes.remove_prefix(skipped);
  return skipped;
}

std::optional<Frame> take_frame(std::string_view& bytes) noexcept {
  if (bytes.size() < kFrameHead || !bytes.starts_with(kFrameMark)) return std::nullopt;
  Reader reader(bytes.substr(4, kFrameHead - 4));
  const auto version = reader.get<std::uint8_t>();
  const auto kind = reader.get<std::uint8_t>();
  const auto reserved = reader.get<std::uint16_t>();
  const auto length = reader.get<std::uint32_t>();
  const auto sum = reader.get<std::uint64_t>();
  if (version != kFrameVersion || reserved != 0 || length > bytes.size() - kFrameHead)
    return std::nullopt;
  const std::string_view payload = bytes.substr(kFrameHead, length);
  if (checksum(kind, payload) != sum) return std::nullopt;
  bytes.remove_prefix(kFrameHead + length);
  return Frame{kind, payload};
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
  out.push_back(static_cast<char>(value));
}

void put_text(std::string& out, std::string_view text) {
  put_varint(out, text.size());
  out.append(text);
}

void put_number(std::string& out, Number number) {
  put(out, static_cast<std::uint8_t>(number.is_real()));
  if (number.is_real()) {
    put(out, number.as_real());
  } else {
    put(out, number.integer());
  }
}

Number Reader::number() noexcept {
  return get<std::uint8_t>() != 0 ? Number::real(get<double>()) : Number(get<std::int64_t>());
}

std::uint64_t Reader::varint() noexcept {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    const auto byte = get<std::uint8_t>();
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if ((byte & 0x80U) == 0) return value;
  }
  ok_ = false;
  return 0;
}

std::string_view Reader::take(std::uint64_t n) noexcept {
  if (!ok_ || n > bytes_.size()) {
    ok_ = false;
    bytes_ = {};
    return {};
  }
  const std::string_view out = bytes_.substr(0, n);
  bytes_.remove_prefix(n);
  return out;
}

}  // namespace weir::limiter
