#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "admin/process_facts.h"
#include "app/support/machine.h"
#include "core/text.h"

namespace weir::app::process_memory_test {
namespace {

TEST(ProcessMemory, WhatTheStartNeededIsGivenBackAndEverythingStillWorks) {
  constexpr std::size_t kPieces = 4'000, kBytes = 4'000;
  {
    std::vector<std::string> pieces;
    for (std::size_t i = 0; i < kPieces; ++i) pieces.emplace_back(kBytes, 'x');
  }
  // So that the heap's end is in use: only malloc_trim() gives back what is free below it.
  const std::string last(kBytes, 'y');
  const std::uint64_t before = admin::process_facts().resident_bytes;
  ASSERT_GT(before, 0U);
  give_back_memory_of_start();
#ifndef WEIR_SANITIZED  // a sanitizer keeps what is freed; e2e.process looks at the shipped program
  EXPECT_LT(admin::process_facts().resident_bytes, before - 1'000'000) << "of " << before;
#endif
  // Code and constants come again from their files.
  EXPECT_EQ(human_size(1 << 20), "1 MiB");
  EXPECT_EQ(last, std::string(kBytes, 'y'));
}

}  // namespace
}  // namespace weir::app::process_memory_test
