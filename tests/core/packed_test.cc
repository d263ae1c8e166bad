#include "core/chars/packed.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <string>

namespace weir::packed_test {
namespace {

std::string packed(const std::string& text) {
  uLongf size = ::compressBound(static_cast<uLong>(text.size()));
  std::string out(size, '\0');
  EXPECT_EQ(
      ::compress(reinterpret_cast<Bytef*>(out.data()), &size,
                 reinterpret_cast<const Bytef*>(text.data()), static_cast<uLong>(text.size())),
      Z_OK);
  out.resize(size);
  return out;
}

TEST(Packed, ComesBack) {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += std::to_string(i * i);
  EXPECT_EQ(unpacked(packed(text), text.size()), text);
  EXPECT_EQ(unpacked(packed(""), 0), "");
}

}  // namespace
}  // namespace weir::packed_test
