#include "replay/input.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <random>

#include "replay/lines.h"
#include "tests/replay/scratch_file.h"
#include "tests/support/seed.h"

namespace weir::replay::input_test {
namespace {

std::string gzip(const std::string& text) {
  z_stream stream{};
  EXPECT_EQ(::deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(::deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(::deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  ::deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(::ZSTD_compressBound(text.size()), '\0');
  out.resize(::ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

std::string read_all(Input& input, std::size_t piece) {
  std::string out, buffer(piece, '\0');
  while (const std::size_t got = input.read(buffer)) out.append(buffer, 0, got);
  return out;
}

std::string long_text() {
  std::string out;
  for (int i = 0; i < 200'000; ++i) out += std::to_string(i * 7919 % 100'003) + "\n";
  return out;
}

TEST(Input, plain_and_compressed_files_give_the_same_bytes) {
  const ScratchFiles files;
  const std::string text = long_text();
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{1} << 20}) {
    Input plain(files.write("a", text));
    EXPECT_EQ(read_all(plain, piece), text);
    Input one(files.write("a.gz", gzip(text)));
    EXPECT_EQ(read_all(one, piece), text);
    Input other(files.write("a.zst", zstd(text)));
    EXPECT_EQ(read_all(other, piece), text);
    EXPECT_EQ(other.error(), "");
    EXPECT_EQ(other.consumed(), other.size());
  }
}

TEST(Input, frames_one_after_the_other_are_one_file) {
  const ScratchFiles files;
  Input one(files.write("a.gz", gzip("one\n") + gzip("") + gzip("two\n")));
  EXPECT_EQ(read_all(one, 3), "one\ntwo\n");
  Input other(files.write("a.zst", zstd("one\n") + zstd("two\n")));
  EXPECT_EQ(read_all(other, 3), "one\ntwo\n");
}

TEST(Input, damage_is_told_and_what_stood_before_it_is_given) {
  const ScratchFiles files;
  const std::string text = long_text();
  for (const std::string& whole : {gzip(text), zstd(text)}) {
    Input cut(files.write("cut", whole.substr(0, whole.size() / 2)));
    const std::string got = read_all(cut, 5000);
    EXPECT_TRUE(text.starts_with(got));
    EXPECT_NE(cut.error().find("end in the middle"), std::string::npos) << cut.error();
  }
  std::string broken = gzip(text);
  broken[broken.size() / 2] = static_cast<char>(broken[broken.size() / 2] ^ 0x55);
  Input input(files.write("broken.gz", broken));
  read_all(input, 5000);
  EXPECT_FALSE(input.error().empty());
  Input garbage(files.write("tail.gz", gzip("one\n") + "garbage"));
  EXPECT_EQ(read_all(garbage, 100), "one\n");
  EXPECT_EQ(garbage.error(), "damaged gzip data");
}

TEST(Input, zeros_behind_gzip_are_padding) {
  const ScratchFiles files;
  const std::string zeros(700'000, '\0');
  Input end(files.write("end.gz", gzip("one\n") + zeros));
  EXPECT_EQ(read_all(end, 100), "one\n");
  EXPECT_EQ(end.error(), "");
  Input between(files.write("between.gz", gzip("one\n") + zeros + gzip("two\n") + zeros));
  EXPECT_EQ(read_all(between, 100), "one\ntwo\n");
  EXPECT_EQ(between.error(), "");
  Input garbage(files.write("garbage.gz", gzip("one\n") + zeros + "x"));
  EXPECT_EQ(read_all(garbage, 100), "one\n");
  EXPECT_NE(garbage.error(), "");
  Input other(files.write("a.zst", zstd("one\n") + zeros));
  EXPECT_EQ(read_all(other, 100), "one\n");
  EXPECT_EQ(other.error(), "damaged zstd data");
}

TEST(Input, an_absent_file_and_a_directory_are_errors) {
  const ScratchFiles files;
  Input absent("/no/such/file");
  EXPECT_EQ(absent.error(), "No such file or directory");
  Input directory("/");
  EXPECT_EQ(directory.error(), "it is a directory");
  Input empty(files.write("empty", ""));
  EXPECT_EQ(read_all(empty, 10), "");
  EXPECT_EQ(empty.error(), "");
}

std::vector<std::string> lines_of(const std::string& text) {
  const ScratchFiles files;
  LineReader reader(files.write("a", text));
  std::vector<std::string> out;
  std::string_view line;
  while (reader.next(line)) {
    out.push_back(std::to_string(reader.number()) + ":" + std::string(line) +
                  (reader.cut() ? " (cut)" : ""));
  }
  return out;
}

TEST(LineReader, ends_of_lines) {
  using Lines = std::vector<std::string>;
  EXPECT_EQ(lines_of(""), Lines{});
  EXPECT_EQ(lines_of("a"), Lines{"1:a"});
  EXPECT_EQ(lines_of("a\n"), Lines{"1:a"});
  EXPECT_EQ(lines_of("a\r\nb\r\n"), (Lines{"1:a", "2:b"}));
  EXPECT_EQ(lines_of("a\r\nb\r"), (Lines{"1:a", "2:b"}));
  EXPECT_EQ(lines_of("\n\na"), (Lines{"1:", "2:", "3:a"}));
  EXPECT_EQ(lines_of("\xef\xbb\xbf"
                     "a\nb"),
            (Lines{"1:a", "2:b"}));
}

TEST(LineReader, a_line_that_is_too_long_is_cut_and_the_next_one_is_whole) {
  for (const std::size_t size :
       {LineReader::kLineMax - 1, LineReader::kLineMax + 5, 5 * LineReader::kLineMax}) {
    const bool cut = size > LineReader::kLineMax;
    const auto lines = lines_of("first\n" + std::string(size, 'x') + "\nlast");
    ASSERT_EQ(lines.size(), 3u) << size;
    // No EXPECT_EQ: the lines are too long to print.
    EXPECT_TRUE(lines[1] == "2:" + std::string(cut ? 1024 : size, 'x') + (cut ? " (cut)" : ""))
        << lines[1].size();
    EXPECT_EQ(lines[2], "3:last");
  }
}

TEST(LineReader, lines_of_any_lengths_come_whole_from_any_chunks) {
  const auto seed = ::weir::test::new_seed();
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const ScratchFiles files;
  std::string text;
  std::vector<std::string> expected;
  for (int i = 0; i < 300; ++i) {
    const std::size_t size = random() % (i % 10 == 0 ? 300'000 : 200);
    expected.emplace_back(size, static_cast<char>('a' + i % 26));
    text += expected.back() + (random() % 2 == 0 ? "\n" : "\r\n");
  }
  LineReader reader(files.write("a.gz", gzip(text)));
  std::string_view line;
  for (const std::string& one : expected) {
    ASSERT_TRUE(reader.next(line));
    ASSERT_EQ(line, one);
  }
  EXPECT_FALSE(reader.next(line));
}

TEST(LineReader, records_extend_over_lines_and_can_be_taken_back) {
  const ScratchFiles files;
  LineReader reader(files.write("a", "one\r\ntwo\nthree"));
  std::string_view text;
  ASSERT_TRUE(reader.next(text));
  ASSERT_TRUE(reader.extend(text));
  EXPECT_EQ(text, "one\r\ntwo");
  EXPECT_EQ(reader.number(), 1u);
  ASSERT_TRUE(reader.extend(text));
  EXPECT_EQ(text, "one\r\ntwo\nthree");
  EXPECT_FALSE(reader.extend(text));
  reader.retract();
  ASSERT_TRUE(reader.next(text));
  EXPECT_EQ(text, "two");
  EXPECT_EQ(reader.number(), 2u);
  ASSERT_TRUE(reader.extend(text));
  EXPECT_FALSE(reader.next(text));
  EXPECT_EQ(reader.number(), 3u);
}

}  // namespace
}  // namespace weir::replay::input_test
