#include "app/remote/remote_text.h"

#include <filesystem>

#include "tests/app/scratch.h"

namespace weir::app::remote_text_test {
namespace {

using Turn = RemoteText::Turn;

/// A text from a key of Redis, kept in a directory that the test makes when the disk is to work.
struct Bench {
  Scratch scratch;
  std::string value = "first";
  std::string error;

  config::RemoteDef def() const {
    config::RemoteDef out;
    out.redis_key.value = "policies";
    return out;
  }
  std::string directory() const { return scratch / "state"; }
  void mend() const { std::filesystem::create_directory(directory()); }
  Turn ask(RemoteText& text) const {
    return text.ask(milliseconds{1'000}, [this](const std::string&) {
      return RemoteText::KeyValue{value, error, error.empty()};
    });
  }
  /// The text that the next process restores; empty: none.
  std::string restored() const {
    RemoteText next(def(), directory(), 1'000);
    return next.restore() ? next.text() : std::string();
  }
};

TEST(RemoteText, writes_a_text_that_the_disk_refused_once_the_disk_takes_it) {
  for (const bool here : {true, false}) {
    const Bench bench;
    RemoteText text(bench.def(), bench.directory(), 1'000);
    ASSERT_EQ(bench.ask(text), Turn::fresh);
    text.keep(here);
    EXPECT_NE(text.unkept(), "");
    EXPECT_EQ(bench.ask(text), Turn::same);
    EXPECT_NE(text.unkept(), "") << "the disk is as it was";
    EXPECT_EQ(text.why(), "");

    bench.mend();
    EXPECT_EQ(bench.ask(text), Turn::same);
    EXPECT_EQ(text.unkept(), "");
    EXPECT_EQ(bench.restored(), "first");
  }
}

TEST(RemoteText, writes_what_it_has_even_if_the_source_is_away) {
  Bench bench;
  RemoteText text(bench.def(), bench.directory(), 1'000);
  ASSERT_EQ(bench.ask(text), Turn::fresh);
  text.keep();
  bench.mend();
  bench.error = "it is away";
  EXPECT_EQ(bench.ask(text), Turn::failed);
  EXPECT_EQ(text.unkept(), "");
  EXPECT_EQ(bench.restored(), "first");
}

TEST(RemoteText, never_writes_a_text_that_was_refused) {
  for (const bool here : {true, false}) {
    Bench bench;
    RemoteText text(bench.def(), bench.directory(), 1'000);
    ASSERT_EQ(bench.ask(text), Turn::fresh);
    text.keep(here);
    bench.value = "wrong";
    ASSERT_EQ(bench.ask(text), Turn::fresh);
    text.refuse("it is wrong");
    bench.mend();
    EXPECT_EQ(bench.ask(text), Turn::same);
    EXPECT_EQ(text.why(), "it is wrong");
    EXPECT_EQ(bench.restored(), here ? "first" : "");
  }
}

TEST(RemoteText, takes_nothing_from_the_disk_that_another_key_has_signed) {
  Bench bench;
  bench.mend();
  const auto restored = [&](const char* signer) {
    config::RemoteDef def = bench.def();
    if (signer != nullptr) def.signer = config::Text{signer, {}};
    RemoteText next(def, bench.directory(), 1'000);
    return next.restore();
  };
  RemoteText text(bench.def(), bench.directory(), 1'000);
  ASSERT_EQ(bench.ask(text), Turn::fresh);
  text.keep();
  EXPECT_TRUE(restored(nullptr));
  EXPECT_FALSE(restored("a key")) << "nobody has signed it";
}

}  // namespace
}  // namespace weir::app::remote_text_test
