#include "core/chars/network_text.h"

#include "core/address.h"

namespace weir {

bool is_network(std::string_view text) noexcept {
  const std::size_t slash = text.rfind('/');
  if (slash == std::string_view::npos || !Address::parse(text.substr(0, slash))) return false;
  const std::string_view bits = text.substr(slash + 1);
  return !bits.empty() && bits.size() <= 3 &&
         bits.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace weir
