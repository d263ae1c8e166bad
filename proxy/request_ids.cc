#include "proxy/request_ids.h"

#include <sodium.h>

#include <algorithm>

#include "core/chars/ascii.h"

namespace weir::proxy {
namespace {

bool is_sane_id(std::string_view id) noexcept {
  return !id.empty() && id.size() <= 128 && std::all_of(id.begin(), id.end(), [](char c) {
    return ascii::is_letter_or_digit(c) ||
           std::string_view{"._:/+=@-"}.find(c) != std::string_view::npos;
  });
}

using Sixteen = std::uint8_t __attribute__((vector_size(16)));

/// The hex digits of 16 bytes, of each byte the lower half first.
inline void put_hex_digits(const Sixteen& bytes, char* out) noexcept {
  const auto digits = [](const Sixteen& nibbles) {
    const Sixteen letters = reinterpret_cast<Sixteen>(nibbles > 9);  // all bits where a to f
    return nibbles + '0' + (letters & ('a' - '9' - 1));
  };
  const Sixteen low = digits(bytes & 15);
  const Sixteen high = digits(bytes >> 4);
  const Sixteen front =
      __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Sixteen back = __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                               29, 14, 30, 15, 31);
  std::memcpy(out, &front, sizeof front);
  std::memcpy(out + sizeof front, &back, sizeof back);
}

}  // namespace

RequestIds::RequestIds() { randombytes_buf(state_.data(), sizeof state_); }

RequestIds::RequestIds(std::uint64_t seed) noexcept {
  for (std::uint64_t& word : state_) {  // splitmix64, as xoshiro's authors advise
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    word = z ^ (z >> 31);
  }
}

std::string_view RequestIds::next(std::array<char, 32>& out) noexcept {
  const std::uint64_t bits[] = {random(), random()};
  Sixteen bytes;
  std::memcpy(&bytes, bits, sizeof bytes);
  put_hex_digits(bytes, out.data());
  return {out.data(), out.size()};
}

std::string_view choose_request_id(const net::RequestHead& head, bool peer_trusted, RequestIds& ids,
                                   std::array<char, 32>& room) noexcept {
  if (peer_trusted) {
    const std::string_view theirs = head.fields.only_value(net::FieldKind::x_request_id);
    if (is_sane_id(theirs)) return theirs;
  }
  return ids.next(room);
}

}  // namespace weir::proxy
