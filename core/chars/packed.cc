#include "core/chars/packed.h"

#include <zlib.h>

#include "core/assert.h"

namespace weir {

std::string unpacked(std::string_view packed, std::size_t bytes) {
  std::string out(bytes, '\0');
  uLongf written = bytes;
  const int result = ::uncompress(reinterpret_cast<Bytef*>(out.data()), &written,
                                  reinterpret_cast<const Bytef*>(packed.data()),
                                  static_cast<uLong>(packed.size()));
  WEIR_ASSERT(result == Z_OK && written == bytes);
  return out;
}

}  // namespace weir
