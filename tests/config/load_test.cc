#include "config/load.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include "config/schema.h"
#include "config/text/watch.h"
#include "tests/config/example.h"
#include "tests/support/golden.h"
#include "tests/support/seed.h"

namespace weir::config::load_test {
namespace {

namespace fs = std::filesystem;

class Directory : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "weir-config-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const std::string& name, std::string_view text) {
    fs::create_directories((root_ / name).parent_path());
    std::ofstream(root_ / name, std::ios::binary) << text;
  }
  std::string path(const std::string& name) const { return (root_ / name).string(); }
  /// One update of a mounted ConfigMap, as the kubelet does it.
  void swap_config_map(const std::string& version, std::string_view text) {
    const std::string next = ".." + version;
    write(next + "/weir.yaml", text);
    const bool first = !fs::exists(root_ / "..data");
    const std::string before = first ? "" : fs::read_symlink(root_ / "..data").string();
    fs::create_directory_symlink(next, root_ / "..data_tmp");
    fs::rename(root_ / "..data_tmp", root_ / "..data");
    if (first) fs::create_symlink("..data/weir.yaml", root_ / "weir.yaml");
    if (!before.empty()) fs::remove_all(root_ / before);
  }
  fs::path root_;
};

std::string shown(const Loaded& loaded) {
  return render_human(loaded.problems, loaded.views(), false);
}

TEST(Load, the_example_of_the_design) {
  const Loaded loaded = load_text("weir.yaml", kExample);
  ASSERT_TRUE(loaded.model) << shown(loaded);
  const Model& m = *loaded.model;
  EXPECT_EQ(m.fields.size(), 1u);
  ASSERT_EQ(m.events.size(), 4u);
  EXPECT_EQ(m.events[0].match->value, "POST /api/login");
  EXPECT_EQ(m.events[0].fields[0].expression.value, "body.username.lowerAscii()");
  EXPECT_EQ(m.events[1].when->value, "status in [401, 403]");
  ASSERT_EQ(m.lists.size(), 2u);
  ASSERT_EQ(m.lists[0].entries.size(), 2u);
  EXPECT_EQ(m.lists[0].entries[1].key[0].value, "203.0.113.0/24");
  EXPECT_EQ(to_ms(m.lists[0].entries[1].until->value), 1798761600000);
  EXPECT_EQ(m.lists[0].entries[1].why, "partner");
  EXPECT_EQ(m.lists[0].effect.value, Action::none);
  EXPECT_EQ(m.lists[1].effect.value, Action::flag);
  ASSERT_EQ(m.tables.size(), 1u);
  ASSERT_EQ(m.tables[0].values.children.size(), 3u);
  EXPECT_EQ(m.tables[0].values.children[1].node.children[1].value.value, "*");
  EXPECT_EQ(m.tables[0].values.children[1].node.children[1].node.limit->integer(), 1800);
  EXPECT_EQ(m.tables[0].values.children[2].node.limit->integer(), 1500);
  ASSERT_EQ(m.policies.size(), 4u);
  const PolicyDef& ip = m.policies[0];
  EXPECT_EQ(ip.name.value, "login-per-ip");
  EXPECT_EQ(ip.name.where.line, 30u);
  EXPECT_EQ(ip.key[0].field.value, "ip");
  EXPECT_EQ(ip.window->length, std::chrono::minutes{10});
  EXPECT_EQ(ip.window->buckets, 60u);
  ASSERT_EQ(ip.then.size(), 3u);
  EXPECT_EQ(ip.then[1].action.value, Action::graylist);
  EXPECT_EQ(ip.then[1].durations[0].value, std::chrono::minutes{15});
  EXPECT_EQ(std::get<Located<Number>>(ip.then[2].limit).value, Number{50});
  EXPECT_EQ(m.policies[1].reset->value, "login_ok");
  EXPECT_EQ(m.policies[2].metric.kind, Metric::distinct);
  EXPECT_EQ(m.policies[2].metric.arguments[0].value, "user");
  EXPECT_EQ(m.policies[2].metric.arguments[0].where.column, 22u);
  EXPECT_TRUE(m.policies[3].window->exact);
  EXPECT_EQ(std::get<Text>(m.policies[3].then[0].limit).value, "gold_limit");
  EXPECT_EQ(m.policies[3].then[0].list->value, "gray_users");
}

TEST(Load, every_form_of_a_policy) {
  const Loaded loaded = load_text("weir.yaml", R"yaml(weir: 1
policies:
  - name: a
    watch: [request]
    when: "!has(body.x)"
    key: [user, "ip/24,56"]
    metric: "distinct(user, f(a, [b, ',']))"
    window: {last: 10m, buckets: 10}
    charge: always
    missing: same
    guard: request
    mode: shadow
    keep: 5000
    keys: 77
    announce: true
    then:
      - {over: 4.5, if: "value > 1, 2", in: {every: 1h, from: first}, do: deny, for: [15m, 4h, 24h], forget: 1d, status: 403, tell: nothing, mode: disabled, score: 30, clear: true}
      - {under: limit * 2, do: delay, hold: 2s}
  - {name: b, watch: request, key: ip/48, metric: in_flight, then: [{at: 5, do: challenge}]}
  - {name: c, watch: request, key: ip/24,  window: {every: 1h}, metric: sum(int(body.gold)), then: [{at: 5, score: 3}]}
)yaml");
  ASSERT_TRUE(loaded.model) << shown(loaded);
  const PolicyDef& a = loaded.model->policies[0];
  EXPECT_EQ(a.key[1].v4_bits, 24u);
  EXPECT_EQ(a.key[1].v6_bits, 56u);
  ASSERT_EQ(a.metric.arguments.size(), 2u);
  EXPECT_EQ(a.metric.arguments[1].value, "f(a, [b, ','])");
  EXPECT_EQ(a.window->buckets, 10u);
  EXPECT_EQ(a.charge.value, Charge::always);
  EXPECT_EQ(a.missing.value, Missing::same);
  EXPECT_EQ(a.mode.value, Mode::shadow);
  EXPECT_EQ(a.keep->value, 5000u);
  EXPECT_EQ(a.keys->value, 77u);
  const Rung& r = a.then[0];
  EXPECT_EQ(std::get<Located<Number>>(r.limit).value, Number::real(4.5));
  EXPECT_TRUE(r.in->value.from_first);
  EXPECT_EQ(r.durations.size(), 3u);
  EXPECT_EQ(r.forget->value, std::chrono::hours{24});
  EXPECT_EQ(r.status->value, 403);
  EXPECT_EQ(r.tell->value, Tell::nothing);
  EXPECT_TRUE(r.clear);
  EXPECT_EQ(std::get<Text>(a.then[1].limit).value, "limit * 2");
  EXPECT_FALSE(loaded.model->policies[1].key[0].v4_bits);
  EXPECT_EQ(loaded.model->policies[1].key[0].v6_bits, 48u);
  EXPECT_EQ(loaded.model->policies[2].key[0].v4_bits, 24u);
}

TEST(Load, server_settings_and_their_defaults) {
  const Loaded loaded = load_text("weir.yaml", kServerExample);
  ASSERT_TRUE(loaded.model) << shown(loaded);
  const Server& s = loaded.model->server;
  EXPECT_EQ(s.proxy.upstream->value.port, 3000);
  EXPECT_EQ(s.proxy.upstream_authority, "127.0.0.1:3000");
  ASSERT_EQ(s.proxy.trust.size(), 1u);
  EXPECT_EQ(s.proxy.answer, milliseconds{60'000});
  EXPECT_EQ(s.admin.token_file->value, "/run/weir/admin.token");
  EXPECT_EQ(s.challenge.status, 302);
  EXPECT_FALSE(s.log.json);
  EXPECT_TRUE(s.log.readable_keys);
  EXPECT_EQ(s.log.verdicts_per_second, 20U);
  EXPECT_EQ(s.threads->value, 2u);
  const Loaded bare = load_text("weir.yaml", "weir: 1\n");
  ASSERT_TRUE(bare.model) << shown(bare);
  EXPECT_EQ(bare.model->server.log.verdicts_per_second, 50U);
  EXPECT_EQ(bare.model->server.proxy.listen.value.port, 8480);
  EXPECT_EQ(bare.model->server.admin.listen.value.host, "127.0.0.1");
  EXPECT_EQ(bare.model->server.health.listen.value.port, 8482);
  EXPECT_FALSE(bare.model->server.api.listen);
  EXPECT_FALSE(bare.model->server.api.none);
}

TEST(Load, the_api_door_has_an_address_or_is_not_wanted) {
  const Loaded some = load_text("a", "weir: 1\napi: {listen: 127.0.0.1:9, token_file: /t}\n");
  ASSERT_TRUE(some.model) << shown(some);
  EXPECT_EQ(some.model->server.api.listen->value.port, 9);
  EXPECT_EQ(some.model->server.api.token_file->value, "/t");
  const Loaded none = load_text("a", "weir: 1\napi: {listen: none}\n");
  ASSERT_TRUE(none.model) << shown(none);
  EXPECT_TRUE(none.model->server.api.none);
  EXPECT_FALSE(none.model->server.api.listen);
  const Loaded bad = load_text("a", "weir: 1\napi: {listen: 8484}\n");
  EXPECT_FALSE(bad.model);
}

TEST(Load, the_grpc_door_has_an_address_or_is_not_wanted) {
  const Loaded some = load_text(
      "a",
      "weir: 1\ngrpc: {listen: unix:/run/weir/grpc.sock, message: 8MiB, connection_age: 30m}\n");
  ASSERT_TRUE(some.model) << shown(some);
  EXPECT_EQ(some.model->server.grpc.listen->value.path, "/run/weir/grpc.sock");
  EXPECT_EQ(some.model->server.grpc.message, 8U << 20);
  EXPECT_EQ(some.model->server.grpc.connection_age, std::chrono::minutes{30});
  const Loaded bare = load_text("a", "weir: 1\n");
  EXPECT_FALSE(bare.model->server.grpc.listen);
  EXPECT_FALSE(bare.model->server.grpc.none);
  EXPECT_EQ(bare.model->server.grpc.message, 4U << 20);
  EXPECT_TRUE(load_text("a", "weir: 1\ngrpc: {listen: none}\n").model->server.grpc.none);
  EXPECT_FALSE(load_text("a", "weir: 1\ngrpc: {listen: 8483}\n").model);
  EXPECT_FALSE(load_text("a", "weir: 1\ngrpc: {message: 1KiB}\n").model);
}

TEST(Load, the_environment_wins_over_the_file) {
  const Loaded loaded = load_texts({{"weir.yaml", std::string(kServerExample)}},
                                   {{"WEIR_PROXY_LISTEN", ":9000"},
                                    {"WEIR_PROXY_UPSTREAM", "unix:/run/app.sock"},
                                    {"WEIR_LIMITS_MEMORY", "64MiB"},
                                    {"WEIR_PROXY_CLIENT_IP_TRUST", "10.0.0.0/8, 192.168.0.0/16"},
                                    {"WEIR_ADMIN_TOKEN_FILE", "/t"},
                                    {"WEIR_STATE_DIR", "/s"},
                                    {"WEIR_PROXY_TIMEOUTS_CONNECT", "2s"},
                                    {"WEIR_CONFIG", "x"}});
  ASSERT_TRUE(loaded.model) << shown(loaded);
  EXPECT_TRUE(loaded.problems.all().empty());
  const Server& s = loaded.model->server;
  EXPECT_EQ(s.proxy.listen.value.port, 9000);
  EXPECT_TRUE(s.proxy.upstream->value.is_unix());
  EXPECT_EQ(s.proxy.upstream_authority, "");
  EXPECT_EQ(s.proxy.trust.size(), 2u);
  EXPECT_EQ(s.proxy.connect, milliseconds{2000});
  EXPECT_EQ(s.proxy.head, milliseconds{10'000});
  EXPECT_EQ(s.limits.memory, 64u << 20);
  EXPECT_EQ(s.admin.token_file->value, "/t");
  EXPECT_EQ(loaded.model->files.at(s.proxy.listen.where.file), "$WEIR_PROXY_LISTEN");
}

TEST(Load, aliases_are_values_and_are_bounded) {
  const Loaded good = load_text("a",
                                "weir: 1\npolicies:\n  - {name: a, watch: request, window: 1m, "
                                "then: &t [{over: 1, do: flag}]}\n"
                                "  - {name: b, watch: request, window: 1m, then: *t}\n");
  ASSERT_TRUE(good.model) << shown(good);
  EXPECT_EQ(good.model->policies[1].then.size(), 1u);
  std::string bomb = "weir: 1\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ",*a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  const Loaded bad = load_text("a", bomb);
  EXPECT_NE(shown(bad).find("aliases expand to more than 200000 nodes"), std::string::npos);
  EXPECT_LT(bad.problems.all().size(), 20u);
}

TEST(Load, bounds_are_told) {
  const auto first = [](const std::string& text) {
    return load_text("a", text).problems.all().at(0).message;
  };
  EXPECT_EQ(first("weir: 1\n#" + std::string(4 << 20, 'x')), "the file has more than 4 MiB");
  EXPECT_EQ(first("weir: 1\nx: " + std::string(65, '[')), "nested deeper than 64 levels");
  EXPECT_EQ(first("weir: 1\nx: " + std::string(3 << 20, '[')), "nested deeper than 64 levels");
  std::string deep = "weir: 1\nx:\n";
  for (int i = 1; i < 70; ++i) deep += std::string(static_cast<std::size_t>(i), ' ') + "a:\n";
  EXPECT_EQ(first(deep), "nested deeper than 64 levels");
  std::string many = "weir: 1\nx:\n";
  for (int i = 0; i < 200'001; ++i) many += "- a\n";
  EXPECT_EQ(first(many), "more than 200000 nodes");
  std::string flow = "weir: 1\nx: [";
  for (int i = 0; i < 400'001; ++i) flow += "a,";
  EXPECT_EQ(first(flow), "more than 200000 nodes");
}

TEST(Load, hashes_name_a_version) {
  const Loaded a = load_text("weir.yaml", "weir: 1\n"), b = load_text("weir.yaml", "weir: 1 \n"),
               c = load_text("other.yaml", "weir: 1\n");
  EXPECT_EQ(a.hash.size(), 32u);
  EXPECT_NE(a.hash, b.hash);
  EXPECT_NE(a.hash, c.hash);
  EXPECT_EQ(a.files[0].hash, c.files[0].hash);
  EXPECT_EQ(a.hash, load_text("weir.yaml", "weir: 1\n").hash);
}

TEST(Load, windows_line_ends_and_byte_order_mark) {
  const Loaded loaded = load_text("weir.yaml", "\xEF\xBB\xBFweir: 1\r\nthreads: 2\r\nwindw: 1\r\n");
  EXPECT_EQ(loaded.problems.all().at(0).where.line, 3u);
  EXPECT_NE(shown(loaded).find(" 3 | windw: 1\n"), std::string::npos);
}

TEST_F(Directory, includes_are_sorted_and_hidden_files_left_out) {
  write("weir.yaml",
        "weir: 1\ninclude: [\"policies/*.yaml\", extra.yaml, \"none/*.yaml\", \"*.yaml\"]\n");
  write("policies/b.yaml", "fields: {b: ip}\n");
  write("policies/a.yaml", "fields: {a: ip}\n");
  write("policies/.hidden.yaml", "nonsense");
  write("policies/c.txt", "nonsense");
  write("extra.yaml", "");
  const Loaded loaded = load_file(path("weir.yaml"), {});
  ASSERT_TRUE(loaded.model) << shown(loaded);
  ASSERT_EQ(loaded.files.size(), 4u);
  EXPECT_EQ(loaded.files[1].name, path("policies/a.yaml"));
  EXPECT_EQ(loaded.files[2].name, path("policies/b.yaml"));
  EXPECT_EQ(loaded.files[3].name, path("extra.yaml"));
  ASSERT_EQ(loaded.problems.warnings(), 1u);
  EXPECT_EQ(loaded.problems.all()[0].message, "\"none/*.yaml\" matches no file");
  EXPECT_EQ(loaded.inputs.directories(),
            (std::vector<std::string>{root_.string(), path("none"), path("policies")}));
}

TEST_F(Directory, a_key_that_is_spelt_with_escapes_includes_too) {
  write("weir.yaml", "weir: 1\n\"incl\\u0075de\": more.yaml\n");
  write("more.yaml", "fields: {os: query.os}\n");
  const Loaded loaded = load_file(path("weir.yaml"), {});
  ASSERT_TRUE(loaded.model) << shown(loaded);
  EXPECT_EQ(loaded.model->fields.size(), 1U);
}

TEST_F(Directory, the_hash_is_that_of_the_content_wherever_it_lies) {
  const auto hash = [&](const std::string& name) { return load_file(path(name), {}).hash; };
  for (const char* where : {"a", "b/c"}) {
    const std::string at = std::string(where) + "/";
    write(at + "weir.yaml",
          "weir: 1\ninclude: [more/*.yaml]\ntables: {t: {by: [x], file: t.csv}}\n");
    write(at + "more/1.yaml", "fields: {a: ip}\n");
    write(at + "t.csv", "x,limit\n*,5\n");
  }
  EXPECT_EQ(hash("a/weir.yaml"), hash("b/c/weir.yaml"));
  EXPECT_EQ(hash("a/weir.yaml"), hash("a/../a/weir.yaml"));
  const std::string before = hash("a/weir.yaml");
  fs::rename(root_ / "a/more/1.yaml", root_ / "a/more/2.yaml");
  EXPECT_NE(hash("a/weir.yaml"), before);
}

TEST_F(Directory, what_is_read_is_read_to_its_end) {
  std::string lines;
  for (int i = 0; i < 120'000; ++i)
    lines += "an-application-with-a-long-name-" + std::to_string(i) + ",15\n";
  ASSERT_GT(lines.size(), std::size_t{4} << 20);
  write("large.csv", lines + "last,1500000\n");
  write("weir.yaml", "weir: 1\ntables: {t: {by: [x], file: large.csv}}\n");
  const Loaded loaded = load_file(path("weir.yaml"), {});
  EXPECT_EQ(shown(loaded), "");
  const auto& values = loaded.model->tables.at(0).values.children;
  EXPECT_EQ(values.size(), 120'001u);
  EXPECT_EQ(values.back().value.value, "last");
  EXPECT_EQ(values.back().node.limit, Number(std::int64_t{1'500'000}));
  write("large.csv", lines + "last,1500001\n");
  EXPECT_NE(load_file(path("weir.yaml"), {}).hash, loaded.hash);

  write("key.pem", std::string((std::size_t{4} << 20) + 1, 'x'));
  write("limits.yaml", std::string((std::size_t{4} << 20) + 1, '#'));
  write("tls.yaml",
        "weir: 1\ngrpc: {listen: '127.0.0.1:1', tls: {cert: key.pem, key: key.pem}}\n"
        "ratelimit: {limitador: limits.yaml}\n");
  const std::string problems = shown(load_file(path("tls.yaml"), {}));
  EXPECT_NE(problems.find("key.pem\": it has more than 4 MiB"), std::string::npos) << problems;
  EXPECT_NE(problems.find("limits.yaml\": it has more than 4 MiB"), std::string::npos) << problems;
}

TEST_F(Directory, what_cannot_be_read_is_told) {
  write("weir.yaml", "weir: 1\ninclude: [missing.yaml, dir, pipe]\n");
  fs::create_directory(root_ / "dir");
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Loaded loaded = load_file(path("weir.yaml"), {});
  ASSERT_EQ(loaded.problems.errors(), 3u);
  EXPECT_NE(shown(loaded).find("missing.yaml\": No such file"), std::string::npos);
  EXPECT_NE(shown(loaded).find("dir\": it is a directory"), std::string::npos);
  EXPECT_NE(shown(loaded).find("pipe\": it is not a regular file"), std::string::npos);
  const Loaded none = load_file(path("none.yaml"), {});
  EXPECT_EQ(shown(none),
            path("none.yaml") +
                ": error: cannot read the file: No such file or directory\n1 error in 1 file\n");
}

TEST_F(Directory, a_directory_name_is_no_pattern) {
  write("a[1]*/weir.yaml", "weir: 1\ninclude: \"p*.yaml\"\n");
  write("a[1]*/p1.yaml", "fields: {a: ip}\n");
  const Loaded loaded = load_file(path("a[1]*/weir.yaml"), {});
  EXPECT_EQ(loaded.files.size(), 2u) << shown(loaded);
}

/// Waits for the kernel, not for time: inotify tells a change before the call that made it returns.
bool readable(const Watch& watch) {
  pollfd p{watch.fd(), POLLIN, 0};
  return ::poll(&p, 1, 0) == 1;
}

TEST_F(Directory, successive_config_map_swaps_are_seen) {
  swap_config_map("v1", "weir: 1\n");
  const Loaded first = load_file(path("weir.yaml"), {});
  ASSERT_TRUE(first.model) << shown(first);
  Watch watch;
  watch.watch(first.inputs.directories());
  ASSERT_FALSE(watch.must_poll());
  EXPECT_FALSE(readable(watch));
  std::string hash = first.hash;
  for (const char* version : {"v2", "v3", "v4"}) {
    swap_config_map(version, "weir: 1\n# " + std::string(version) + "\n");
    EXPECT_TRUE(readable(watch)) << version;
    EXPECT_TRUE(watch.drain()) << version;
    EXPECT_FALSE(readable(watch)) << version;
    const Loaded next = load_file(path("weir.yaml"), {});
    EXPECT_NE(next.hash, hash) << version;
    hash = next.hash;
    watch.watch(next.inputs.directories());
  }
}

TEST_F(Directory, editors_copies_and_new_directories_are_seen) {
  write("weir.yaml", "weir: 1\n");
  Watch watch;
  watch.watch({root_.string(), path("policies")});
  EXPECT_TRUE(watch.must_poll());
  EXPECT_EQ(watch.missing(), std::vector<std::string>{path("policies")});
  write(".weir.yaml.swp", "x");
  fs::rename(root_ / ".weir.yaml.swp", root_ / "weir.yaml");
  EXPECT_TRUE(watch.drain());
  EXPECT_FALSE(watch.drain());
  write("weir.yaml", "weir: 1\n");
  EXPECT_TRUE(watch.drain());
  fs::create_directory(root_ / "policies");
  EXPECT_TRUE(watch.drain());
  EXPECT_FALSE(watch.must_poll());
  write("policies/a.yaml", "fields: {}\n");
  EXPECT_TRUE(watch.drain());
  fs::remove_all(root_ / "policies");
  EXPECT_TRUE(watch.drain());
  EXPECT_TRUE(watch.must_poll());
  fs::create_directory(root_ / "policies");
  EXPECT_TRUE(watch.drain());
  EXPECT_FALSE(watch.must_poll());
}

TEST_F(Directory, places_of_files_that_cannot_be_read_are_watched_too) {
  write("weir.yaml",
        "weir: 1\ninclude: \"*/p.yaml\"\nfields: {os: query.os}\n"
        "tables: {gold: {by: os, file: numbers/gold.csv}}\n");
  fs::create_directories(root_ / "dir/p.yaml");
  fs::create_directories(root_ / "numbers");
  const Loaded loaded = load_file(path("weir.yaml"), {});
  EXPECT_EQ(loaded.problems.errors(), 2u) << shown(loaded);
  EXPECT_EQ(loaded.inputs.directories(),
            (std::vector<std::string>{root_.string(), path("dir"), path("numbers")}));
  EXPECT_EQ(loaded.inputs.watched(), loaded.inputs.directories()) << "there are no links here";
}

TEST_F(Directory, links_on_the_way_to_a_file_are_seen_to_change) {
  const auto link = [&](const std::string& name, const std::string& target) {
    fs::create_directories((root_ / name).parent_path());
    fs::create_symlink(target, root_ / "next");
    fs::rename(root_ / "next", root_ / name);
  };
  write("one/etc/weir.yaml", "weir: 1\n# one\n");
  write("two/etc/weir.yaml", "weir: 1\n# two\n");
  write("real/weir.yaml", "weir: 1\n# real\n");
  write("real/more.yaml", "fields: {}\n");
  link("sync/current", "../one");  // as git-sync does it: a link above the file
  link("by/way", path("by/of"));
  link("by/of", "../sync/./current/etc");
  link("etc/weir.yaml", "../real/weir.yaml");  // a link in place of the file
  write("in/weir.yaml", "weir: 1\ninclude: \"more/*.yaml\"\n");
  link("in/more", "../real");
  const struct {
    const char* name;
    const char* file;
    std::function<void()> change;
  } cases[] = {
      {"a link above it", "sync/current/etc/weir.yaml", [&] { link("sync/current", "../two"); }},
      {"the last of a chain", "by/way/weir.yaml", [&] { link("sync/current", "../one"); }},
      {"the first of a chain", "by/way/weir.yaml", [&] { link("by/way", "../two/etc"); }},
      {"the file behind a link", "etc/weir.yaml",
       [&] { write("real/weir.yaml", "weir: 1\n# new\n"); }},
      {"the link itself", "etc/weir.yaml", [&] { link("etc/weir.yaml", "../two/etc/weir.yaml"); }},
      {"a link to a directory of a pattern", "in/weir.yaml", [&] { link("in/more", "../two"); }},
  };
  for (const auto& c : cases) {
    const Loaded before = load_file(path(c.file), {});
    ASSERT_TRUE(before.model) << c.name << shown(before);
    Watch watch;
    EXPECT_TRUE(watch.watch(before.inputs.watched()));
    EXPECT_FALSE(watch.must_poll()) << c.name;
    ASSERT_FALSE(readable(watch)) << c.name;
    c.change();
    EXPECT_TRUE(watch.drain()) << c.name;
    const Loaded after = load_file(path(c.file), {});
    EXPECT_NE(after.hash, before.hash) << c.name;
    watch.watch(after.inputs.watched());
    EXPECT_FALSE(watch.watch(after.inputs.watched())) << c.name << ": nothing new";
  }
}

TEST_F(Directory, links_that_go_round_or_nowhere_end) {
  fs::create_symlink("round", root_ / "round");
  fs::create_symlink("no/where.yaml", root_ / "dangling.yaml");
  for (const char* name : {"round", "round/weir.yaml", "dangling.yaml"}) {
    const Loaded loaded = load_file(path(name), {});
    EXPECT_FALSE(loaded.model) << name;
    const std::vector<std::string> watched = loaded.inputs.watched();
    EXPECT_TRUE(std::find(watched.begin(), watched.end(), root_.string()) != watched.end()) << name;
  }
}

TEST_F(Directory, config_map_swaps_are_seen_with_the_links_watched) {
  swap_config_map("v1", "weir: 1\n");
  Watch watch;
  watch.watch(load_file(path("weir.yaml"), {}).inputs.watched());
  for (const char* version : {"v2", "v3", "v4"}) {
    swap_config_map(version, "weir: 1\n# " + std::string(version) + "\n");
    EXPECT_TRUE(watch.drain()) << version;
    watch.watch(load_file(path("weir.yaml"), {}).inputs.watched());
    EXPECT_FALSE(watch.must_poll()) << version;
    EXPECT_FALSE(watch.drain()) << version;
  }
}

TEST(Load, mutated_examples_never_crash) {
  const unsigned seed = ::weir::test::new_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  using std::string_literals::operator""s;
  const std::string signs = "{}[],:-#&*!|>'\"%@`?\n\t 019abz\xff\0~<"s;
  for (int round = 0; round < 400; ++round) {
    std::string text(round % 4 == 0 ? kServerExample : kExample);
    for (std::size_t n = 1 + below(6); n > 0; --n) {
      const std::size_t at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = signs[below(signs.size())];
          break;
        case 1:
          text.insert(at, 1, signs[below(signs.size())]);
          break;
        case 2:
          text.erase(at, 1 + below(20));
          break;
        default:
          text.insert(at, text.substr(below(text.size()), below(60)));
          break;
      }
    }
    const Loaded loaded = load_text("weir.yaml", text);
    EXPECT_NE(loaded.model.has_value(), loaded.problems.has_errors());
    render_human(loaded.problems, loaded.views(), round % 2 == 0);
    render_json(loaded.problems, loaded.views());
    for (const Problem& p : loaded.problems.all()) {
      EXPECT_LT(p.where.file, loaded.files.size());
      EXPECT_GT(p.where.line, 0u) << p.message;
    }
  }
}

TEST(Load, RedisIsOneServerOrSentinelsOrACluster) {
  const auto redis = [](const std::string& text) {
    const Loaded loaded = load_text("a.yaml", "weir: 1\nredis: " + text + "\n");
    EXPECT_EQ(loaded.problems.errors(), 0U) << text;
    return *loaded.model->server.redis;
  };
  const Server::Redis one = redis("{url: 'unix:///run/r.sock?db=2', timeout: 1s, budget: 20ms}");
  EXPECT_EQ(one.parsed_url.endpoint.path, "/run/r.sock");
  EXPECT_EQ(one.parsed_url.database, 2);
  EXPECT_EQ(one.timeout, milliseconds(1'000));
  EXPECT_EQ(one.budget, milliseconds(20));
  const Server::Redis sentinel =
      redis("{sentinel: {name: m, nodes: [a, 'b:1'], user: u, password_file: f}, keys: readable}");
  EXPECT_EQ(sentinel.master->value, "m");
  EXPECT_EQ(sentinel.sentinels[0].value.port, 26379);
  EXPECT_EQ(sentinel.sentinels[1].value.to_string(), "b:1");
  EXPECT_TRUE(sentinel.readable_keys);
  EXPECT_FALSE(sentinel.functions);
  EXPECT_TRUE(redis("{url: 'redis://r', functions: true}").functions);
  EXPECT_EQ(redis("{cluster: ['[::1]:7000', n]}").cluster[0].value.host, "::1");
}

TEST(Schema, is_as_the_tables_say) {
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/schema.json", schema_json()), "");
  EXPECT_EQ(test::compare_golden(WEIR_SOURCE_DIR, "config/reference.md", reference_markdown()), "");
}

}  // namespace
}  // namespace weir::config::load_test
