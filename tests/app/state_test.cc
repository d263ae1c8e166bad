#include "app/serve/state.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include "tests/app/scratch.h"

namespace weir::app::state_test {
namespace {

constexpr TimePoint kNow = from_ms(1'800'000'000'000);
constexpr TimePoint kWall = kNow;
constexpr milliseconds kFlushed{10'000};

/// One life of a process: banks, and the state that they are kept in.
struct Life {
  explicit Life(const std::string& path, std::size_t entries_max = 100'000)
      : opened(StateDirectory::open(path)) {
    if (opened.directory == nullptr) return;
    limiter::CounterSpec spec;
    spec.length = milliseconds{600'000};
    counter = *counters.open(Hash128{1, 2}, spec);
    list = *lists.open("gray", entries_max);
    state = std::make_unique<State>(*opened.directory, counters, lists, log, metrics.control());
    limiter::PatternSpec unanswered;
    unanswered.kind = limiter::PatternSpec::Kind::absence;
    unanswered.within = milliseconds{60'000};
    pattern = *patterns.open(Hash128{3, 4}, unanswered);
    state->keep_patterns(patterns);
    state->restore(kNow, kWall);
  }
  void count(std::uint64_t key, int times) {
    for (int i = 0; i < times; ++i)
      counters.charge(counter, {key, key}, kNow, {}, nullptr, nullptr);
  }
  Number counted(std::uint64_t key) { return counters.peek(counter, {key, key}, kNow).value; }
  void enlist(std::uint64_t key) {
    limiter::Listing listing;
    listing.key = {key, key};
    listing.until = kNow + milliseconds{3'600'000};
    listing.by = "test";
    lists.add(list, listing, kNow);
  }
  bool listed(std::uint64_t key) { return lists.find(list, {key, key}, kNow).listed; }
  std::int64_t failures() { return metrics.sum(telemetry::Metric::state_failures); }

  StateDirectory::Opened opened;
  Log log{Level::error, true};
  telemetry::Metrics metrics{1};
  limiter::Bank counters{{std::uint64_t{8} << 20, 1'000}};
  limiter::ListBank lists;
  limiter::CounterId counter;
  limiter::ListId list;
  limiter::PatternBank patterns{limiter::PatternLimits{}};
  limiter::PatternId pattern;
  std::unique_ptr<State> state;
};

TEST(State, brings_counts_and_entries_back_after_an_orderly_end) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.count(7, 3);
    life.enlist(8);
    life.state->stop(kNow, kWall);
    EXPECT_EQ(life.metrics.sum(telemetry::Metric::state_snapshots), 1);
  }
  Life life(scratch / "state");
  EXPECT_EQ(life.counted(7), Number{3});
  EXPECT_TRUE(life.listed(8));
  EXPECT_FALSE(life.listed(7));
}

TEST(State, brings_the_timers_of_patterns_back) {
  const Scratch scratch;
  limiter::PatternMatches matches;
  {
    Life life(scratch / "state");
    life.patterns.feed(life.pattern, {5, 5}, {kNow, 0, 1, false, "who"}, matches);
    life.state->stop(kNow, kWall);
  }
  {
    Life life(scratch / "state");
    life.patterns.advance(kNow + milliseconds{59'999}, matches);
    EXPECT_TRUE(matches.empty());
    life.patterns.advance(kNow + milliseconds{90'000}, matches);
    ASSERT_EQ(matches.size(), 1U);
    EXPECT_EQ(matches[0].fires, kNow + milliseconds{60'000});
    EXPECT_EQ(matches[0].payload, "who");
  }
  const std::string whole = scratch.read("state/patterns.snapshot");
  scratch.write("state/patterns.snapshot", std::string_view(whole).substr(0, whole.size() - 1));
  Life life(scratch / "state");
  EXPECT_EQ(life.patterns.stats().open, 0U);
  EXPECT_EQ(scratch.read("state/patterns.snapshot.bad").size(), whole.size() - 1);
}

TEST(State, keeps_entries_that_were_flushed_when_the_process_is_killed) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.enlist(1);
    life.state->flush(kNow);
    life.enlist(2);
    life.state->flush(kNow);
    life.lists.remove(life.list, {1, 1}, kNow);
    life.state->flush(kNow);
    life.enlist(3);  // not flushed; nothing is written when a State goes
  }
  Life life(scratch / "state");
  EXPECT_FALSE(life.listed(1));
  EXPECT_TRUE(life.listed(2));
  EXPECT_FALSE(life.listed(3));
}

TEST(State, loses_of_a_torn_journal_its_torn_end_alone) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.enlist(1);
    life.state->flush(kNow);
    life.enlist(2);
    life.state->flush(kNow);
  }
  const std::string whole = scratch.read("state/lists.journal");
  for (const std::size_t cut : {1U, 7U, 30U}) {
    scratch.write("state/lists.journal", std::string_view(whole).substr(0, whole.size() - cut));
    {
      Life life(scratch / "state");
      EXPECT_TRUE(life.listed(1)) << "cut by " << cut;
      EXPECT_FALSE(life.listed(2)) << "cut by " << cut;
      life.enlist(3);
      life.state->flush(kNow);
    }
    Life life(scratch / "state");
    EXPECT_TRUE(life.listed(1));
    EXPECT_TRUE(life.listed(3)) << "what is written after a torn end must be readable";
  }
}

TEST(State, loses_of_a_spoilt_journal_what_is_spoilt_and_says_so) {
  const Scratch scratch;
  std::vector<std::size_t> ends;
  {
    Life life(scratch / "state");
    for (int key = 1; key <= 3; ++key) {
      life.enlist(key);
      life.state->flush(kNow);
      ends.push_back(scratch.read("state/lists.journal").size());
    }
  }
  const std::string whole = scratch.read("state/lists.journal");
  // In the head's mark, version, length and sum; in the payload.
  for (const std::size_t at : {0U, 4U, 8U, 9U, 15U, 25U}) {
    std::string spoilt = whole;
    spoilt[ends[0] + at] = static_cast<char>(spoilt[ends[0] + at] ^ 0x40);
    scratch.write("state/lists.journal", spoilt);
    for (int start = 0; start < 2; ++start) {
      Life life(scratch / "state");
      EXPECT_TRUE(life.listed(1)) << "byte " << at;
      EXPECT_FALSE(life.listed(2)) << "byte " << at;
      EXPECT_TRUE(life.listed(3)) << "byte " << at;
      EXPECT_EQ(scratch.read("state/lists.journal.bad"), spoilt);
    }
  }
  std::string first = whole;
  first[1] = 'x';
  scratch.write("state/lists.journal", first);
  Life life(scratch / "state");
  EXPECT_FALSE(life.listed(1));
  EXPECT_TRUE(life.listed(2));
}

TEST(State, keeps_a_file_aside_that_it_can_not_read_and_starts_without_it) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.count(7, 3);
    life.enlist(8);
    life.state->stop(kNow, kWall);
  }
  std::string snapshot = scratch.read("state/counters.snapshot");
  snapshot[snapshot.size() / 2] = static_cast<char>(snapshot[snapshot.size() / 2] ^ 1);
  scratch.write("state/counters.snapshot", snapshot);
  {
    Life life(scratch / "state");
    EXPECT_EQ(life.counted(7), Number{0});
    EXPECT_TRUE(life.listed(8)) << "a torn file loses nothing but itself";
    EXPECT_EQ(scratch.read("state/counters.snapshot.bad"), snapshot);
    EXPECT_FALSE(scratch.has("state/counters.snapshot"));
  }
  scratch.write("state/lists.journal", "garbage");
  Life life(scratch / "state");
  EXPECT_FALSE(life.listed(8));
  EXPECT_EQ(scratch.read("state/lists.journal.bad"), "garbage");
}

TEST(State, keeps_a_file_aside_that_it_is_not_allowed_to_read) {
  const Scratch scratch;
  for (const char* name : {"lists.journal", "counters.snapshot", "patterns.snapshot"}) {
    const std::string path = scratch / "state/" + name;
    {
      Life life(scratch / "state");
      life.enlist(8);
      life.state->stop(kNow, kWall);
    }
    // Nobody can read it, root included.
    std::filesystem::remove(path);
    std::filesystem::create_symlink(name, path);
    testing::internal::CaptureStderr();
    {
      Life life(scratch / "state");
      EXPECT_EQ(life.failures(), 0) << name;
      life.state->stop(kNow, kWall);
    }
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::AllOf(testing::HasSubstr("kept aside"), testing::HasSubstr(path + ".bad"),
                               testing::HasSubstr("symbolic links")));
    EXPECT_TRUE(std::filesystem::is_symlink(path + ".bad")) << name;
    EXPECT_TRUE(std::filesystem::is_regular_file(path)) << name;
  }
}

TEST(State, writes_nothing_over_a_file_that_it_can_neither_read_nor_set_aside) {
  const Scratch scratch;
  const std::vector<std::string> names{"lists.journal", "counters.snapshot", "patterns.snapshot"};
  std::filesystem::create_directory(scratch / "state");
  scratch.write("state/secret", "sixteen bytes it");
  for (const std::string& name : names) {
    std::filesystem::create_symlink(name, scratch / "state/" + name);
    std::filesystem::create_directories(scratch / "state/" + name + ".bad/in the way");
  }
  Life life(scratch / "state");
  life.enlist(1);
  life.state->flush(kNow);
  life.state->snapshot(kNow, kWall);
  EXPECT_GE(life.failures(), 3);
  EXPECT_EQ(life.state->why_not(),
            scratch / "state/lists.journal" + " can't be read, nor kept aside");
  for (const std::string& name : names) {
    EXPECT_TRUE(std::filesystem::is_symlink(scratch / "state/" + name)) << name;
    std::filesystem::remove_all(scratch / "state/" + name + ".bad");
  }
  life.state->snapshot(kNow, kWall);
  for (const std::string& name : names) {
    EXPECT_TRUE(std::filesystem::is_symlink(scratch / "state/" + name + ".bad")) << name;
    EXPECT_TRUE(std::filesystem::is_regular_file(scratch / "state/" + name)) << name;
  }
  EXPECT_FALSE(scratch.read("state/lists.journal").empty()) << "what came meanwhile is in it";
}

TEST(State, keeps_entries_over_a_restart_that_a_lower_max_let_live) {
  const Scratch scratch;
  {
    Life life(scratch / "state", 100);
    for (int key = 1; key <= 50; ++key) life.enlist(key);
    life.state->stop(kNow, kWall);
  }
  for (int start = 0; start < 2; ++start) {
    Life life(scratch / "state", 10);
    for (int key = 1; key <= 50; ++key) EXPECT_TRUE(life.listed(key)) << key;
    life.enlist(51);
    EXPECT_FALSE(life.listed(51)) << "there is no room for new ones";
    life.state->stop(kNow, kWall);
  }
}

TEST(State, says_how_many_entries_it_has_no_room_for_and_keeps_the_file) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    for (int key = 1; key <= 3; ++key) life.enlist(key);
    life.state->stop(kNow, kWall);
  }
  const std::string whole = scratch.read("state/lists.journal");
  const auto opened = StateDirectory::open(scratch / "state");
  ASSERT_NE(opened.directory, nullptr) << opened.message;
  limiter::ListBank full;
  for (int i = 0; i < 16'384; ++i) ASSERT_TRUE(full.open("list " + std::to_string(i), 1));
  limiter::Bank counters{{std::uint64_t{8} << 20, 1'000}};
  telemetry::Metrics metrics{1};
  Log log{Level::error, true};
  State state(*opened.directory, counters, full, log, metrics.control());
  testing::internal::CaptureStderr();
  state.restore(kNow, kWall);
  log.flush(kFlushed);
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::AllOf(testing::HasSubstr("there is no room for some list entries"),
                             testing::HasSubstr("\"records_lost\":3")));
  EXPECT_EQ(scratch.read("state/lists.journal.bad"), whole);
}

TEST(State, compacts_the_journal_with_each_snapshot) {
  const Scratch scratch;
  Life life(scratch / "state");
  for (int i = 0; i < 100; ++i) {
    life.enlist(1);
    life.lists.remove(life.list, {1, 1}, kNow);
    life.enlist(1);
    life.state->flush(kNow);
  }
  const std::size_t before = scratch.read("state/lists.journal").size();
  life.state->snapshot(kNow, kWall);
  EXPECT_LT(scratch.read("state/lists.journal").size(), before / 10);
  EXPECT_FALSE(scratch.has("state/lists.journal.new"));
}

TEST(State, stops_a_snapshot_that_is_cancelled_and_keeps_the_former) {
  const Scratch scratch;
  Life life(scratch / "state");
  life.count(7, 3);
  life.state->snapshot(kNow, kWall);
  const std::string former = scratch.read("state/counters.snapshot");
  life.count(8, 3);
  const std::atomic<bool> cancelled{true};
  life.state->snapshot(kNow, kWall, &cancelled);
  EXPECT_EQ(scratch.read("state/counters.snapshot"), former);
  EXPECT_FALSE(scratch.has("state/counters.snapshot.new"));
  EXPECT_EQ(life.failures(), 0);
}

TEST(State, runs_on_when_nothing_can_be_written_and_catches_up_later) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    // As a full disk or a read-only mount: neither file can be replaced, nor the journal opened.
    std::filesystem::rename(scratch / "state", scratch / "elsewhere");
    life.enlist(1);
    life.state->flush(kNow);
    life.state->snapshot(kNow, kWall);
    EXPECT_GE(life.failures(), 2);
    std::filesystem::rename(scratch / "elsewhere", scratch / "state");
    life.state->flush(kNow);
  }
  Life life(scratch / "state");
  EXPECT_TRUE(life.listed(1));
}

TEST(State, is_well_only_when_every_part_is_written) {
  const Scratch scratch;
  Life life(scratch / "state");
  const auto up = [&] { return life.metrics.sum(telemetry::Metric::state_up); };
  std::filesystem::create_directory(scratch / "state/patterns.snapshot.new");
  life.state->snapshot(kNow, kWall);
  EXPECT_THAT(life.state->why_not(),
              testing::StartsWith("open matches of patterns can't be written"));
  EXPECT_EQ(up(), 0);
  life.state->tell_of_tables("no room");
  std::filesystem::remove(scratch / "state/patterns.snapshot.new");
  life.state->snapshot(kNow, kWall);
  EXPECT_EQ(life.state->why_not(), "what was set in tables can't be written: no room");
  EXPECT_EQ(up(), 0);
  life.state->tell_of_tables({});
  EXPECT_EQ(life.state->why_not(), "");
  EXPECT_EQ(up(), 1);
}

// As a mount that comes late, or a disk that is read-only for a while.
TEST(State, runs_without_a_directory_and_takes_it_when_it_can) {
  const Scratch scratch;
  {
    Life life(scratch / "late/state");
    ASSERT_NE(life.state, nullptr) << life.opened.message;
    EXPECT_EQ(life.opened.message, "state.dir " + (scratch / "late/state") +
                                       " can't be made: No such file or directory");
    EXPECT_EQ(life.state->why_not(), life.opened.message);
    EXPECT_EQ(life.metrics.sum(telemetry::Metric::state_up), 0);
    life.enlist(1);
    life.count(7, 3);
    life.state->flush(kNow);
    life.state->snapshot(kNow, kWall);
    EXPECT_GE(life.failures(), 2);
    std::filesystem::create_directory(scratch / "late");
    life.state->flush(kNow);
    EXPECT_EQ(life.state->why_not(), "");
    EXPECT_EQ(life.metrics.sum(telemetry::Metric::state_up), 1);
    life.state->snapshot(kNow, kWall);
  }
  Life life(scratch / "late/state");
  EXPECT_TRUE(life.listed(1));
  EXPECT_EQ(life.counted(7), Number{3});
}

// A disk that has turned read-only since the last start: bans hold all the same.
TEST(State, reads_what_it_can_not_write) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.enlist(1);
    life.count(7, 3);
    life.state->stop(kNow, kWall);
  }
  std::filesystem::remove(scratch / "state/lock");
  std::filesystem::create_directory(scratch / "state/lock");  // can't be opened to write
  const std::string journal = scratch.read("state/lists.journal");
  {
    Life life(scratch / "state");
    ASSERT_NE(life.state, nullptr);
    EXPECT_EQ(life.state->why_not(),
              "state.dir " + (scratch / "state") + " can't be locked: Is a directory");
    EXPECT_TRUE(life.listed(1));
    EXPECT_EQ(life.counted(7), Number{3});
    life.enlist(2);
    life.state->stop(kNow, kWall);
    EXPECT_EQ(scratch.read("state/lists.journal"), journal) << "not its own: it may be another's";
    std::filesystem::remove(scratch / "state/lock");
    life.state->flush(kNow);
    EXPECT_EQ(life.state->why_not(), "");
  }
  Life life(scratch / "state");
  EXPECT_TRUE(life.listed(1));
  EXPECT_TRUE(life.listed(2));
}

// State that is found later was keyed by another secret: it is kept apart.
TEST(State, sets_aside_what_it_finds_when_the_directory_comes_late) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    life.enlist(1);
    life.state->stop(kNow, kWall);
  }
  const std::string journal = scratch.read("state/lists.journal");
  Life life(scratch / "mount/state");
  life.enlist(2);
  std::filesystem::create_directory(scratch / "mount");
  std::filesystem::rename(scratch / "state", scratch / "mount/state");
  life.state->flush(kNow);
  EXPECT_EQ(life.state->why_not(), "");
  EXPECT_EQ(scratch.read("mount/state/lists.journal.bad"), journal);
  EXPECT_NE(scratch.read("mount/state/lists.journal"), journal);
}

TEST(State, says_what_stands_in_the_way_of_a_directory) {
  const Scratch scratch;
  EXPECT_EQ(state_obstacle(scratch.path()), "");
  EXPECT_EQ(state_obstacle(scratch / "not/there"), "") << "it may be made, or mounted, there";
  scratch.write("file", "");
  EXPECT_EQ(state_obstacle(scratch / "file"), "it is not a directory");
}

TEST(StateDirectory, is_one_process_s_and_its_secret_is_its_own) {
  const Scratch scratch;
  std::array<std::uint8_t, 16> secret{};
  {
    const auto first = StateDirectory::open(scratch / "state");
    ASSERT_NE(first.directory, nullptr) << first.message;
    secret = first.directory->secret().bytes();
    const auto second = StateDirectory::open(scratch / "state");
    EXPECT_EQ(second.directory, nullptr);
    EXPECT_TRUE(second.taken);
    EXPECT_EQ(second.message,
              "state.dir " + (scratch / "state") +
                  " is in use by another weir; give each its own, or wait for the end of one that "
                  "drains (a second Ctrl-C or SIGTERM ends it now)");
    struct stat status {};
    ASSERT_EQ(::stat((scratch / "state/secret").c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0600U);
  }
  const auto again = StateDirectory::open(scratch / "state");
  ASSERT_NE(again.directory, nullptr);
  EXPECT_EQ(again.directory->secret().bytes(), secret);
}

TEST(StateDirectory, begins_afresh_without_its_secret_and_keeps_what_it_keyed) {
  const Scratch scratch;
  {
    Life life(scratch / "state");
    EXPECT_EQ(life.opened.directory->orphans(), 0U);
    life.count(7, 3);
    life.enlist(8);
    life.state->stop(kNow, kWall);
  }
  const std::string journal = scratch.read("state/lists.journal");
  std::filesystem::remove(scratch / "state/secret");
  testing::internal::CaptureStderr();
  {
    Life life(scratch / "state");
    EXPECT_EQ(life.opened.directory->orphans(), 3U);
    EXPECT_FALSE(life.listed(8));
    EXPECT_EQ(life.counted(7), Number{0});
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("the secret that keyed the state is gone"));
  EXPECT_EQ(scratch.read("state/lists.journal.bad"), journal);
  EXPECT_TRUE(scratch.has("state/counters.snapshot.bad"));
  std::filesystem::remove(scratch / "state/secret");
  std::filesystem::remove(scratch / "state/lists.journal.bad");
  std::filesystem::create_directories(scratch / "state/lists.journal.bad/in the way");
  EXPECT_EQ(
      StateDirectory::open(scratch / "state").message,
      "state.dir " + (scratch / "state") + " can't begin again without its secret: Is a directory");
  EXPECT_FALSE(scratch.has("state/secret")) << "the next start must not take them for its own";
}

TEST(StateDirectory, takes_the_secret_that_replicas_share_and_sets_aside_what_another_keyed) {
  const Scratch scratch;
  const HashSecret shared = HashSecret::from_text("of all replicas");
  {
    const auto first = StateDirectory::open(scratch / "state");
    EXPECT_EQ(first.directory->take_secret(shared), 0U) << "there was nothing";
    EXPECT_EQ(first.directory->secret().bytes(), shared.bytes());
  }
  {
    Life life(scratch / "state");
    life.enlist(1);
    life.state->stop(kNow, kWall);
    EXPECT_EQ(life.opened.directory->secret().bytes(), shared.bytes());
    EXPECT_EQ(life.opened.directory->take_secret(shared), 0U) << "it is the same";
    EXPECT_TRUE(scratch.has("state/lists.journal"));
    EXPECT_GT(life.opened.directory->take_secret(HashSecret::from_text("another")), 0U);
    EXPECT_FALSE(scratch.has("state/lists.journal"));
    EXPECT_TRUE(scratch.has("state/lists.journal.bad"));
  }
  Life life(scratch / "state");
  EXPECT_FALSE(life.listed(1));
}

TEST(StateDirectory, says_what_is_wrong_with_it) {
  const Scratch scratch;
  scratch.write("file", "");
  EXPECT_EQ(StateDirectory::open(scratch / "file").message,
            "state.dir " + (scratch / "file") + " can't be made: Not a directory");
  EXPECT_EQ(StateDirectory::open(scratch / "no/such").message,
            "state.dir " + (scratch / "no/such") + " can't be made: No such file or directory");
  std::filesystem::create_directory(scratch / "state");
  for (const char* secret : {"short", "longer than sixteen bytes"}) {
    scratch.write("state/secret", secret);
    const auto opened = StateDirectory::open(scratch / "state");
    EXPECT_EQ(opened.directory, nullptr);
    EXPECT_THAT(opened.message, testing::HasSubstr("is not 16 bytes long"));
  }
}

}  // namespace
}  // namespace weir::app::state_test
