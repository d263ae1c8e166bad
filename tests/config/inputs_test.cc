#include "config/inputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "config/load.h"
#include "tests/support/seed.h"

namespace weir::config::inputs_test {
namespace {

namespace fs = std::filesystem;

class InputsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weir-inputs-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  /// As git-sync and the kubelet put a new version in place.
  void link(const std::string& name, const std::string& target) {
    fs::create_directories((root_ / name).parent_path());
    fs::create_symlink(target, root_ / "next");
    fs::rename(root_ / "next", root_ / name);
  }
  Loaded load() const { return load_file((root_ / "weir.yaml").string(), {}); }

  fs::path root_;
};

/// The result of loading the files: their version and their errors.
std::string result_of(const Loaded& loaded) {
  return loaded.hash + "\n" + render_human(loaded.problems, loaded.views(), false);
}

/// Any file of a kind that a configuration reads is written, replaced or removed, in random order.
TEST_F(InputsTest, are_unchanged_if_and_only_if_a_load_has_the_same_result) {
  const std::uint32_t seed = test::new_seed();
  SCOPED_TRACE("WEIR_TEST_SEED=" + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };

  const std::string main_text =
      "weir: 1\n"
      "include: [policies/*.yaml, more.yaml]\n"
      "grpc: {listen: '127.0.0.1:1', tls: {cert: tls/cert.pem, key: tls/key.pem}}\n"
      "ratelimit: {files: [limits/*.yaml], limitador: limitador.yaml}\n"
      "fields: {os: query.os}\n"
      "tables: {gold: {by: os, file: data/gold.csv}}\n";
  const struct {
    std::string name;
    std::vector<std::string> texts;
  } files[] = {
      {"weir.yaml", {main_text, main_text + "# other\n", "weir: [\n"}},
      {"policies/a.yaml", {"", "fields: {a: ip}\n", "nonsense"}},
      {"policies/b.yaml", {"", "fields: {b: ip}\n"}},
      {"policies/.hidden.yaml", {"nonsense", "other nonsense"}},
      {"policies/a_test.yaml", {"nonsense", "other nonsense"}},
      {"policies/a.txt", {"nonsense", "other nonsense"}},
      {"more.yaml", {"", "fields: {c: ip}\n"}},
      {"limits/one.yaml", {"domain: one\n", "domain: two\n"}},
      {"limitador.yaml", {"[]\n", "- {namespace: a, max_value: 1, seconds: 60, variables: []}\n"}},
      {"data/gold.csv", {"os,limit\n*,5\n", "os,limit\n*,6\n", "os\n"}},
      {"tls/cert.pem", {"one", "two"}},
      {"tls/key.pem", {"one", "two"}},
      {"beside.yaml", {"nonsense", "other nonsense"}},
  };
  // Versions of a directory to which links lead, with equal and other texts.
  write("v1/a.yaml", "fields: {l: ip}\n");
  write("v2/a.yaml", "fields: {l: ip}\n");
  write("v3/a.yaml", "fields: {m: ip}\n");
  for (const auto& file : files) write(file.name, file.texts.front());

  Loaded before = load();
  int same = 0, other = 0;
  for (int step = 0; step < 400; ++step) {
    const auto& file = files[below(std::size(files))];
    switch (below(4)) {
      case 0:
        fs::remove(root_ / file.name);
        break;
      case 1:
        link("policies/linked.yaml", "../v" + std::to_string(1 + below(3)) + "/a.yaml");
        break;
      default:
        write(file.name, file.texts[below(file.texts.size())]);
    }
    const Loaded after = load();
    const bool is_same = result_of(after) == result_of(before);
    ASSERT_EQ(before.inputs.are_unchanged(), is_same)
        << "step " << step << ", last " << file.name << "\n"
        << result_of(before) << result_of(after);
    EXPECT_TRUE(after.inputs.are_unchanged());
    ++(is_same ? same : other);
    before = after;
  }
  EXPECT_GT(same, 20);
  EXPECT_GT(other, 20);
}

TEST_F(InputsTest, a_result_that_depends_on_more_is_never_called_unchanged) {
  EXPECT_FALSE(Inputs().are_unchanged()) << "nothing was read";
  write("weir.yaml", "weir: 1\ninclude: ['*.yaml']\n");
  write("a.yaml", "fields: {a: ip}\n");
  EXPECT_TRUE(load().inputs.are_unchanged()) << "the pattern names the main file too";
  write("weir.yaml", "weir: 1\ninclude: a.yaml\n");
  EXPECT_TRUE(load().inputs.are_unchanged());
  fs::create_hard_link(root_ / "a.yaml", root_ / "b.yaml");
  write("weir.yaml", "weir: 1\ninclude: [a.yaml, b.yaml]\n");
  EXPECT_FALSE(load().inputs.are_unchanged()) << "one file may become two";
  write("weir.yaml", "weir: 1\ninclude: [{url: 'https://config.example/weir.yaml'}]\n");
  EXPECT_FALSE(load().inputs.are_unchanged()) << "the text may change, no file does";
}

}  // namespace
}  // namespace weir::config::inputs_test
