#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string_view>

#include "net/http/scan.h"
#include "tests/support/seed.h"

namespace weir::net::scan::http_scan_test {
namespace {

template <class Class>
class Scan : public testing::Test {};
using Classes = testing::Types<Control, Unusual, NotTarget, NotPlainName>;
TYPED_TEST_SUITE(Scan, Classes);

TYPED_TEST(Scan, knows_of_every_byte_whether_it_stops) {
#if defined(__SSE2__)
  for (int c = 0; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    EXPECT_EQ(_mm_movemask_epi8(TypeParam::stops(_mm_set1_epi8(byte))),
              TypeParam::stops(byte) ? 0xffff : 0)
        << c;
  }
#endif
}

// Each text in an allocation of just its size: a byte read outside is an error to ASan.
TEST(ScanClasses, unusual_is_whatever_is_a_control_character_and_more) {
  for (int c = 0; c < 256; ++c) {
    const auto byte = static_cast<char>(c);
    EXPECT_EQ(Unusual::stops(byte), Control::stops(byte) || c == '\t' || c >= 0x80) << c;
  }
}

TYPED_TEST(Scan, finds_the_first_byte_that_stops_and_reads_no_other_text) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random{seed};
  constexpr std::string_view kUsual = "abcXYZ019-";
  for (std::size_t size = 1; size <= 70; ++size) {
    const auto text = std::make_unique<char[]>(size);
    const char* const begin = text.get();
    const char* const end = begin + size;
    for (int round = 0; round < 20; ++round) {
      for (std::size_t i = 0; i < size; ++i) text[i] = kUsual[random() % kUsual.size()];
      for (unsigned n = random() % 4; n != 0; --n) {
        text[random() % size] = static_cast<char>(random() % 256);
      }
      for (const char* p = begin; p <= end; ++p) {
        const char* expected = p;
        while (expected != end && !TypeParam::stops(*expected)) ++expected;
        ASSERT_EQ(find<TypeParam>(begin, p, end) - begin, expected - begin)
            << size << " from " << p - begin;
        ASSERT_EQ(find<TypeParam>(p, p, end) - begin, expected - begin);
      }
    }
  }
}

}  // namespace
}  // namespace weir::net::scan::http_scan_test
