#include "replay/team.h"

#include <gmock/gmock.h>

#include <map>
#include <random>

#include "config/load.h"
#include "config/text/render.h"
#include "policies/set/compile.h"
#include "replay/report.h"
#include "tests/replay/scratch_file.h"
#include "tests/support/seed.h"

namespace weir::replay::team_test {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;

/// A configuration of text.
struct Config {
  explicit Config(const std::string& yaml)
      : loaded(config::load_text("test.yaml", "weir: 1\n" + yaml)) {
    if (!loaded.model) throw std::runtime_error(yaml + said());
  }
  std::shared_ptr<policies::PolicySet> compile() {
    std::shared_ptr<policies::PolicySet> set = policies::compile(*loaded.model, loaded.problems);
    if (set == nullptr) throw std::runtime_error(said());
    return set;
  }
  std::string said() const { return config::render_human(loaded.problems, loaded.views(), false); }
  config::Loaded loaded;
};

/// All that a replay says.
struct Said {
  std::string rows, text, json, html;
  Split split;
  std::string restarted;
};

struct Wanted {
  std::string yaml, other;  // other: of --against; empty: none
  Plan plan;
  std::optional<RowWriter::Form> rows;
  Labels labels;
  std::uint64_t slice = 100;
  std::size_t block = ParallelReader::kBlock;
};

Said replay(const Wanted& wanted, unsigned threads) {
  Config config(wanted.yaml);
  std::optional<Config> other;
  Said out;
  Task task;
  task.plan = wanted.plan;
  task.side = {&*config.loaded.model, config.compile()};
  if (!wanted.other.empty()) {
    other.emplace(wanted.other);
    task.other = {&*other->loaded.model, other->compile()};
  }
  if (wanted.rows) {
    task.rows = {[&](std::string_view text) { out.rows += text; },
                 std::vector<bool>(task.side.set->policies.size(), true), *wanted.rows};
  }
  task.labels = &wanted.labels;
  task.threads = threads;
  task.block = wanted.block;
  Team::Failure failure = Team::Failure::none;
  std::string problem;
  const auto team = Team::make(std::move(task), failure, problem);
  EXPECT_NE(team, nullptr) << problem;
  if (team == nullptr) return out;
  out.split = team->split();
  while (team->run(wanted.slice)) {
  }
  EXPECT_EQ(team->failed(), "");
  const Report report =
      make_report(team->replay(), wanted.plan.sources, wanted.other.empty() ? "" : "other.yaml");
  team->finish_rows();
  out.text = report_text(report, false);
  out.json = report_json(report);
  out.html = report_html(report, "test");
  out.restarted = team->restarted();
  return out;
}

/// The first line in which they differ; empty: they are equal.
std::string difference(const std::string& a, const std::string& b) {
  if (a == b) return {};
  const auto at = static_cast<std::size_t>(
      std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
  const auto line = [&](const std::string& text) {
    const std::size_t begin = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
    return text.substr(begin, text.find('\n', at) - begin).substr(0, 400);
  };
  return "several: " + line(a) + "\none: " + line(b);
}

void expect_same(const Wanted& wanted, const Said& one, unsigned threads) {
  SCOPED_TRACE(std::to_string(threads) + " threads\n" + wanted.yaml + "\nagainst:\n" +
               wanted.other);
  const Said several = replay(wanted, threads);
  EXPECT_EQ(difference(several.rows, one.rows), "");
  EXPECT_EQ(difference(several.text, one.text), "");
  EXPECT_EQ(difference(several.json, one.json), "");
  EXPECT_EQ(difference(several.html, one.html), "");
}

constexpr const char* kEvents = R"(
fields: {agent: header.user_agent}
events:
  login:   {match: POST /login}
  failed:  {is: login, when: 'status in [401, 403]'}
  item:    {match: "GET /items/{id}"}
  missed:  {is: request, when: 'status == 404'}
  order:   {source: {csv: [user, ip, amount, what, ts], time: {field: ts, as: millis}}}
  big:     {is: order, when: 'amount != "1"'}
  paid:    {is: order, when: 'what == "pay"'}
)";

class TeamTest : public testing::Test {
 protected:
  TeamTest() { RecordProperty("seed", std::to_string(seed)); }

  std::size_t upto(std::size_t most) { return random() % most; }
  template <class... T>
  std::string one_of(T... of) {
    const std::vector<std::string> all{of...};
    return all[upto(all.size())];
  }

  std::string log(std::size_t rows) {
    std::string out;
    std::int64_t second = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      second += static_cast<std::int64_t>(upto(4));
      const std::int64_t at =
          std::max<std::int64_t>(0, second - static_cast<std::int64_t>(upto(3)) * 2);
      if (upto(50) == 0) out += "garbage\n";
      char stamp[32];
      std::snprintf(stamp, sizeof stamp, "%02d:%02d:%02d", static_cast<int>(at / 3600 % 24),
                    static_cast<int>(at / 60 % 60), static_cast<int>(at % 60));
      const std::string ip =
          upto(5) == 0 ? "2001:db8:" + std::to_string(upto(3)) + "::" + std::to_string(upto(4) + 1)
                       : "203.0." + std::to_string(upto(3)) + "." + std::to_string(upto(6));
      out += ip + " - - [21/Nov/2026:" + stamp + " +0000] \"" +
             one_of("POST /login", "POST /login", "GET /items/" + std::to_string(upto(5)), "GET /x",
                    "GET /a%2fb/../c") +
             " HTTP/1.1\" " + one_of("200", "200", "401", "403", "404") + " 12 \"-\" \"agent" +
             std::to_string(upto(4)) + "\"\n";
    }
    return out;
  }
  std::string orders(std::size_t rows) {
    std::string out;
    std::int64_t ms = 1'795'219'200'000;  // 21 November 2026
    for (std::size_t i = 0; i < rows; ++i) {
      ms += static_cast<std::int64_t>(upto(4000));
      out += "u" + std::to_string(upto(6)) + ",203.0." + std::to_string(upto(3)) + "." +
             std::to_string(upto(6)) + "," + std::to_string(upto(9)) + "," + one_of("make", "pay") +
             "," + std::to_string(ms - static_cast<std::int64_t>(upto(3)) * 2500) + "\n";
    }
    return out;
  }

  std::string window() {
    return one_of("10s", "{last: 20s, exact: true}", "{every: 30s}", "{every: 10s, from: first}",
                  "{last: 1m, buckets: 6}");
  }
  /// Rungs that decide for others, or not.
  std::string rungs(bool harmless) {
    const std::string low = std::to_string(1 + upto(4)), high = std::to_string(4 + upto(6));
    if (harmless) {
      return one_of("[{over: " + low + ", do: flag}]",
                    "[{over: " + low + ", do: flag}, {at: " + high + ", do: flag, clear: true}]",
                    "[{under: " + high + ", do: flag}]");
    }
    return one_of(
        "[{over: " + high + ", do: deny}]", "[{over: " + low + ", do: deny, for: 20s}]",
        "[{over: " + low + ", do: flag}, {over: " + high + ", do: deny, for: [10s, 40s]}]",
        "[{over: " + low + ", do: graylist, for: 15s}]",
        "[{over: " + low + ", do: delay, hold: 1s}]",
        "[{over: " + low + ", do: deny, for: 20s, list: crooks}]",
        "[{over: " + low + ", do: flag, score: 5}]");
  }

  /// `keys`: of requests; of orders; each policy takes one.
  std::string policy(std::size_t i, const std::vector<std::string>& keys,
                     const std::vector<std::string>& order_keys, bool harmless, bool patterns) {
    const std::string name = "p" + std::to_string(i);
    const std::string mode = upto(4) == 0 ? ", mode: shadow" : "";
    const bool of_orders = upto(3) == 0;
    const std::string key =
        (of_orders ? order_keys : keys)[upto((of_orders ? order_keys : keys).size())];
    const std::string of_key = key.empty() ? "" : ", key: " + key;
    if (patterns && upto(4) == 0 && !order_keys.empty()) {
      const std::string on = order_keys[upto(order_keys.size())];
      const std::string pattern =
          one_of("sequence: [big, no paid], within: 8s", "sequence: [big, paid], within: 20s",
                 "pair: [big, paid], within: 9s");
      // A match of an absence has no event to flag.
      const bool lists =
          pattern.find("no paid") != std::string::npos || (!harmless && upto(2) == 0);
      return "  - {name: " + name + ", " + pattern + ", key: " + (on.empty() ? "user" : on) +
             (lists && harmless ? ", mode: shadow" : "") +
             ", then: " + (lists ? "[{do: deny, for: 10s}]" : "[{do: flag}]") + "}\n";
    }
    const std::string watch =
        of_orders ? one_of("order", "big", "paid")
                  : one_of("request", "request", "login", "failed", "missed", "item");
    const std::string metric =
        of_orders ? one_of("", ", metric: sum(int(amount))", ", metric: distinct(what)")
                  : one_of("", "", ", metric: distinct(agent)");
    const std::string when = !of_orders && upto(4) == 0 ? ", when: 'status != 200'" : "";
    const std::string charge = !harmless && upto(4) == 0 ? ", charge: always" : "";
    return "  - {name: " + name + ", watch: " + watch + of_key + metric + when + mode + charge +
           ", window: " + window() + ", then: " + rungs(harmless) + "}\n";
  }

  std::string views() {
    return "views:\n"
           "  - {name: v1, watch: request, by: ip, window: {last: 20s, hop: 5s}, top: 3}\n"
           "  - {name: v2, watch: order, by: user, metric: sum(int(amount)), window: {every: 5s}}\n"
           "  - {name: v3, watch: missed, metric: count, window: {every: 10s}}\n";
  }

  Wanted wanted() {
    Wanted out;
    out.plan.sources = {{"request", files.write("access.log", log(300))},
                        {"order", files.write("orders.csv", orders(200))}};
    if (upto(2) == 0) out.plan.lateness = seconds{upto(8)};
    out.plan.flush = upto(2) == 0;
    if (upto(3) != 0) out.rows = upto(3) == 0 ? RowWriter::Form::csv : RowWriter::Form::ndjson;
    out.labels = {"203.0.0.1", "u1", "203.0.2.3"};
    out.slice = 1 + upto(120);
    out.block = 100 + upto(3000);
    return out;
  }

  const std::uint32_t seed = ::weir::test::new_seed();
  std::mt19937_64 random{seed};
  ScratchFiles files;
};

TEST_F(TeamTest, rows_shared_out_by_a_field_give_what_one_thread_gives) {
  SCOPED_TRACE(seed);
  const std::vector<std::string> keys{"ip", "ip/24", "[ip, agent]", "ip"};
  const std::vector<std::string> order_keys{"ip", "[user, ip]"};
  int by_rows = 0;
  for (int round = 0; round < 12; ++round) {
    Wanted all = wanted();
    const bool patterns = !all.rows;
    for (std::string* yaml : {&all.yaml, &all.other}) {
      if (yaml == &all.other && upto(3) != 0) break;
      *yaml = std::string(kEvents) + "lists:\n  crooks: {of: ip, kind: deny}\npolicies:\n";
      for (std::size_t i = 0; i < 5; ++i)
        *yaml += policy(i, keys, order_keys, upto(2) == 0, patterns);
    }
    const Said one = replay(all, 1);
    for (const unsigned threads : {2U, 3U, 4U}) {
      expect_same(all, one, threads);
      if (HasFailure()) return;
    }
    const Said four = replay(all, 4);
    by_rows += four.split.by == Split::By::rows && four.split.field == "ip" ? 1 : 0;
    EXPECT_EQ(four.restarted, "");
    EXPECT_GT(one.text.size(), 100u);
  }
  EXPECT_GT(by_rows, 6);  // all, where both configurations look for ip at the same places
}

TEST_F(TeamTest, policies_shared_out_give_what_one_thread_gives) {
  SCOPED_TRACE(seed);
  const std::vector<std::string> keys{"ip", "", "agent", "ip/24"};
  const std::vector<std::string> order_keys{"user", "", "ip"};
  int shared_out = 0, with_core = 0;
  for (int round = 0; round < 16; ++round) {
    Wanted all = wanted();
    const std::size_t core = upto(3);
    for (std::string* yaml : {&all.yaml, &all.other}) {
      if (yaml == &all.other && upto(3) != 0) break;
      *yaml = std::string(kEvents) + "lists:\n  crooks: {of: ip, kind: deny}\npolicies:\n";
      for (std::size_t i = 0; i < 8; ++i) {
        // The list is of ip, which orders have as well.
        *yaml += policy(i, keys, order_keys, i % 4 >= core, true);
      }
      if (upto(2) == 0) *yaml += views();
    }
    const Said one = replay(all, 1);
    for (const unsigned threads : {2U, 3U, 4U}) {
      expect_same(all, one, threads);
      if (HasFailure()) return;
    }
    const Said four = replay(all, 4);
    EXPECT_EQ(four.restarted, "");
    shared_out += four.split.by == Split::By::policies ? 1 : 0;
    with_core += four.split.by == Split::By::policies && core > 0 ? 1 : 0;
  }
  EXPECT_GT(shared_out, 4);
  EXPECT_GT(with_core, 0);
}

constexpr const char* kFlags =
    "fields: {agent: header.user_agent}\npolicies:\n"
    "  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 3, do: flag}]}\n"
    "  - {name: b, watch: request, key: path, window: 1m, then: [{over: 3, do: flag}]}\n"
    "  - {name: c, watch: request, key: agent, window: 1m, then: [{over: 3, do: flag}]}\n"
    "  - {name: d, watch: request, window: 1m, then: [{over: 3, do: flag}]}\n";

TEST_F(TeamTest, where_one_would_lack_room_one_thread_begins_again) {
  SCOPED_TRACE(seed);
  std::string rows;
  for (int i = 0; i < 20'000; ++i) {
    rows += "203." + std::to_string(upto(256)) + "." + std::to_string(upto(256)) +
            ".1 - - [21/Nov/2026:00:00:00 +0000] \"GET /" + std::to_string(upto(9999)) +
            " HTTP/1.1\" 200 1 \"-\" \"a\"\n";
  }
  Wanted all;
  all.plan.sources = {{"request", files.write("many.log", rows)}};
  all.rows = RowWriter::Form::ndjson;
  all.slice = 500;
  all.yaml = "limits: {memory: 16MiB, keys: 1000}\n" + std::string(kFlags);
  const Said one = replay(all, 1);
  expect_same(all, one, 3);
  const Said three = replay(all, 3);
  EXPECT_GT(three.split.threads, 1u);
  EXPECT_THAT(three.restarted, HasSubstr("limits.keys"));
  EXPECT_GT(one.rows.size(), 100'000u);  // some had been given before
}

TEST_F(TeamTest, more_keys_than_a_report_keeps_begin_again) {
  std::string rows;
  for (int i = 0; i < 30'000; ++i) {
    rows += "203." + std::to_string(i / 250) + "." + std::to_string(i % 250) +
            ".1 - - [21/Nov/2026:00:00:00 +0000] \"GET / HTTP/1.1\" 200 1 \"-\" \"a\"\n";
  }
  Wanted all;
  all.plan.sources = {{"request", files.write("many.log", rows)}};
  all.slice = 10'000;
  all.yaml =
      "policies:\n  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 0, do: "
      "deny}]}\n";
  const Said one = replay(all, 1);
  expect_same(all, one, 2);
  EXPECT_THAT(replay(all, 2).restarted, HasSubstr("more keys are hit"));
}

TEST_F(TeamTest, a_growing_file_is_the_same_for_all_threads) {
  const std::string path = files.write("growing.log", log(200));
  Wanted all;
  all.plan.sources = {{"request", path}};
  // Rows are shared out: reading begins with the judges.
  all.yaml =
      "policies:\n  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 3, do: "
      "flag}]}\n";
  Config config(all.yaml);
  Task task;
  task.plan = all.plan;
  task.side = {&*config.loaded.model, config.compile()};
  task.labels = &all.labels;
  task.threads = 2;
  Team::Failure failure = Team::Failure::none;
  std::string problem;
  const auto team = Team::make(std::move(task), failure, problem);
  ASSERT_NE(team, nullptr) << problem;
  ASSERT_EQ(team->split().threads, 2u);
  std::ofstream(path, std::ios::app) << log(200);
  while (team->run(50)) {
  }
  EXPECT_EQ(team->restarted(), "");
  EXPECT_EQ(report_json(make_report(team->replay(), all.plan.sources, "")), replay(all, 1).json);
}

/// Rows of files that are not read like an access log: quotes, line feeds between them, stray ones,
/// lines that are longer than a block, whole stretches without a good row.
TEST_F(TeamTest, whatever_a_file_holds_it_is_read_as_by_one_thread) {
  SCOPED_TRACE(seed);
  const std::string value = "\"a\"\"b\"", open = "\"open";
  for (int round = 0; round < 12; ++round) {
    std::string csv, json, mapped = "when,who,verb,where,what\n";
    for (std::size_t i = 0; i < 400; ++i) {
      const std::string ms = std::to_string(1'795'219'200'000 + 1000 * static_cast<int>(i));
      const std::string user = one_of("u1", "u2", "\"u\n3\"", "\"u,4\"", value, "u5");
      csv += user + ",203.0.0." + std::to_string(upto(5)) + ",1,make," + ms +
             one_of("\n", "\r\n", "\n\n");
      if (upto(60) == 0) csv += open + ",x\n";
      if (upto(80) == 0) csv += std::string(4000, 'y') + "\n";
      json += "{\"user\":" + one_of("\"u1\"", "7", "{\"a\":[1,2]}", "null", "\"\\u0041\"") +
              ",\"ts\":" + ms + "}\n";
      if (upto(40) == 0) json += "{\"user\":\n";
      mapped += ms + ",203.0.113." + std::to_string(upto(9)) + ",GET,\"/items/" +
                std::to_string(upto(9)) + one_of("?a=\"\"1\"\"\"", "\"") + ",200\n";
      if (upto(50) == 0) mapped += "?\n";
      if (i == 100 && round % 3 == 0) {
        for (std::string* text : {&csv, &json, &mapped}) {
          for (int bad = 0; bad < 3000; ++bad) *text += "x\n";
        }
      }
    }
    Wanted all;
    all.plan.sources = {{"order", files.write("orders.csv", csv)},
                        {"note", files.write("notes.ndjson", json)},
                        {"request", files.write("requests.csv", mapped)}};
    std::string problem;
    all.plan.mapping = Mapping::parse("ts=when,ip=who,method=verb,path=where,status=what", problem);
    ASSERT_TRUE(all.plan.mapping) << problem;
    if (upto(2) == 0) all.plan.lateness = seconds{upto(5)};
    all.rows = upto(2) == 0 ? RowWriter::Form::csv : RowWriter::Form::ndjson;
    all.slice = 1 + upto(300);
    all.block = 20 + upto(2000);
    const std::string note =
        "  note: {source: {json: true, time: {field: ts, as: millis}}, fields: {second: "
        "'string(user.a[1])'}}\npolicies:\n"
        "  - {name: notes, watch: note, when: 'user.a == null', key: user, window: 9s, then: "
        "[{over: 9, do: flag}]}\n"
        "  - {name: deep, watch: note, key: second, window: 9s, then: [{over: 1, do: "
        "flag}]}\n"
        "  - {name: orders, watch: order, key: user, window: 9s, then: [{over: 1, do: flag}]}\n";
    all.yaml = kEvents + note +
               "  - {name: ips, watch: request, key: ip, window: 9s, then: [{over: 1, do: "
               "flag}]}\n  - {name: query, watch: request, key: query.a, window: 9s, then: [{over: "
               "1, do: flag}]}\n";
    if (upto(2) == 0) all.other = all.yaml;
    const Said one = replay(all, 1);
    EXPECT_GT(one.rows.size(), 10'000u);
    for (const unsigned threads : {2U, 3U, 4U}) {
      expect_same(all, one, threads);
      if (HasFailure()) return;
    }
  }
}

TEST_F(TeamTest, what_cannot_be_shared_out_is_judged_by_one_and_read_by_another) {
  SCOPED_TRACE(seed);
  for (int round = 0; round < 4; ++round) {
    Wanted all = wanted();
    all.yaml = std::string(kEvents) +
               "policies:\n  - {name: a, watch: request, key: ip, window: 1m, keys: 100, then: "
               "[{over: 3, do: deny, for: 9s}]}\n";
    const Said one = replay(all, 1);
    for (const unsigned threads : {2U, 3U}) expect_same(all, one, threads);
    EXPECT_EQ(replay(all, 3).split.threads, 1u);
  }
}

std::string split_of(const std::string& policies, bool gives_rows = false) {
  Config config(kEvents + policies);
  const auto set = config.compile();
  const Split split = make_split(*set, nullptr, 4, gives_rows);
  return (split.by == Split::By::nothing ? "1: " : std::to_string(split.threads) + ": ") +
         split.text;
}

TEST_F(TeamTest, a_field_of_all_keys_shares_out_the_rows) {
  EXPECT_EQ(
      split_of("policies:\n"
               "  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 1, do: deny, "
               "for: 1h}]}\n"
               "  - {name: b, watch: order, key: [user, ip], window: 1m, then: [{over: 1, do: "
               "flag}]}\n"
               "  - {name: c, watch: login, key: ip/24, window: 1m, then: [{over: 1, do: "
               "flag}]}\n"),
      "4: rows by ip");
}

TEST_F(TeamTest, what_keeps_rows_together_is_said) {
  const std::string a =
      "policies:\n  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 1, do: "
      "deny}]}\n";
  EXPECT_THAT(split_of(a), "4: rows by ip");
  EXPECT_THAT(
      split_of(a + "  - {name: b, watch: request, window: 1m, then: [{over: 1, do: deny}]}\n"),
      HasSubstr("policy b counts without ip"));
  EXPECT_THAT(split_of("lists:\n  crooks: {of: agent, kind: deny}\npolicies:\n"
                       "  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 1, do: "
                       "deny, for: 1h, list: crooks}]}\n"),
              HasSubstr("list crooks is of other fields"));
  EXPECT_THAT(split_of(a + "    \n") + split_of(a + "views:\n  - {name: v, watch: request, by: ip, "
                                                    "window: {every: 1m}}\n"),
              HasSubstr("views count"));
  EXPECT_THAT(split_of("lists:\n  crooks: {of: ip, kind: deny}\npolicies:\n"
                       "  - {name: a, watch: request, key: ip, when: '!inList(\"crooks\", ip)', "
                       "window: 1m, then: [{over: 1, do: deny, for: 1h, list: crooks}]}\n"),
              HasSubstr("inList()"));
  EXPECT_EQ(
      split_of("policies:\n  - {name: a, watch: request, key: ip, window: 1m, keys: 10, then: "
               "[{over: 1, do: deny}]}\n"),
      "1: policy a has a table of its own (keys)");
  const std::string pattern =
      "policies:\n  - {name: a, sequence: [big, no paid], within: 8s, key: user, then: [{do: "
      "deny, for: 1h}]}\n";
  EXPECT_THAT(split_of(pattern), "4: rows by user");
  EXPECT_THAT(split_of(pattern, true), HasSubstr("timers"));
}

TEST_F(TeamTest, who_decides_for_others_judges_on_every_thread) {
  Config config(
      kEvents +
      std::string("policies:\n"
                  "  - {name: a, watch: request, key: ip, window: 1m, then: [{over: 9, do: "
                  "flag}]}\n"
                  "  - {name: b, watch: request, key: path, window: 1m, then: [{over: 9, "
                  "do: deny}]}\n"
                  "  - {name: c, watch: request, window: 1m, mode: shadow, then: [{over: "
                  "9, do: deny}]}\n"
                  "  - {name: d, watch: missed, key: path, window: 1m, then: [{over: 9, "
                  "do: graylist, for: 1m}]}\n"
                  "  - {name: e, watch: missed, key: ip, window: 1m, mode: shadow, then: "
                  "[{over: 9, do: deny, for: 1m}]}\n"));
  const auto set = config.compile();
  // Beside one judge another thread reads, and that is half of the work.
  EXPECT_EQ(make_split(*set, nullptr, 2, true).by, Split::By::nothing);
  const Split split = make_split(*set, nullptr, 4, true);
  ASSERT_EQ(split.by, Split::By::policies) << split.text;
  EXPECT_NE(split.policies[0], Split::kEvery);
  EXPECT_EQ(split.policies[1], Split::kEvery);
  EXPECT_NE(split.policies[2], Split::kEvery);
  EXPECT_EQ(split.policies[3], Split::kEvery);
  EXPECT_NE(split.policies[4], Split::kEvery);
}

}  // namespace
}  // namespace weir::replay::team_test
