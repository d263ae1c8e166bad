#include <gtest/gtest.h>

#include "net/grpc/memory.h"
#include "tests/support/allocations.h"

namespace weir::net::grpc::grpc_memory_test {
namespace {

struct Pieces {
  Pieces() { pool.set_limit(128 << 10); }
  void* take(std::size_t bytes) { return hooks.malloc(bytes, hooks.mem_user_data); }
  void give_back(void* piece) { hooks.free(piece, hooks.mem_user_data); }
  /// How often operator new is called for a piece that is given back at once.
  std::size_t allocations_of(std::size_t bytes) {
    const std::size_t before = test::allocations();
    give_back(take(bytes));
    return test::allocations() - before;
  }

  BlockPool pool;
  Memory memory{pool};
  Memory::Account account{&memory};
  nghttp2_mem hooks = Memory::hooks(account);
};

TEST(GrpcMemory, KeepsPiecesForTheNextUse) {
  Pieces pieces;
  EXPECT_EQ(pieces.allocations_of(60'000), 1U);
  EXPECT_EQ(pieces.allocations_of(60'000), 0U);
  EXPECT_EQ(pieces.pool.in_use(), 0U);
  EXPECT_EQ(pieces.memory.lent(), 0U);
}

TEST(GrpcMemory, KeptPiecesMakeRoomWhenThePoolNeedsIt) {
  Pieces pieces;
  EXPECT_EQ(pieces.allocations_of(60'000), 1U);
  Bytes bytes;
  bytes.room(pieces.pool, 100'000);  // with the kept piece that is more than the limit
  EXPECT_EQ(pieces.take(60'000), nullptr);
  bytes.clear();
  EXPECT_EQ(pieces.allocations_of(60'000), 1U) << "the piece had gone back";
  EXPECT_EQ(pieces.pool.in_use(), 0U);
}

TEST(GrpcMemory, UsedAndKeptPiecesStayWithinTheLimit) {
  Pieces pieces;
  void* const first = pieces.take(60'000);
  void* const second = pieces.take(60'000);
  EXPECT_NE(first, nullptr);
  EXPECT_NE(second, nullptr);
  EXPECT_EQ(pieces.take(60'000), nullptr);
  pieces.give_back(first);
  void* const small = pieces.take(20'000);
  EXPECT_NE(small, nullptr) << "the kept one makes room";
  pieces.give_back(second);
  pieces.give_back(small);
  EXPECT_EQ(pieces.pool.in_use(), 0U);
}

}  // namespace
}  // namespace weir::net::grpc::grpc_memory_test
