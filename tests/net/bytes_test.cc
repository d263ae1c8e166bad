#include "net/bytes.h"

#include <gtest/gtest.h>

#include <new>
#include <random>
#include <string>

#include "tests/support/seed.h"

namespace weir::net::bytes_test {
namespace {

TEST(Bytes, agrees_with_a_string_over_random_appends_and_consumes) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  BlockPool pool;
  Bytes bytes;
  std::string model;
  for (int i = 0; i < 20'000; ++i) {
    switch (random() % 4) {
      case 0: {
        const std::string piece(random() % 3'000, static_cast<char>('a' + i % 26));
        bytes.append(pool, piece);
        model += piece;
        break;
      }
      case 1: {
        const std::size_t n = random() % 2'000;
        const auto room = bytes.room(pool, n);
        ASSERT_GE(room.size(), n);
        std::fill_n(room.data(), n, 'z');
        bytes.added(n);
        model.append(n, 'z');
        break;
      }
      case 2: {
        const std::size_t n = model.empty() ? 0 : random() % (model.size() + 1);
        bytes.consume(n);
        model.erase(0, n);
        break;
      }
      default: {
        if (random() % 4 != 0) break;
        const std::size_t n = model.empty() ? 0 : random() % (model.size() + 1);
        bytes.truncate(n);
        model.resize(n);
      }
    }
    ASSERT_EQ(bytes.size(), model.size());
    if (i % 50 == 0) {
      ASSERT_EQ(bytes.view(), model);
    }
  }
}

TEST(Bytes, an_empty_queue_holds_no_block_and_a_freed_block_serves_again) {
  BlockPool pool;
  Bytes a;
  a.append(pool, "hello");
  const char* block = a.view().data();
  a.consume(5);
  EXPECT_TRUE(a.empty());
  Bytes b;
  b.append(pool, "again");
  EXPECT_EQ(b.view().data(), block);
}

TEST(Bytes, the_pool_keeps_a_bounded_number_of_blocks) {
  BlockPool pool;
  std::vector<Bytes> many(5'000);
  for (Bytes& bytes : many) bytes.append(pool, "x");
  many.clear();  // most go back to the system: nothing to see but no leak under ASan
  Bytes one;
  one.append(pool, "y");
  EXPECT_EQ(one.view(), "y");
}

TEST(Bytes, a_share_of_a_pool_counts_against_both_limits) {
  BlockPool whole;
  whole.set_limit(64 << 10);
  BlockPool share;
  share.set_limit(16 << 10);
  share.draw_on(whole);
  {
    Bytes kept;
    kept.append(share, std::string(10'000, 'x'));
    EXPECT_EQ(share.in_use(), std::size_t{16} << 10);
    EXPECT_EQ(whole.in_use(), std::size_t{16} << 10);
    Bytes more;
    EXPECT_THROW(more.append(share, "y"), std::bad_alloc) << "over the limit of the share";
    Bytes others;
    others.append(whole, std::string(30'000, 'z'));
    EXPECT_EQ(whole.in_use(), std::size_t{48} << 10);
    EXPECT_EQ(share.in_use(), std::size_t{16} << 10);
  }
  EXPECT_EQ(share.in_use(), 0U);
  EXPECT_EQ(whole.in_use(), 0U);
  Bytes all;
  all.append(whole, std::string(60'000, 'z'));
  Bytes more;
  EXPECT_THROW(more.append(share, "y"), std::bad_alloc) << "over the limit of the whole";
  EXPECT_EQ(share.in_use(), 0U);
}

}  // namespace
}  // namespace weir::net::bytes_test
