#include "app/tools/ctl/ctl_text.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>

#include "app/support/news.h"
#include "app/support/verdict_line.h"
#include "app/tools/ctl/ctl_call.h"
#include "app/tools/ctl/ctl_dump.h"
#include "app/tools/ctl/ctl_table.h"
#include "app/tools/ctl/ctl_why.h"
#include "policies/lang/extractors.h"

namespace weir::app::ctl_text_test {
namespace {

boost::json::value read(std::string_view text) { return boost::json::parse(text); }

TEST(CtlText, PoliciesAreATableAndPatternsSayWhatTheyWaitFor) {
  EXPECT_EQ(
      policies_table(read(R"json({"policies":[
        {"name":"login","mode":"enforce","watch":["login_failed"],"key":["ip"],"metric":"count","window":"the last 10m","pattern":null,
         "totals":{"verdicts":{"none":0,"flag":1200,"graylist":30,"delay":0,"challenge":0,"deny":4},"shadows":{"deny":0},"listed":30,"missing":0}},
        {"name":"unpaid","mode":"shadow","watch":["a"],"key":["order"],"metric":"none","window":null,"pattern":"create, no pay within 15m",
         "totals":{"verdicts":{},"shadows":{"flag":2},"listed":0,"missing":0}}],
        "disabled":["old"]})json")),
      "NAME    MODE      WATCH                      KEY    METRIC  WINDOW        VERDICTS  SHADOWS "
      " LISTED\n"
      "login   enforce   login_failed               ip     count   the last 10m  1234              "
      " 30\n"
      "unpaid  shadow    create, no pay within 15m  order                        0         2\n"
      "old     disabled\n");
  EXPECT_EQ(policies_table(read(R"({"policies":[],"disabled":[]})")),
            "no policies are configured\n");
}

TEST(CtlText, KeysOfATableNeverCommandATerminal) {
  EXPECT_EQ(table_values_text(
                read(R"({"values":{"a\u001b[2J":{"b\nc":3,"\u202e":"unlimited"},"*":1500.5}})")),
            "a\\u001b[2J,b\\u000ac  3\na\\u001b[2J,\\u202e  unlimited\n*  1500.5\n");
}

TEST(CtlText, ProblemsAreSaidByFlags) {
  EXPECT_EQ(said_by_flags("say by `effect` which one; `until` or `until`, not `key`",
                          {"effect", "until"}),
            "say by --effect which one; --until or --until, not `key`");
}

TEST(CtlText, BlanksAroundAnAddressAreNoPartOfIt) {
  EXPECT_EQ(key_word(" 203.0.113.9\n"), "203.0.113.9");
  EXPECT_EQ(key_word("\t2001:db8::1 "), "2001:db8::1");
  EXPECT_EQ(key_word(" alice "), " alice ");
  EXPECT_EQ(key_word("  "), "  ");
  EXPECT_EQ(key_word(""), "");
}

TEST(CtlText, ListsAndTheirEntriesAreTables) {
  EXPECT_EQ(lists_table(read(R"json({"lists":[
        {"name":"office","kind":"allow","effect":"flag","of":["ip"],"max":100000,"entries":0,"static_entries":2,"refused":0},
        {"name":"gray","kind":"gray","effect":"delay","of":["user","device"],"max":100,"entries":7,"static_entries":0,"refused":3}]})json")),
            "NAME    KIND   EFFECT  OF            ENTRIES  STATIC  MAX     REFUSED\n"
            "office  allow          ip            0        2       100000\n"
            "gray    gray   delay   user, device  7                100     3\n");
  EXPECT_EQ(
      entries_table(read(R"json({"name":"gray","entries":[
        {"key":["u\u001b[2J","d"],"effect":"flag","until":"2026-11-21T09:00:00.000Z","left_seconds":90.5,"times":2,"by":"policy","why":"","policy":"login","value":11,"limit":10},
        {"key":["u","e"],"effect":"deny","until":"2026-11-21T09:00:00.000Z","left_seconds":9,"times":1,"by":"policy","why":"","policy":"scan"},
        {"key":["10.0.0.0/8"],"effect":"flag","until":null,"left_seconds":null,"by":"config","why":"partner"}],"next":"0s2"})json")),
      "KEY            EFFECT  LEFT      UNTIL                     TIMES  BY      WHY\n"
      "u\\u001b[2J, d  flag    1m30s     2026-11-21T09:00:00.000Z  2      policy  login 11/10\n"
      "u, e           deny    9s        2026-11-21T09:00:00.000Z  1      policy  scan\n"
      "10.0.0.0/8     flag    for good                                   config  partner\n"
      "and more: --limit shows up to 1000\n");
  EXPECT_EQ(entries_table(read(R"({"listed":false,"entries":[]})")), "not listed\n");
  EXPECT_EQ(entries_table(read(R"({"entries":[],"next":null})")), "the list is empty\n");
  EXPECT_EQ(
      entries_table(read(R"({"name":"b","lists":[{"name":"b","source":null,"source_entries":0}],
                                   "entries":[],"next":null})")),
      "the list is empty\n");
}

TEST(CtlText, AListWithAFileSaysHowManyEntriesItBrings) {
  EXPECT_EQ(lists_table(read(R"json({"lists":[{"name":"b","kind":"deny","effect":"deny","of":["ip"],
        "max":100,"entries":1,"static_entries":2,"source_entries":3,"refused":0}]})json")),
            "NAME  KIND  OF  ENTRIES  STATIC  MAX\n"
            "b     deny  ip  1        5       100\n");
  EXPECT_EQ(entries_table(read(R"({"name":"b","lists":[{"name":"b","source":"/etc/b.txt",
                                   "source_entries":2}],"entries":[],"next":null})")),
            "2 entries of /etc/b.txt are not shown: weir ctl list b KEY looks for one\n");
  EXPECT_EQ(list_cleared(read(R"({"name":"b","dry_run":false,"matched":0,"removed":0,
                                  "in_configuration":0,"in_source":2,"sample":[],"undo":null})")),
            "removed 0 entries of b\n2 entries of its file or URL stay\n");
}

TEST(CtlText, ChangesOfAListSayWhatBecameOfThem) {
  EXPECT_EQ(
      entry_change(read(
          R"({"result":"created","list":"b","key":["k"],"until":"2026-11-21T09:00:00.000Z"})")),
      "k is on b until 2026-11-21T09:00:00.000Z\n");
  EXPECT_EQ(entry_change(read(R"({"result":"kept","list":"b","key":["k"],"until":"x"})")),
            "k is on b until x (as before: an entry is never shortened)\n");
  EXPECT_EQ(entry_change(read(R"({"name":"b","key":["k"],"removed":1})")), "k is off b\n");
  EXPECT_EQ(entry_change(read(R"({"name":"b","key":["k"],"removed":0})")), "k was not listed\n");
}

TEST(CtlText, ChangesOfManyEntriesShowTheNote) {
  EXPECT_EQ(list_cleared(read(R"({"name":"b","dry_run":false,"matched":2,"removed":2,
                                  "in_configuration":0,"in_source":0,"sample":[],
                                  "note":"Redis is away","undo":"17"})")),
            "removed 2 entries of b\nRedis is away\n"
            "to take it back within an hour: weir ctl undo 17\n");
  EXPECT_EQ(list_imported(read(R"({"name":"b","read":2,"ended":0,"dry_run":false,"created":2,
                                   "extended":0,"kept":0,"refused":0,"note":"Redis is away",
                                   "undo":"17"})")),
            "2 entries read into b: 2 new, 0 extended, 0 as before\nRedis is away\n"
            "to take it back within an hour: weir ctl undo 17\n");
  EXPECT_EQ(undone_text(read(R"({"undo":"17","what":"removed 2 entries of b","restored":2,
                                 "removed":0,"left":0,"note":""})")),
            "undone (removed 2 entries of b): 2 entries are back\n");
  EXPECT_EQ(undone_text(read(R"({"undo":"17","restored":2,"removed":0,"left":0,
                                 "note":"Redis is away"})")),
            "undone: 2 entries are back\nRedis is away\n");
}

TEST(CtlText, CountersShowTheirRungs) {
  EXPECT_EQ(counters_table(read(R"json({"policy":"login","key":["203.0.113.7"],"counters":[
        {"what":"count over 10m","window":"the last 10m","value":7,"settled":6,"in_flight":1,
         "limits":[{"rung":"over 5: flag","limit":5},{"rung":"over 10: deny","limit":10}]}]})json")),
            "login  203.0.113.7\n"
            "  COUNTER         VALUE  SETTLED  IN FLIGHT  RUNGS\n"
            "  count over 10m  7      6        1          over 5: flag; over 10: deny\n");
  EXPECT_EQ(counters_emptied(read(R"({"policy":"login","key":["a"],"reset":1})")),
            "login: 1 counter emptied for a; list entries stay\n");
  EXPECT_EQ(counters_table(read(R"json({"policy":"p","key":["a"],"counters":[
        {"what":"count over 10m","value":7,"settled":7,"in_flight":0,"from":"store",
         "here":{"value":3,"settled":3,"in_flight":0},"limits":[]},
        {"what":"count over 1h","value":9,"settled":9,"in_flight":0,"from":"here","here":null,
         "limits":[]}]})json")),
            "p  a\n"
            "  COUNTER         VALUE  HERE\n"
            "  count over 10m  7      3\n"
            "  count over 1h   9\n");
  EXPECT_EQ(counters_emptied(read(R"({"policy":"p","key":["a"],"reset":2,"shared":true})")),
            "p: 2 counters emptied for a, for all replicas; list entries stay\n");
}

TEST(CtlText, AReloadSaysItsProblems) {
  EXPECT_EQ(
      reload_text(read(R"json({"ok":true,"hash":"9f86","problem_count":0,"problems":[]})json")),
      "reloaded, configuration 9f86\n");
  EXPECT_EQ(reload_text(read(R"json({"ok":true,"hash":"9f86","problem_count":1,"problems":[
        {"severity":"warning","file":"a.yaml","line":3,"column":1,"message":"escapable","hint":""}]})json")),
            "reloaded, configuration 9f86, 1 warning\na.yaml:3:1: warning: escapable\n");
  EXPECT_EQ(reload_text(read(R"json({"ok":false,"hash":"dead","problem_count":2001,"problems":[
        {"severity":"error","file":"a.yaml","line":14,"column":5,"message":"unknown key \"windw\"","hint":"did you mean \"window\"?"},
        {"severity":"error","file":"","line":0,"column":0,"message":"no policies are left of 4","hint":""}]})json")),
            "not reloaded: the configuration before it stays in force\n"
            "a.yaml:14:5: error: unknown key \"windw\"\n"
            "    did you mean \"window\"?\n"
            "error: no policies are left of 4\n"
            "and 1999 more; \"weir check\" lists them all\n");
  EXPECT_EQ(drain_text(read(R"({"draining":true})")),
            "draining: not ready any more, still serving\n");
  EXPECT_EQ(drain_text(read(R"({"draining":false})")), "not draining: ready\n");
}

TEST(CtlText, TopShowsTheBusiestFirstByWhatCameSince) {
  const auto answer = [](int a, int b) {
    const auto policy = [](const char* name, int flags) {
      return std::string(R"({"name":")") + name +
             R"(","mode":"enforce","rungs":["over 5: flag"],"totals":{"verdicts":{"flag":)" +
             std::to_string(flags) + R"(},"shadows":{},"listed":0,"missing":0}})";
    };
    return read("{\"policies\":[" + policy("a", a) + "," + policy("b", b) + "]}");
  };
  EXPECT_EQ(top_table(answer(5, 1), nullptr, 0),
            "POLICY  MODE     FLAG\n"
            "a       enforce  5\n"
            "b       enforce  1\n");
  EXPECT_EQ(top_table(answer(5, 8), answer(5, 1), 2),
            "POLICY  MODE     A SECOND  FLAG\n"
            "b       enforce  3.5       8\n"
            "a       enforce  0.0       5\n");
  EXPECT_EQ(top_table(answer(0, 0), answer(5, 1), 2).find('-'), std::string::npos)
      << "a weir that has started again has no negative rates";
}

TEST(CtlText, ATailIsShownAsTheLiveViewShowsIt) {
  EXPECT_EQ(
      verdict_line(
          news_of(read(
              R"json({"kind":"verdict","time":"2026-11-21T08:00:00.250Z","effect":"deny","shadow":false,
        "status":429,"client":"203.0.113.7","method":"POST","path":"/api/login","policy":"login","value":11,"limit":10,"window_ms":600000})json")),
          false),
      "08:00:00.250  203.0.113.7      POST /api/login           deny 429   login 11/10 in 10m\n");
  EXPECT_TRUE(
      verdict_line(
          news_of(read(
              R"json({"kind":"verdict","time":"2026-11-21T08:00:00.250Z","effect":"deny","shadow":false,
        "status":429,"policy":"login","value":6,"limit":5,"window_ms":60000,"in_flight":4})json")),
          false)
          .ends_with("  login 6/5 in 1m, 4 in flight\n"));
  EXPECT_TRUE(
      verdict_line(
          news_of(read(
              R"json({"kind":"verdict","time":"2026-11-21T08:00:00.250Z","effect":"flag","shadow":false,
        "policy":"login","value":6,"limit":5,"window_ms":60000,"possible":true})json")),
          false)
          .ends_with("  login 6/5 in 1m, if this one counts\n"));
  EXPECT_EQ(
      verdict_line(
          news_of(read(
              R"json({"kind":"listed","time":"2026-11-21T08:00:00.250Z","effect":"graylist","shadow":false,
        "created":true,"policy":"login","list":"gray","key":["k"],"value":0.5,"limit":0.25,"window_ms":600000,"until":"2026-11-21T08:15:00.000Z"})json")),
          false),
      "08:00:00.250  k                listed  login 0.5/0.25 in 10m, on gray, until 08:15:00\n");
}

TEST(CtlText, AnEmptyKeyIsToldFromEverybody) {
  const auto listed = [](const char* key) {
    return verdict_line(
        news_of(read(R"({"kind":"listed","time":"2026-11-21T08:00:00.250Z","effect":"deny",)"
                     R"("shadow":false,"created":true,"policy":"p","list":"p:deny","key":)" +
                     std::string(key) + "}")),
        false);
  };
  EXPECT_EQ(listed("[]"), "08:00:00.250  (everybody)      listed  p, on p:deny\n");
  EXPECT_EQ(listed(R"([""])"), "08:00:00.250  \"\"               listed  p, on p:deny\n");
  EXPECT_EQ(listed(R"json(["(everybody)"])json"),
            "08:00:00.250  \"(everybody)\"    listed  p, on p:deny\n");
  EXPECT_EQ(listed(R"(["a, b","c\n"])"),
            "08:00:00.250  \"a, b\", \"c\\u000a\"  listed  p, on p:deny\n");

  const auto entry = [](const char* key) {
    const std::string table = entries_table(
        read(R"({"entries":[{"effect":"deny","until":null,"by":"admin","why":"x","key":)" +
             std::string(key) + "}]}"));
    return table.substr(table.find('\n') + 1);
  };
  EXPECT_TRUE(entry("[]").starts_with("(everybody)  deny")) << entry("[]");
  EXPECT_TRUE(entry(R"([""])").starts_with("\"\"   deny")) << entry(R"([""])");

  EXPECT_EQ(entry_change(read(R"({"name":"p","key":[],"removed":1})")),
            "the entry for all is off p\n");
  EXPECT_EQ(entry_change(read(R"({"name":"p","key":[""],"removed":1})")), "\"\" is off p\n");
  EXPECT_EQ(counters_emptied(read(R"({"policy":"p","key":[""],"reset":1})")),
            "p: 1 counter emptied for \"\"; list entries stay\n");
  EXPECT_EQ(entry_change(read(R"({"result":"created","list":"b","key":["k"],"until":null})")),
            "k is on b without an end\n");
}

TEST(CtlText, AnswersOfAnotherShapeAreNoCrash) {
  for (
      const char* text :
      {"null", "[]", "{}", "7",
       R"({"policies":[7,{"totals":3}],"lists":{},"entries":[1],"counters":[[]],"problems":[0]})"}) {
    const boost::json::value value = read(text);
    for (const auto& shown : {policies_table(value), lists_table(value), entries_table(value),
                              entry_change(value), counters_table(value), counters_emptied(value),
                              reload_text(value), drain_text(value), top_table(value, value, 1)}) {
      EXPECT_TRUE(shown.ends_with('\n')) << text;
    }
    static_cast<void>(news_of(value));
  }
}

TEST(NameHint, ProposesTheNearestNameOrAllOfAFew) {
  const boost::json::value policies = read(R"({"policies":[{"name":"login-per-ip","metrics":[]},
      {"name":"orders","metrics":[{"name":"orders.unpaid"}]}],"disabled":["old"]})");
  const std::vector<std::string> names = names_in(policies, "policies");
  EXPECT_EQ(names, (std::vector<std::string>{"login-per-ip", "orders", "orders.unpaid", "old"}));
  EXPECT_EQ(
      names_in(read(R"({"lists":[{"name":"banned"},{"name":"login-per-ip:deny"}]})"), "lists"),
      (std::vector<std::string>{"banned", "login-per-ip:deny", "login-per-ip"}));
  EXPECT_EQ(name_hint("login-per-pi", names), "; did you mean \"login-per-ip\"?");
  EXPECT_EQ(name_hint("orders.unpiad", names), "; did you mean \"orders.unpaid\"?");
  EXPECT_EQ(name_hint("orders", names), "");
  EXPECT_EQ(name_hint("something", names),
            "; there are login-per-ip, orders, orders.unpaid and old");
  EXPECT_EQ(name_hint("something", {"one"}), "; there is one");
  EXPECT_EQ(name_hint("something", {}), "");
  EXPECT_EQ(name_hint("something", std::vector<std::string>(11, "x")), "");
}

TEST(AdminTarget, EncodesNamesAndKeys) {
  EXPECT_EQ(admin_target("/v1/policies"), "/v1/policies");
  EXPECT_EQ(admin_target("/v1/lists/{}/entries", "a b", {"x/y", "1+1"}),
            "/v1/lists/a%20b/entries?key=x%2Fy&key=1%2B1");
  EXPECT_EQ(admin_target("/v1/policies/{}", "../status?"), "/v1/policies/..%2Fstatus%3F");
}

}  // namespace
TEST(CtlText, WhyNamesTheEntryThatCoversAKey) {
  const std::string text = why_text(read(R"json({"key":["198.51.100.5"],"summary":"s","entries":[
        {"list":"feed","kind":"deny","effect":"deny","key":["198.51.100.0/24"],"until":null,"left_seconds":null,"by":"source","why":"from feed.txt","how":"h"},
        {"list":"own","kind":"deny","effect":"deny","key":["198.51.100.5"],"until":null,"left_seconds":null,"by":"admin","why":""}],
        "complete":true})json"));
  EXPECT_EQ(text,
            "s\n\nLISTS\n"
            "  feed  198.51.100.0/24  deny, deny, without end, by source\n"
            "      from feed.txt\n"
            "      h\n"
            "  own  deny, deny, without end, by admin\n");
}

TEST(CtlText, WhySaysWhichFilesWereNotSearched) {
  EXPECT_EQ(why_text(read(R"json({"key":["alice"],"summary":"s","complete":false,"unsearched":[
        {"list":"pairs","source":"pairs.csv","of":["user","ip"],"entries":2}]})json")),
            "s\n\nNOT SEARCHED\n"
            "  pairs: 2 entries of pairs.csv, which are found by the whole key alone (user, ip)\n");
  EXPECT_EQ(why_text(read(R"({"key":["a"],"summary":"s","complete":false})")),
            "s\n\nThere are too many entries of several parts to search all of them.\n");
}

TEST(CtlText, ACounterShowsTheLimitsOfATable) {
  const auto rungs = [](const std::string& table) {
    const std::string text = counters_table(read(
        R"json({"policy":"gold","key":["bob"],"counters":[{"what":"sum","value":4,"settled":4,"in_flight":0,"from":"here",
          "limits":[{"rung":"over t: deny","limit":null,"table":)json" +
        table + "}]}]}"));
    return text.substr(text.find("over"));
  };
  EXPECT_EQ(rungs(R"({"name":"t","least":1500,"most":3000})"), "over t: deny (1500 to 3000)\n");
  EXPECT_EQ(rungs(R"({"name":"t","least":1500,"most":1500})"), "over t: deny (1500)\n");
  EXPECT_EQ(rungs(R"({"name":"t","least":null,"most":null})"), "over t: deny (no limit)\n");
  EXPECT_EQ(rungs("null"), "over t: deny\n");
}

TEST(CtlText, TheConfigurationSaysWhichTablesHaveOtherLimits) {
  EXPECT_EQ(
      tables_changed(read(
          R"({"tables":[{"name":"a","set_here":[]},{"name":"b","set_here":[{"key":"x,y","value":5},{"key":"*","value":null}]}]})")),
      "# table b: 2 limits are other than in the files (weir ctl table b history):\n"
      "#   x,y  5\n"
      "#   *  taken out\n");
}

TEST(CutText, SaysThatItWasCut) {
  telemetry::CutText<16> text;
  text = "0123456789abcdef";
  EXPECT_EQ(text.view(), "0123456789abcdef");
  text = "0123456789abcdefg";
  EXPECT_EQ(text.view(), "0123456789abc\xe2\x80\xa6");
  text = "0123456789ab\xc3\xa4\xc3\xa4\xc3\xa4";
  EXPECT_EQ(text.view(), "0123456789ab\xe2\x80\xa6") << "never half a character";
  text = std::string(200, '\x80');
  EXPECT_EQ(text.view(), std::string(10, '\x80') + "\xe2\x80\xa6") << "not UTF-8 at all";
}

TEST(CutText, HasRoomForEveryReason) {
  for (int i = 0; i <= static_cast<int>(policies::MissReason::path); ++i) {
    const std::string_view reason =
        policies::miss_reason_text(static_cast<policies::MissReason>(i));
    News news;
    news.why = reason;
    EXPECT_EQ(news.why.view(), reason);
  }
}

}  // namespace weir::app::ctl_text_test
