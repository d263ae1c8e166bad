#include "app/support/line_writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <optional>

/// Readers that keep up, stall, come back and never do.
namespace weir::app::line_writer_test {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr milliseconds kLong{20'000};

std::string notice(std::uint64_t lost) { return "lost " + std::to_string(lost) + "\n"; }

struct LineWriterTest : testing::Test {
  LineWriterTest() {
    int ends[2];
    EXPECT_EQ(::pipe(ends), 0);
    reader = ends[0];
    writer = ends[1];
    ::fcntl(reader, F_SETFL, O_NONBLOCK);
  }
  ~LineWriterTest() override {
    ::close(reader);
    ::close(writer);
  }
  /// Takes what the pipe holds.
  void read_some() {
    char bytes[65'536];
    const ssize_t n = ::read(reader, bytes, sizeof(bytes));
    if (n > 0) got.append(bytes, static_cast<std::size_t>(n));
  }
  /// Reads until the text is there, at most so long.
  bool read_until(std::string_view text) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (got.find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > end) return false;
      pollfd one{reader, POLLIN, 0};
      ::poll(&one, 1, 20);
      read_some();
    }
    return true;
  }
  /// Reads until notices tell that so many lines are lost: of one loss, or of several in a row.
  bool read_until_told(std::uint64_t lost) {
    const auto end = std::chrono::steady_clock::now() + kLong;
    while (told() < lost && std::chrono::steady_clock::now() < end) {
      pollfd one{reader, POLLIN, 0};
      ::poll(&one, 1, 20);
      read_some();
    }
    return told() == lost;
  }
  std::uint64_t told() const {
    constexpr std::string_view kNotice = "\nlost ";
    std::uint64_t sum = 0;
    for (auto at = got.find(kNotice); at != got.npos; at = got.find(kNotice, at + 1)) {
      if (got.find('\n', at + 1) != got.npos) sum += std::stoull(got.substr(at + kNotice.size()));
    }
    return sum;
  }
  int reader = -1, writer = -1;
  std::string got;
};

TEST_F(LineWriterTest, writes_lines_in_their_order) {
  {
    LineWriter lines(writer, notice);
    for (int i = 0; i < 100; ++i) EXPECT_TRUE(lines.push("line " + std::to_string(i) + "\n"));
    EXPECT_TRUE(lines.flush(kLong));
    read_some();
    EXPECT_THAT(got, StartsWith("line 0\nline 1\n"));
    EXPECT_THAT(got, HasSubstr("line 98\nline 99\n"));
    EXPECT_TRUE(lines.push("last words\n"));
  }
  read_some();
  EXPECT_THAT(got, HasSubstr("last words\n"));
}

TEST_F(LineWriterTest, a_reader_that_has_stalled_costs_lines_and_no_time) {
  LineWriter lines(writer, notice, 8'192);
  const std::string line(999, 'x');
  std::uint64_t refused = 0;
  for (int i = 0; i < 1'000; ++i) refused += lines.push(line + "\n") ? 0 : 1;
  EXPECT_GE(refused, 900U) << "a pipe of 64 KiB, 6 KiB that wait and some that are written";
  EXPECT_EQ(lines.lost(), refused);
  EXPECT_TRUE(lines.push("an error\n", true)) << "the last quarter is for what matters";
  ASSERT_TRUE(read_until("an error\n"));
  ASSERT_TRUE(read_until_told(refused)) << told() << " of " << refused;
  EXPECT_TRUE(lines.push("goes on\n"));
  ASSERT_TRUE(read_until("goes on\n"));
  EXPECT_EQ(lines.lost(), refused);
}

TEST_F(LineWriterTest, ends_in_time_whoever_does_not_read) {
  std::optional<LineWriter> lines(std::in_place, writer, notice);
  const std::string line(9'999, 'x');
  for (int i = 0; i < 20; ++i) lines->push(line + "\n");
  EXPECT_FALSE(lines->flush(milliseconds{10}));
  const auto begun = std::chrono::steady_clock::now();
  lines.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - begun, 10 * LineWriter::kLastWords);
}

TEST_F(LineWriterTest, counts_what_can_not_be_written) {
  const int full = ::open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  LineWriter lines(full, notice);
  for (int i = 0; i < 3; ++i) {
    lines.push("line\n");
    EXPECT_TRUE(lines.flush(kLong));
  }
  EXPECT_EQ(lines.lost(), 3U);
  ::close(full);
}

}  // namespace
}  // namespace weir::app::line_writer_test
