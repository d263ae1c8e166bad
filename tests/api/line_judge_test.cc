#include "api/line_judge.h"

#include <gmock/gmock.h>

#include "api_world.h"
#include "tests/support/record_values.h"

namespace weir::api::line_judge_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr const char* kYaml = R"(
fields:
  user: header.x_user_id
events:
  login:
    match: POST /api/login
    fields: {account: body.username.lowerAscii(), device: header.x_device_id}
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok: {is: login, when: 'status == 200'}
  reward:
    match: POST /api/users/{id}/reward
    fields: {gold: int(body.gold), rate: double(body.rate), vip: body.vip == true}
  order: {source: {json: true, time: {field: ts, as: seconds}}}
  row: {source: {csv: [user, ip, state, ts], time: {field: ts, as: seconds}}}
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
  gray_users: {of: user, kind: gray}
policies:
  - name: per-ip
    watch: login_failed
    key: ip
    window: 10m
    then: [{over: 1, do: flag}, {over: 2, do: deny, status: 403, for: 1h}]
  - name: per-account
    watch: login_failed
    key: account
    window: {last: 1h, exact: true}
    reset: login_ok
    then: [{over: 3, do: challenge}]
  - name: gold
    watch: reward
    key: id
    metric: sum(gold)
    window: {last: 30m, exact: true}
    then: [{over: 100, do: graylist, for: 1h, score: 7}]
  - name: orders
    watch: order
    when: amount >= 10
    key: buyer
    window: {last: 1m, exact: true}
    then: [{over: 1, do: delay, hold: 250ms}]
  - name: rows
    watch: row
    key: [user, ip]
    window: 1m
    then: [{over: 1, do: flag}]
  - name: all
    watch: request
    key: method
    window: {every: 1h}
    then: [{over: 1000, do: flag}]
)";

class LineJudgeTest : public testing::Test {
 protected:
  ApiWorld api{kYaml};
};

TEST_F(LineJudgeTest, AValueThatIncludesTheEventBeforeItsAnswerSaysSo) {
  const std::string before = R"({"event":"login","ip":"203.0.113.8","account":"ann"})";
  const std::string failed = R"({"event":"login","ip":"203.0.113.8","account":"ann","status":401})";
  EXPECT_EQ(api.ask(failed), R"({"verdict":"pass"})");
  // One counts. Asked twice before the answer, it is still one.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(
        api.ask(before),
        R"({"verdict":"flag","policy":"per-ip","rung":0,"value":2,"limit":1,"window_ms":600000,"possible":true})");
  }
  EXPECT_THAT(api.query(before), HasSubstr(R"("value":2,"possible":true,"rungs":)"));
  // Two count, and the answer is known.
  EXPECT_EQ(
      api.ask(failed),
      R"({"verdict":"flag","policy":"per-ip","rung":0,"value":2,"limit":1,"window_ms":600000})");
  // A right answer counts for nothing.
  EXPECT_THAT(api.ask(R"({"event":"login","ip":"203.0.113.8","account":"ann","status":200})"),
              HasSubstr(R"("value":3,"limit":2,"window_ms":600000,"possible":true)"));
}

TEST_F(LineJudgeTest, AnEventThatOnlyAnAnswerTellsIsSettledAtOnce) {
  const std::string failed = R"({"event":"login","ip":"203.0.113.9","account":"bob","status":401})";
  EXPECT_EQ(api.ask(failed), R"({"verdict":"pass"})");
  EXPECT_EQ(
      api.ask(failed),
      R"({"verdict":"flag","policy":"per-ip","rung":0,"value":2,"limit":1,"window_ms":600000})");
  // The third is refused; as a refusal that rests on settled counts it bans for an hour.
  EXPECT_EQ(
      api.ask(failed),
      R"({"verdict":"deny","policy":"per-ip","rung":1,"value":3,"limit":2,"window_ms":600000,"possible":true,"until":"2027-01-15T09:00:00.000Z","status":403,"retry_after_ms":3600000})");
  EXPECT_EQ(
      api.ask(failed),
      R"({"verdict":"deny","policy":"per-ip","until":"2027-01-15T09:00:00.000Z","status":403,"retry_after_ms":3600000})");
}

TEST_F(LineJudgeTest, WithoutAStatusNothingIsSettledButWhatWasNamed) {
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(api.verdict(R"({"event":"login","ip":"203.0.113.9","account":"bob"})"), "pass");
  }
  // By its own name it happened, whatever the status was.
  EXPECT_EQ(api.verdict(R"({"event":"login_failed","ip":"203.0.113.9","account":"bob"})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"login_failed","ip":"203.0.113.9","account":"bob"})"), "flag");
}

TEST_F(LineJudgeTest, AStatusThatAgreesWithTheEventIsWell) {
  EXPECT_EQ(api.verdict(R"({"event":"login_failed","account":"b","status":403})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"login_ok","account":"b","response":{"status":200}})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"login","account":"b","status":500})"), "pass");
}

TEST_F(LineJudgeTest, APathThatTheProxyRefusesIsRefused) {
  for (const char* const path : {R"("path":"/api%2flogin")", R"("url":"/api%2Flogin?a=b")"}) {
    EXPECT_EQ(
        api.ask(R"({"method":"POST",)" + std::string(path) + R"(,"status":401})"),
        R"({"verdict":"deny","policy":"per-ip","missing":"path","why":"servers read its escapes or segments in different ways","status":400})");
    EXPECT_EQ(api.verdict(R"({"method":"GET",)" + std::string(path) + "}"), "pass");
  }
}

TEST_F(LineJudgeTest, ASumBeyondTheLargestDoubleIsANumberStill) {
  ApiWorld sums{R"(
events: {paid: {source: {json: true, time: {field: ts, as: seconds}}, fields: {amount: double(amount)}}}
policies:
  - {name: paid, watch: paid, metric: sum(amount), window: 1m, then: [{over: 5, do: flag}]}
)"};
  EXPECT_EQ(sums.verdict(R"({"event":"paid","amount":1e308})"), "flag");
  EXPECT_THAT(sums.ask(R"({"event":"paid","amount":1e308})"),
              HasSubstr(R"("value":179769313486231570814527423731704356798070567525844996598917)"))
      << "the largest double, in plain decimal form";
}

TEST_F(LineJudgeTest, ARightLoginResets) {
  const auto failed = [&](int n) {
    return api.verdict(R"({"event":"login_failed","account":"bob","ip":"203.0.113.)" +
                       std::to_string(n) + "\"}");
  };
  EXPECT_EQ(failed(1), "pass");
  EXPECT_EQ(failed(2), "pass");
  EXPECT_EQ(failed(3), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"login_ok","account":"bob"})"), "pass");
  EXPECT_EQ(failed(4), "pass");
  EXPECT_EQ(failed(5), "pass");
  EXPECT_EQ(failed(6), "pass");
  EXPECT_EQ(failed(7), "challenge");
}

TEST_F(LineJudgeTest, AnEventWithoutANameIsWhatTheProxyWouldHaveSeen) {
  const std::string event =
      R"({"method":"POST","url":"https://Shop.example/api/./login?x=1","ip":"203.0.113.9",)"
      R"("header":{"X_Device_Id":"d1"},"body":{"username":"BOB"},"status":401})";
  EXPECT_EQ(api.verdict(event), "pass");
  EXPECT_EQ(api.verdict(event), "flag");
  const std::string asked = api.query(event);
  EXPECT_THAT(
      asked,
      HasSubstr(R"({"policy":"per-account","event":"login_failed","key":["bob"],"value":3,)"));
  EXPECT_THAT(asked, HasSubstr(R"({"policy":"all","event":"request","key":["POST"],"value":3,)"));
  // The same account under its own name and through the body: one counter.
  EXPECT_THAT(api.query(R"({"event":"login","account":"bob","status":401})"),
              HasSubstr(R"("key":["bob"],"value":3,)"));
}

// The proxy takes neither of two types; a header's type holds for each form of the body.
TEST_F(LineJudgeTest, ABodyIsOfTheTypeThatOneHeaderSays) {
  const auto account_of = [&](const std::string& rest) {
    return api.query(R"({"method":"POST","path":"/api/login","ip":"203.0.113.9","status":401,)" +
                     rest + "}");
  };
  const auto counted = HasSubstr(R"({"policy":"per-account","event":"login_failed","key":["bob"])");
  const std::string object = R"("body":{"Username":"bob"})", form = R"("body":"user%4eame=bob")";
  const auto header = [](const std::string& type) {
    return R"("header":{"Content-Type":")" + type + "\"}";
  };
  constexpr const char* kForm = "application/x-www-form-urlencoded";
  EXPECT_THAT(account_of(object), counted);
  EXPECT_THAT(account_of(object + "," + header("application/json")), counted);
  EXPECT_THAT(account_of(header(kForm) + "," + form), counted);
  EXPECT_THAT(account_of(form + "," + header(kForm)), counted);
  for (const std::string& rest :
       {object + "," + header(kForm), object + "," + header("application/json; charset=utf-7"),
        object + R"(,"header":{"Content-Type":"text/plain","content-type":"application/json"})",
        std::string(R"("body":{"username":"bob","userName":"eve"})")}) {
    EXPECT_THAT(account_of(rest), ::testing::Not(counted)) << rest;
  }
}

TEST_F(LineJudgeTest, AnHttpEventIsARequestAsWell) {
  EXPECT_EQ(api.ask(R"({"event":"login","ip":"10.1.2.3","account":"bob"})"),
            R"({"verdict":"pass","list":"office"})");
  EXPECT_THAT(api.query(R"({"event":"reward","id":5,"gold":1,"method":"POST"})"),
              HasSubstr(R"({"policy":"all","event":"request","key":["POST"],"value":1,)"));
}

TEST_F(LineJudgeTest, AQueryCountsNothing) {
  const std::string event = R"({"event":"reward","id":"u1","gold":60})";
  const std::string first = api.query(event);
  EXPECT_EQ(
      first,
      R"({"verdict":"pass","policies":[{"policy":"gold","event":"reward","key":["u1"],"value":60,"rungs":[{"do":"graylist","value":60,"limit":100,"holds":false}]},)"
      R"({"policy":"all","skipped":"a key part is missing: method"}]})");
  EXPECT_EQ(api.query(event), first);
  EXPECT_EQ(api.verdict(event), "pass");
  EXPECT_EQ(
      api.ask(event),
      R"({"verdict":"gray","policy":"gold","rung":0,"value":120,"limit":100,"window_ms":1800000,"until":"2027-01-15T09:00:00.000Z","score":7})");
  EXPECT_EQ(api.metrics.sum(telemetry::Metric::api_events), 2);
  EXPECT_EQ(api.metrics.sum(telemetry::Metric::api_queried), 2);
}

TEST_F(LineJudgeTest, RecordsHaveTheirColumns) {
  EXPECT_EQ(api.verdict(R"({"event":"order","buyer":7,"amount":12.5,"unread":{"a":[1]}})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"order","buyer":"7","amount":3})"), "pass");
  EXPECT_EQ(
      api.ask(R"({"event":"order","buyer":"7","amount":10})"),
      R"({"verdict":"delay","policy":"orders","rung":0,"value":2,"limit":1,"window_ms":60000,"hold_ms":250})");
  EXPECT_EQ(api.verdict(R"({"event":"row","user":"u","ip":"::1","state":"x"})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"row","user":"u","ip":"::1"})"), "flag");
  EXPECT_THAT(api.query(R"({"event":"row","user":"u","ip":null})"),
              HasSubstr(R"({"policy":"rows","skipped":"a key part is missing: ip"})"));
}

TEST(LineJudge, AColumnOfARecordIsWhatItIsInAFile) {
  const std::string yaml = R"(
events: {e: {source: {json: true, time: {field: ts, as: seconds}}}}
policies: [{name: p, watch: e, key: c, window: 1m, then: [{over: 9, do: flag}]}]
)";
  for (const test::RecordValue& value : test::kRecordValues) {
    ApiWorld api(yaml);
    EventReader reader;
    const std::string text = "{\"event\":\"e\",\"c\":" + std::string(value.json) + "}";
    const auto wrong = reader.read(text, api.gate.set(), api.world.now);
    ASSERT_FALSE(wrong) << value.json << ": " << wrong->what;
    Value read;
    for (const policies::Preset& preset : reader.record().values) read = preset.value;
    EXPECT_EQ(test::record_value_text(read), value.read) << value.json;
    EXPECT_EQ(api.query(text).find("a key part is missing: c") == std::string::npos, value.is_key)
        << value.json;
  }
}

TEST(LineJudge, ExpressionsLookIntoListsAndMapsOfARecord) {
  ApiWorld api(R"(
events: {e: {source: {json: true, time: {field: ts, as: seconds}}, fields: {second: 'string(c.a[1])'}}}
policies: [{name: p, watch: e, key: second, window: 1m, then: [{over: 1, do: flag}]}]
)");
  EXPECT_EQ(api.verdict(R"({"event":"e","c":{"a":[1,2]}})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"e","c":{"a":["x","2"]}})"), "flag");
  EXPECT_EQ(api.verdict(R"({"event":"e","c":[2]})"), "pass") << "it has no such part";
}

TEST_F(LineJudgeTest, SaysWhatIsWrongAndWhere) {
  struct Case {
    const char *event, *wrong;
  };
  for (const Case& c : {
           Case{R"({"event":"logn"})", "10 there is no event \"logn\"; did you mean \"login\"?"},
           {R"({"event":7})", "10 `event` is the name of an event"},
           {R"({"event":"login","acount":"x"})",
            "18 the event login has no field \"acount\"; did you mean \"account\"?"},
           {R"({"account":"x"})", "2 the event request has no field \"account\"; "},
           {R"({"event":"reward","gold":"60"})", "26 \"gold\" is an integer, not a text"},
           {R"({"event":"reward","gold":1.5})",
            "26 \"gold\" is an integer, not a number with a fraction"},
           {R"({"event":"reward","gold":1e300})",
            "26 \"gold\" is an integer, not a number with a fraction"},
           {R"({"event":"reward","rate":"x"})", "26 \"rate\" is a number, not a text"},
           {R"({"event":"reward","vip":1})", "25 \"vip\" is a boolean, not an integer"},
           {R"({"event":"login","account":{"a":1}})",
            "28 \"account\" is a single value, not an object"},
           {R"({"ip":"1.2.3"})", "7 `ip` is not an IP address"},
           {R"({"ip":7})", "7 `ip` is not an IP address"},
           {R"({"method":"G T"})", "11 `method` is not an HTTP method"},
           {R"({"path":"x"})", "9 a path begins with `/`"},
           {R"({"path":"/a?b"})", "9 `path` has no query"},
           {R"({"path":"/%zz"})", "9 the proxy refuses this path"},
           {R"({"path":"/a","url":"/b"})", "20 give `path` or `url`, not both"},
           {R"({"url":"/a?b","query":"c"})", "23 the query is given twice"},
           {R"({"path":"/a\tb"})", "9 a path begins with `/` and has no blank, control character"},
           {R"({"url":"/a?b=\t"})", "8 the query has a blank, a control character"},
           {R"({"path":"/","query":"b=\t"})", "21 the query has a blank, a control character"},
           {R"({"path":"/","query":"b#c"})", "21 the query has a blank, a control character"},
           {R"({"url":"http:///a"})", "8 the host of `url`"},
           {R"({"host":"a:b"})", "9 `host` is neither HOST nor HOST:PORT"},
           {R"({"method":"Get","path":"/"})", "11 a method is written in capitals"},
           {R"({"scheme":"ftp"})", "11 `scheme` is"},
           {R"({"query":{"a":{}}})", "15 a parameter is a text"},
           {R"({"header":"x"})", "11 `header` is an object"},
           {R"({"header":{"a b":1}})", "12 this is not a header name"},
           {R"({"header":{"a":"x\r\ny"}})", "16 a header's value has no control characters"},
           {R"({"cookie":{"a":"x;y"}})", "16 a cookie's value"},
           {R"({"status":99})", "11 `status` is an integer between 100 and 599"},
           {R"({"status":"200"})", "11 `status` is an integer"},
           {R"({"status":200,"response":{"status":200}})", "36 the status is given twice"},
           {R"({"event":"login_failed","account":"b","status":200})",
            "48 `status` contradicts the event: login_failed is when "},
           {R"({"event":"login_ok","response":{"status":401}})",
            "32 `status` contradicts the event: login_ok is when "},
           {"{}", "1 give `event`, or `method` and `path`"},
           {R"({"status":401,"time":5})", "1 give `event`, or `method` and `path`"},
           {R"({"response":{"code":1}})", "14 `response` has status, header and body"},
           {R"({"time":"yesterday"})", "9 `time`: "},
           {R"({"time":-1})", "9 `time` is between 1970 and the year 9999"},
           {R"({"time":"1970-01-01T00:00:00+08:00"})", "9 `time` is between 1970"},
           {R"({"time":"9999-12-31T23:59:59-08:00"})", "9 `time` is between 1970"},
           {R"({"time":true})", "9 `time` is Unix milliseconds"},
           {R"({"event":"login",})", "18 a member's name"},
       }) {
    EXPECT_THAT(api.ask(c.event), StartsWith(c.wrong)) << c.event;
  }
  EXPECT_EQ(api.metrics.sum(telemetry::Metric::api_bad), 45);
  EXPECT_EQ(api.metrics.sum(telemetry::Metric::api_events), 0);
}

TEST(LineJudge, EveryWordMeansWhatItMeansInARequest) {
  ApiWorld api(R"(
events:
  all:
    match: "* /a/{id}"
    fields:
      text: >-
        method + ' ' + path + ' ' + url + ' ' + host + ' ' + scheme + ' ' + id + ' ' + query.q + ' ' + query['a b']
        + ' ' + header.x_one + ' ' + cookie.sid + ' ' + string(body.n) + ' ' + string(time)
policies:
  - {name: p, watch: all, key: text, window: 1m, then: [{over: 9, do: flag}]}
  - name: answers
    watch: all
    when: 'status == 200 && response.header.x_cache == "hit" && response.body.used == 5'
    window: 1m
    then: [{over: 0, do: flag}]
)");
  EXPECT_THAT(
      api.query(
          R"({"time":"2026-01-02T03:04:05Z","method":"PUT","url":"http://Shop.example:80/a/7?q=1%262&a+b=%C3%A9",)"
          R"("header":{"X-One":1},"cookie":{"sid":"s","x":true},"body":{"n":3}})"),
      HasSubstr(
          "\"key\":[\"PUT /a/7 /a/7?q=1%262&a+b=%C3%A9 shop.example http 7 1&2 \xc3\xa9 1 s 3 "
          "1767323045000\"]"));
  EXPECT_THAT(
      api.query(
          R"({"query":{"q":"1&2","a b":"é"},"path":"/a/7","host":"x","scheme":"https","method":"GET",)"
          R"("time":5,"cookie":{"sid":2},"header":{"x_one":"y","content_type":"application/json"},"body":"{\"n\":4}"})"),
      HasSubstr("\"key\":[\"GET /a/7 /a/7?q=1%262&a%20b=%C3%A9 x https 7 1&2 \xc3\xa9 y 2 4 5\"]"));
  // A missing value is null, not an empty text.
  EXPECT_THAT(api.query(R"({"event":"all"})"),
              HasSubstr(R"({"policy":"p","skipped":"a key part is missing: text"})"));
  const std::string answered =
      R"({"method":"GET","path":"/a/7","response":{"status":200,"header":{"x_cache":"hit"},"body":{"used":5}}})";
  EXPECT_EQ(api.verdict(answered), "flag") << "reserved: it counts itself";
  EXPECT_THAT(api.query(R"({"method":"GET","path":"/a/7"})"),
              HasSubstr(R"("policy":"answers","event":"all","key":[],"value":2)"));
  EXPECT_EQ(api.verdict(R"({"method":"GET","path":"/a/7","status":200})"), "flag");
  EXPECT_THAT(api.query(R"({"method":"GET","path":"/a/7"})"),
              HasSubstr(R"("policy":"answers","event":"all","key":[],"value":2)"))
      << "the other answer did not match";
}

// The same table as in weir test, and as in the proxy.
TEST(LineJudge, APartOfAnAnswerIsUnread) {
  ApiWorld api(R"(
events: {ask: {match: GET /ask}}
policies:
  - {name: cost, watch: ask, metric: sum(response.body.usage), reserve: 7, window: 1h, then: [{over: 10000, do: flag}]}
  - {name: bad, watch: ask, when: response.body.code == 1, missing: same, window: 1h, then: [{over: 100, do: flag}]}
)");
  const auto told = [&](const std::string& method, const std::string& answer) {
    return api.verdict("{\"method\":\"" + method + R"(","path":"/ask",)" + answer + "}");
  };
  const std::string body = R"("body":{"usage":1,"code":0})";
  EXPECT_EQ(told("GET", R"("response":{"status":200,)" + body + "}"), "pass");
  EXPECT_EQ(told("GET", R"("status":204)"), "pass");
  EXPECT_EQ(told("GET", R"("response":{"status":206,)" + body + "}"), "pass");
  EXPECT_EQ(told("GET", R"("response":{)" + body + R"(,"status":226})"), "pass");
  EXPECT_EQ(told("GET", R"("status":304)"), "pass");
  EXPECT_EQ(told("HEAD", R"("status":204)"), "pass");
  EXPECT_EQ(told("HEAD", R"("status":200)"), "pass");
  const std::string values = api.query(R"({"method":"GET","path":"/ask"})");
  EXPECT_THAT(values, HasSubstr(R"("policy":"cost","event":"ask","key":[],"value":36)"));
  EXPECT_THAT(values, HasSubstr(R"("policy":"bad","event":"ask","key":[],"value":5)"));
}

TEST(LineJudge, AnEventReportedByItsNameHappenedWhateverItsWhenAsks) {
  ApiWorld api(R"(
lists: {held: {of: ip, kind: gray, release: solved}}
events:
  failed: {match: POST /login, when: 'status == 401'}
  big: {match: POST /put, when: 'header.x_big == "1"'}
  bigger: {is: big, when: 'header.x_bigger == "1"'}
  solved: {match: POST /captcha, when: 'status == 200'}
policies:
  - {name: failed, watch: failed, key: ip, window: 1m, then: [{over: 1, do: graylist, list: held, for: 1h}]}
  - {name: big, watch: big, key: ip, window: 1m, then: [{over: 1, do: deny}]}
  - {name: bigger, watch: bigger, key: ip, window: 1m, then: [{over: 0, do: deny}]}
)");
  const std::string failed = R"({"event":"failed","ip":"9.9.9.9"})";
  EXPECT_EQ(api.verdict(failed), "pass");
  EXPECT_EQ(api.verdict(failed), "gray");
  EXPECT_EQ(api.verdict(R"({"event":"big","ip":"9.9.9.8"})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"big","ip":"9.9.9.8"})"), "deny");
  EXPECT_EQ(api.verdict(R"({"event":"big","ip":"9.9.9.7","header":{"x_bigger":"1"}})"), "deny")
      << "its kinds are asked about as ever";
  EXPECT_EQ(api.verdict(R"({"event":"bigger","ip":"9.9.9.6"})"), "deny");
  EXPECT_EQ(api.verdict(R"({"method":"POST","path":"/put","ip":"9.9.9.8"})"), "pass")
      << "nobody says that it is big";
  EXPECT_EQ(api.verdict(R"({"event":"solved","ip":"9.9.9.9"})"), "gray") << "still listed";
  EXPECT_EQ(api.verdict(R"({"method":"GET","path":"/","ip":"9.9.9.9"})"), "pass") << "released";
}

TEST(LineJudge, TheHostIsToldByItselfTheUrlOrTheHeader) {
  ApiWorld api(R"(
policies:
  - {name: p, watch: request, key: host, window: 1m, then: [{over: 9, do: flag}]}
)");
  const auto says = [](const std::string& host) { return HasSubstr("\"key\":[\"" + host + "\"]"); };
  EXPECT_THAT(api.query(R"({"path":"/a","host":"Shop.example:80"})"), says("shop.example"));
  EXPECT_THAT(api.query(R"({"path":"/a","host":"shop.example."})"), says("shop.example"));
  EXPECT_THAT(api.query(R"({"url":"http://[::1]:80/a"})"), says("[::1]"));
  EXPECT_THAT(api.query(R"({"path":"/a","header":{"host":"Shop.example:80"}})"),
              says("shop.example"));
  EXPECT_THAT(api.query(R"({"path":"/a","host":"one","header":{"Host":"two"}})"), says("one"));
  for (const char* wrong : {"a:b", "a..b", "x:99999"}) {
    EXPECT_THAT(api.query(R"({"path":"/a","header":{"host":")" + std::string(wrong) + "\"}}"),
                HasSubstr(R"("skipped":"a key part is missing: host")"))
        << "the event counts for other policies: no client escapes by its Host";
  }
}

TEST(LineJudge, RecordsAreDatedByTheColumnThatTheirSourceNames) {
  ApiWorld api(R"(
events:
  s: {source: {json: true, time: {field: ts, as: seconds}}, fields: {t: string(time)}}
  m: {source: {csv: [at, x], time: {field: at, as: millis}}}
policies:
  - {name: s, watch: s, key: t, window: 1m, then: [{over: 9, do: flag}]}
  - {name: m, watch: m, when: 'hour("UTC") == 3', key: x, window: 1m, then: [{over: 0, do: flag}]}
)");
  EXPECT_THAT(api.query(R"({"event":"s","ts":1767323045.25})"),
              HasSubstr(R"("key":["1767323045250"])"));
  EXPECT_THAT(api.query(R"({"event":"s","ts":"1767323045"})"),
              HasSubstr(R"("key":["1767323045000"])"));
  EXPECT_THAT(api.query(R"({"event":"s"})"), HasSubstr(R"("key":["1800000000000"])"));
  EXPECT_EQ(api.verdict(R"({"event":"m","at":1767323045000,"x":1})"), "flag");
  EXPECT_EQ(api.verdict(R"({"event":"m","at":"1767333045000","x":1})"), "pass");
  for (const char* bad : {R"({"event":"s","ts":"now"})", R"({"event":"s","ts":""})",
                          R"({"event":"s","ts":true})", R"({"event":"s","ts":[1]})"}) {
    EXPECT_EQ(api.ask(bad), "19 the time of this event is a number of seconds") << bad;
  }
  EXPECT_THAT(api.ask(R"({"event":"s","ts":-1})"), HasSubstr("19 the time of an event is between"));
  EXPECT_THAT(api.ask(R"({"event":"s","ts":1e300})"),
              HasSubstr("19 the time of an event is between"));
}

TEST(LineJudge, ADeclaredIntermediateEventHappensWithItsChild) {
  ApiWorld api(R"(
events:
  a: {match: GET /a}
  b: {is: a, when: 'status >= 400'}
  c: {is: b, when: 'status >= 500'}
policies:
  - {name: on-b, watch: b, window: 1m, then: [{over: 1, do: flag}]}
)");
  EXPECT_EQ(api.verdict(R"({"event":"c"})"), "pass");
  EXPECT_EQ(api.verdict(R"({"event":"c"})"), "flag");
}

TEST(LineJudge, TellsWhatIsWrongWithAnAnswerThatIsTold) {
  ApiWorld api(kYaml);
  EXPECT_EQ(api.ask(R"({"request_id":"0","status":401})"), R"({"settled":false})");
  EXPECT_EQ(api.ask(R"({"request_id":7,"status":401})"),
            "15 `request_id` is the text of X-Weir-Request-Id");
  EXPECT_EQ(api.ask(R"({"request_id":"0"})"), "2 what was answered to this request? give `status`");
  EXPECT_EQ(api.ask(R"({"request_id":"0","status":401,"user":"bob"})"),
            "32 only `status` and `response` are allowed beside `request_id`");
  EXPECT_THAT(api.query(R"({"request_id":"0","status":401})"),
              HasSubstr("a query cannot report an answer"));
}

TEST(LineJudge, SettlesWhatADoorHasLetPass) {
  ApiWorld api(kYaml);
  net::Wheel wheel(api.world.now);
  gate::Unsettled unsettled(api.gate, wheel, 1, milliseconds(60'000), api.metrics.cells(0));
  api.lines.settle_by(unsettled, 1, 2);
  policies::TestRequest login{"POST /api/login"};
  const auto let_pass = [&] {
    const gate::Decision decision =
        api.gate.judge(login.view(api.world.now), api.world.now, false, api.nobody);
    EXPECT_NE(decision.ticket, nullptr);
    const gate::Unsettled::Id id = unsettled.next_id();
    unsettled.keep(*decision.ticket, api.world.now);
    return std::string(id.data(), id.size());
  };
  const auto tell = [&](const std::string& id, std::string_view rest) {
    return api.ask("{\"request_id\":\"" + id + "\"," + std::string(rest) + "}");
  };
  EXPECT_EQ(tell(let_pass(), R"("response":{"status":200})"), R"({"settled":true})");
  const std::string id = let_pass();
  EXPECT_EQ(tell(id, R"("status":401)"), R"({"settled":true})");
  EXPECT_EQ(tell(id, R"("status":401)"), R"({"settled":false})");
  EXPECT_EQ(api.verdict(R"({"event":"login_failed","ip":"203.0.113.7"})"), "flag")
      << "the second one: the answer that was none is not counted";
  // The id of another worker: nothing is answered here, the batch moves there.
  std::string other(gate::Unsettled::kIdSize, '0');
  EXPECT_EQ(tell(other, R"("status":401)"), "");
  EXPECT_EQ(api.nobody.goes_to(), 0u);
  unsettled.release_all(api.world.now);
}

}  // namespace
}  // namespace weir::api::line_judge_test
