#include "policies/extractors/form.h"

#include "policies/extractors/arena.h"
#include "policies/extractors/text.h"

namespace weir::policies {
namespace {

int hex_digit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower_ascii(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool is_plain(std::string_view text) noexcept {
  return text.find_first_of("%+") == std::string_view::npos;
}

/// Decodes one byte and steps over it; -1 for a broken escape.
int next_byte(std::string_view& rest) noexcept {
  const char c = rest.front();
  if (c != '%') {
    rest.remove_prefix(1);
    return c == '+' ? ' ' : static_cast<unsigned char>(c);
  }
  if (rest.size() < 3) return -1;
  const int high = hex_digit(rest[1]), low = hex_digit(rest[2]);
  if (high < 0 || low < 0) return -1;
  rest.remove_prefix(3);
  return high * 16 + low;
}

bool decodes_to(std::string_view encoded, std::string_view wanted) noexcept {
  if (is_plain(encoded)) return encoded == wanted;
  for (const char c : wanted) {
    if (encoded.empty() || next_byte(encoded) != static_cast<unsigned char>(c)) return false;
  }
  return encoded.empty();
}

}  // namespace

Extracted find_parameter(Arena& arena, std::string_view encoded, std::string_view name) noexcept {
  bool found = false;
  std::string_view raw;
  while (!encoded.empty()) {
    std::string_view value = next_part(encoded, '&');
    if (value.empty()) continue;
    if (!decodes_to(next_part(value, '='), name)) continue;
    if (found) return Extracted::miss(MissReason::ambiguous);
    found = true;
    raw = value;
  }
  if (!found) return Extracted::miss(MissReason::absent);
  if (is_plain(raw)) return {Value::text(raw)};
  char* const out = arena.allocate(raw.size());
  if (out == nullptr) return Extracted::miss(MissReason::unreadable);
  const std::size_t reserved = raw.size();
  std::size_t size = 0;
  while (!raw.empty()) {
    const int byte = next_byte(raw);
    if (byte < 0) return Extracted::miss(MissReason::unreadable);
    out[size++] = static_cast<char>(byte);
  }
  arena.shrink(reserved, size);
  return {Value::text({out, size})};
}

}  // namespace weir::policies
