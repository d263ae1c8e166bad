#include "app/support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/app/scratch.h"

namespace weir::app::files_test {
namespace {

TEST(Files, reads_a_whole_file_up_to_its_bound) {
  const Scratch scratch;
  scratch.write("a", std::string(100'000, 'x'));
  EXPECT_EQ(read_file(scratch / "a", 100'000)->size(), 100'000U);
  EXPECT_EQ(read_file(scratch / "a", 99'999).error(), make_error_code(Error::too_large));
  EXPECT_EQ(read_file(scratch / "none", 10).error(),
            boost::system::errc::no_such_file_or_directory);
  EXPECT_EQ(read_file(scratch.path(), 10).error(), boost::system::errc::is_a_directory);
  scratch.write("empty", "");
  EXPECT_EQ(*read_file(scratch / "empty", 10), "");
}

TEST(Files, replaces_a_file_as_a_whole_or_not_at_all) {
  const Scratch scratch;
  scratch.write("a", "old");
  {
    auto file = FileReplacement::begin(scratch / "a", 0600);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->append("half"));
    EXPECT_EQ(scratch.read("a"), "old");
  }
  EXPECT_EQ(scratch.read("a"), "old");
  EXPECT_FALSE(scratch.has("a.new")) << "a draft that was dropped is removed";
  auto file = FileReplacement::begin(scratch / "a", 0600);
  ASSERT_TRUE(file && file->append("new ") && file->append("text") && file->commit());
  EXPECT_EQ(scratch.read("a"), "new text");
  struct stat status {};
  ASSERT_EQ(::stat((scratch / "a").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777U, 0600U);
}

TEST(Files, does_not_write_through_a_planted_link) {
  const Scratch scratch;
  scratch.write("victim", "precious");
  ASSERT_EQ(::symlink((scratch / "victim").c_str(), (scratch / "a.new").c_str()), 0);
  EXPECT_FALSE(FileReplacement::begin(scratch / "a", 0600));
  EXPECT_EQ(scratch.read("victim"), "precious");
}

TEST(Files, says_when_the_disk_is_full) {
  const net::Fd full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  ASSERT_TRUE(full);
  EXPECT_EQ(write_all(full.get(), "x").error(), boost::system::errc::no_space_on_device);
}

TEST(Files, locks_once) {
  const Scratch scratch;
  auto first = lock_file(scratch / "lock");
  ASSERT_TRUE(first);
  EXPECT_EQ(lock_file(scratch / "lock").error(), make_error_code(Error::refused));
  first->close();
  EXPECT_TRUE(lock_file(scratch / "lock"));
}

}  // namespace
}  // namespace weir::app::files_test
