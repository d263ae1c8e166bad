#include "replay/parallel_reader.h"

#include <gmock/gmock.h>
#include <zlib.h>

#include <random>

#include "config/load.h"
#include "tests/replay/scratch_file.h"
#include "tests/support/seed.h"

namespace weir::replay::parallel_reader_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

/// The rows and errors that a stream reads from a file.
struct Told {
  std::vector<std::string> rows;
  std::string bad, error;
  bool operator==(const Told&) const = default;
};

Told tell(Stream& stream) {
  Told out;
  while (stream.next()) {
    const Row& row = stream.row();
    std::string text = std::to_string(stream.line()) + "@" + std::to_string(to_ms(row.time)) + " ";
    text += std::string(stream.text()) + " =";
    for (const policies::Preset& preset : row.values) {
      text += " ";
      if (!append_canonical(text, preset.value)) text += preset.value.is_null() ? "null" : "{..}";
    }
    out.rows.push_back(text);
  }
  out.bad = std::to_string(stream.bad().count);
  for (const BadRows::Fault& fault : stream.bad().first)
    out.bad += "; " + std::to_string(fault.line) + ":" + std::to_string(fault.column) + " " +
               fault.why + " x" + std::to_string(fault.rows);
  out.error = stream.error();
  return out;
}

class ReadingTest : public testing::Test {
 protected:
  ReadingTest() { RecordProperty("seed", std::to_string(seed)); }

  std::size_t upto(std::size_t most) { return random() % most; }

  /// A source of records, as the configuration has it.
  void use(const std::string& source) {
    loaded = config::load_text("test.yaml", "weir: 1\nevents:\n  e: {source: " + source + "}\n");
    ASSERT_TRUE(loaded.model.has_value());
    slots = {};
    for (const char* column : {"a", "b"}) slots.column("e", column, Type::dyn);
  }
  ParallelReader::Source source(const std::string& path) {
    const config::SourceDef& def = *loaded.model->events.front().source;
    return {path, def.header, 0, [this, &def] { return make_record_format(def, "e", slots); }};
  }
  Told by_one(const std::string& path) {
    const ParallelReader::Source from = source(path);
    FileStream stream(path, from.make(), from.header);
    return tell(stream);
  }
  /// Each judge on a thread of its own.
  std::vector<Told> by_several(const std::string& path, unsigned judges, unsigned helpers,
                               std::size_t block) {
    std::vector<Told> out(judges);
    ParallelReader reader(judges, helpers, block);
    std::vector<std::unique_ptr<Stream>> streams;
    for (unsigned i = 0; i < judges; ++i) streams.push_back(reader.open(0, i, source(path)));
    reader.start();
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < judges; ++i)
      threads.emplace_back([&, i] { out[i] = tell(*streams[i]); });
    for (std::thread& thread : threads) thread.join();
    return out;
  }
  void expect_same(const std::string& path, std::size_t block) {
    const Told one = by_one(path);
    for (const auto& [judges, helpers] : {std::pair{1U, 0U}, {1U, 1U}, {2U, 0U}, {3U, 1U}}) {
      for (const Told& told : by_several(path, judges, helpers, block)) {
        SCOPED_TRACE(std::to_string(judges) + " judges, blocks of " + std::to_string(block));
        ASSERT_EQ(told.rows, one.rows);
        ASSERT_EQ(told.bad, one.bad);
        ASSERT_EQ(told.error, one.error);
      }
    }
  }

  const std::uint32_t seed = ::weir::test::new_seed();
  std::mt19937_64 random{seed};
  ScratchFiles files;
  config::Loaded loaded;
  policies::SlotTable slots;
};

/// Any bytes that mean something to a reader of csv.
TEST_F(ReadingTest, every_judge_gets_what_one_stream_gives) {
  SCOPED_TRACE(seed);
  use("{csv: [a, b, ts], header: true, time: {field: ts, as: seconds}}");
  for (int round = 0; round < 60; ++round) {
    std::string text = upto(4) == 0 ? "\xef\xbb\xbf" : "";
    const bool quotes = upto(3) != 0;
    for (std::size_t left = upto(400); left > 0; --left) {
      const std::size_t kind = upto(quotes ? 12 : 8);
      if (kind < 6) {
        text += "x" + std::to_string(left) + ",y," + std::to_string(upto(1000));
      } else if (kind < 8) {
        text += std::string(upto(300), 'z');
      } else {
        for (std::size_t n = upto(12); n > 0; --n) text += "\",\n1a"[upto(5)];
      }
      text += upto(5) == 0 ? "\r\n" : upto(9) == 0 ? "\n\n" : "\n";
    }
    if (upto(2) == 0) text += "last,one,7";
    expect_same(files.write("f", text), 1 + upto(500));
    if (HasFailure()) return;
  }
}

TEST_F(ReadingTest, parts_of_documents_are_there_for_every_judge) {
  use("{json: true, time: {field: ts, as: seconds}}");
  std::string text;
  for (int i = 0; i < 300; ++i)
    text += "{\"a\":" + std::string(i % 3 == 0 ? "{\"b\":1}" : "\"\\u0041\"") +
            ",\"ts\":" + std::to_string(i) + "}\n";
  expect_same(files.write("f", text), 200);
  const Told told = by_several(files.write("f", text), 2, 1, 200).front();
  ASSERT_EQ(told.rows.size(), 300u);
  EXPECT_THAT(told.rows[0], HasSubstr("= {..}"));
  EXPECT_THAT(told.rows[1], HasSubstr("= A"));
}

TEST_F(ReadingTest, long_lines_and_long_stretches_of_bad_ones_pass) {
  use("{csv: [a, b, ts], time: {field: ts, as: seconds}}");
  std::string text;
  for (int i = 0; i < 20'000; ++i) text += "bad\n";
  text += std::string(LineReader::kLineMax + 1, 'x') + "\n";
  text += std::string(LineReader::kLineMax - 10, 'x') + ",y,1\n";
  text += "a,b,2\n";
  expect_same(files.write("f", text), 64);
  const Told told = by_several(files.write("f", text), 2, 1, 64).back();
  EXPECT_EQ(told.rows.size(), 2u);
  EXPECT_THAT(told.bad, testing::StartsWith("20001; 1:"));
}

TEST_F(ReadingTest, the_end_of_a_damaged_file_is_told_to_all) {
  use("{csv: [a, b, ts], time: {field: ts, as: seconds}}");
  std::string text;
  for (int i = 0; i < 5000; ++i) text += std::to_string(upto(1'000'000)) + ",y,1\n";
  const std::string path = files.write("whole", text);
  const std::string packed = path + ".gz";
  const gzFile file = ::gzopen(packed.c_str(), "wb");
  ::gzwrite(file, text.data(), static_cast<unsigned>(text.size()));
  ::gzclose(file);
  expect_same(packed, 300);
  std::filesystem::resize_file(packed, std::filesystem::file_size(packed) / 2);
  expect_same(packed, 300);
  const Told told = by_several(packed, 2, 0, 300).front();
  EXPECT_THAT(told.error, HasSubstr("gzip"));
  EXPECT_FALSE(told.rows.empty());
  EXPECT_THAT(by_several(files.write("empty", ""), 2, 1, 300).front().rows, IsEmpty());
}

}  // namespace
}  // namespace weir::replay::parallel_reader_test
