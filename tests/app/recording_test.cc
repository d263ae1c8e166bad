#include "app/serve/recording.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "tests/app/scratch.h"

namespace weir::app::recording_test {
namespace {

TEST(RotatedFile, MovesFullFilesAsideAndKeepsRowsWhole) {
  const Scratch scratch;
  const std::string path = scratch / "rec.ndjson";
  std::string all;
  {
    RotatedFile file(path, 100, 3);
    ASSERT_TRUE(file.open());
    for (int i = 0; i < 40; ++i) {
      std::string rows;
      for (int k = 0; k <= i % 4; ++k)
        rows += "row " + std::to_string(i) + "." + std::to_string(k) + "\n";
      ASSERT_TRUE(file.write(rows));
      all += rows;
    }
  }
  EXPECT_FALSE(scratch.has("rec.ndjson.4"));
  std::string kept;
  for (const char* name : {"rec.ndjson.3", "rec.ndjson.2", "rec.ndjson.1", "rec.ndjson"}) {
    const std::string text = scratch.read(name);
    EXPECT_LE(text.size(), 100U) << name;
    EXPECT_TRUE(text.ends_with('\n')) << name;
    kept += text;
  }
  EXPECT_GT(kept.size(), 300U);
  EXPECT_TRUE(all.ends_with(kept)) << "the newest rows, in their order";
  struct stat about {};
  ASSERT_EQ(::stat(path.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777, 0600U);
}

TEST(RotatedFile, GoesOnAtTheEndAndTakesARowLongerThanAFile) {
  const Scratch scratch;
  scratch.write("rec", "before\n");
  RotatedFile file(scratch / "rec", 30, 2);
  ASSERT_TRUE(file.open());
  ASSERT_TRUE(file.write("after\n"));
  EXPECT_EQ(scratch.read("rec"), "before\nafter\n");
  const std::string longest(200, 'x');
  ASSERT_TRUE(file.write(longest + "\nshort\n"));
  EXPECT_EQ(scratch.read("rec.2"), "before\nafter\n");
  EXPECT_EQ(scratch.read("rec.1"), longest + "\n");
  EXPECT_EQ(scratch.read("rec"), "short\n");
}

// As on a full disk: a file may have so many bytes and no more.
TEST(RotatedFile, EndsARowForWhichThereWasNoRoom) {
  const Scratch scratch;
  RotatedFile file(scratch / "rec", 1 << 20, 1);
  ASSERT_TRUE(file.open());
  ASSERT_TRUE(file.write("first\n"));
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  EXPECT_FALSE(file.write("second\nthird\n"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  ASSERT_TRUE(file.write("fourth\n"));
  EXPECT_EQ(scratch.read("rec"), "first\nseco\nfourth\n");
  scratch.write("rec", "fi");  // the process ended there
  RotatedFile again(scratch / "rec", 1 << 20, 1);
  ASSERT_TRUE(again.open());
  ASSERT_TRUE(again.write("second\n"));
  EXPECT_EQ(scratch.read("rec"), "fi\nsecond\n");
}

TEST(RotatedFile, SaysThatItCannotWrite) {
  const Scratch scratch;
  RotatedFile file(scratch / "no/such/directory", 1 << 20, 2);
  EXPECT_FALSE(file.open());
  EXPECT_FALSE(file.write("row\n"));
}

}  // namespace
}  // namespace weir::app::recording_test
