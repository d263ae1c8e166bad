#include "replay/formats.h"

#include <gmock/gmock.h>

#include <random>

#include "config/load.h"
#include "config/text/render.h"
#include "core/key.h"
#include "replay/stream.h"
#include "tests/replay/world.h"

namespace weir::replay::formats_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The rows of a file: `line ts a=1 b=null`, or `line!column why`.
std::vector<std::string> rows_of(std::string_view source, const std::vector<std::string>& columns,
                                 const std::string& text) {
  const config::Loaded loaded =
      config::load_text("t.yaml", "weir: 1\nevents: {e: {source: " + std::string(source) + "}}\n");
  if (!loaded.model) {
    ADD_FAILURE() << config::render_human(loaded.problems, loaded.views(), false);
    return {};
  }
  const config::SourceDef& def = *loaded.model->events.front().source;
  policies::SlotTable slots;
  std::vector<policies::SlotId> ids;
  const Type type = def.format == config::SourceDef::Format::json ? Type::dyn : Type::text;
  for (const std::string& column : columns) ids.push_back(slots.column("e", column, type));
  const ScratchFiles files;
  FileStream stream(files.write("f", text), make_record_format(def, "e", slots), def.header);
  std::vector<std::string> out;
  while (stream.next()) {
    std::string row =
        std::to_string(stream.line()) + " " + std::to_string(to_ms(stream.row().time));
    for (std::size_t i = 0; i < ids.size(); ++i) {
      row += " " + columns[i] + "=";
      Value value;
      for (const policies::Preset& preset : stream.row().values) {
        if (preset.slot == ids[i]) value = preset.value;
      }
      if (!append_canonical(row, value)) row += value.is(Type::json) ? "{..}" : "null";
    }
    out.push_back(row);
  }
  for (const BadRows::Fault& fault : stream.bad().first) {
    for (std::uint64_t row = 0; row < fault.rows; ++row)
      out.push_back(std::to_string(fault.line + row) + "!" + std::to_string(fault.column) + " " +
                    fault.why);
  }
  EXPECT_EQ(stream.bad().count, stream.bad().shown());
  return out;
}

constexpr std::string_view kCsv = "{csv: [a, b, ts], time: {field: ts, as: seconds}}";

TEST(Csv, plain_rows) {
  EXPECT_THAT(rows_of(kCsv, {"a", "b"}, "x,y,1\r\n,,2\n\nz z,\xe4\xb8\xad,3"),
              ElementsAre("1 1000 a=x b=y", "2 2000 a=null b=null", "4 3000 a=z z b=\xe4\xb8\xad"));
}

TEST(Csv, quotes) {
  EXPECT_THAT(rows_of(kCsv, {"a", "b"},
                      "\"x,y\",\"say "
                      "\"\"hi\"\"\",1\n\"\",\"\"\"\",\"2\"\nin\"side,b,3\n\"a\nb\",c,"
                      "4\n\"\"\"x\"\"y\"\"\",b,5\n"),
              ElementsAre("1 1000 a=x,y b=say \"hi\"", "2 2000 a=null b=\"",
                          "3 3000 a=in\"side b=b", "4 4000 a=a\nb b=c", "6 5000 a=\"x\"y\" b=b"));
}

TEST(Csv, bad_rows_are_named_and_passed_over) {
  EXPECT_THAT(
      rows_of(
          kCsv, {"a"},
          "x,1\nx,y,z,1\nx,y,\nx,y,abc\nx,y,1\n\"x\"z,y,1\n\"x,y,1\nok,y,2\n\"x\",y\n\"x\",y,1,\n"),
      ElementsAre("5 1000 a=x", "8 2000 a=ok", "1!4 fewer values than columns",
                  "2!6 more values than columns", "3!5 the time is empty",
                  "4!5 the time does not have this format", "6!4 text behind a closing quote",
                  "7!1 a quote that nothing closes", "9!6 fewer values than columns",
                  "10!8 more values than columns"));
}

TEST(Csv, a_header_is_no_row_and_unread_columns_cost_nothing) {
  EXPECT_THAT(rows_of("{csv: [_, a, _, ts], header: true, time: {field: ts, as: millis}}", {"a"},
                      "p,q,r,s\n1,2,3,4\n"),
              ElementsAre("2 4 a=2"));
  EXPECT_THAT(rows_of("{csv: [ts], time: {field: ts, as: seconds}}", {}, "1\n2"),
              ElementsAre("1 1000", "2 2000"));
}

TEST(Csv, times_by_a_pattern) {
  EXPECT_THAT(rows_of("{csv: [ts, a], time: {field: ts, as: '%Y/%m/%d %H:%M:%S'}}", {"a"},
                      "2016/01/01 00:30:04.91,x\n2016/01/01 00:30:04,y\n2016/01/01 "
                      "00:30:04.9,z\n2016-01-01,w\n"),
              ElementsAre("1 1451608204910 a=x", "2 1451608204000 a=y", "3 1451608204900 a=z",
                          "4!1 the time does not have this format"));
}

TEST(Records, TimesAreNumbersOfTheUnitThatTheirSourceNames) {
  EXPECT_THAT(rows_of("{csv: [t], time: {field: t, as: micros}}", {"t"},
                      "1511658000123999\n1511658000123999.5\n1511658000.1\n"),
              ElementsAre("1 1511658000123 t=1511658000123999",
                          "2 1511658000123 t=1511658000123999.5", "3 1511658 t=1511658000.1"));
  EXPECT_THAT(rows_of("{json: true, time: {field: t, as: nanos}}", {},
                      "{\"t\":1511658000123000000}\n{\"t\":\"1511658000123000000\"}\n{\"t\":-1}\n"),
              ElementsAre("1 1511658000123", "2 1511658000123",
                          "3!2 its time is unreadable, or not between 1970 and the year 9999"));
}

TEST(Csv, the_first_ten_bad_rows_are_kept) {
  const ScratchFiles files;
  const config::Loaded loaded =
      config::load_text("t.yaml", "weir: 1\nevents: {e: {source: " + std::string(kCsv) + "}}\n");
  const policies::SlotTable slots;
  std::string text;
  for (int i = 0; i < 25; ++i) text += i % 2 == 0 ? "bad\n" : "\"bad\"x\n";
  FileStream stream(files.write("f", text),
                    make_record_format(*loaded.model->events.front().source, "e", slots), false);
  EXPECT_FALSE(stream.next());
  EXPECT_EQ(stream.bad().count, 25u);
  EXPECT_EQ(stream.bad().first.size(), 10u);
  EXPECT_EQ(stream.bad().first.back().line, 10u);
  EXPECT_EQ(stream.bad().shown(), 10u);
}

TEST(Csv, BadRowsOfOneReasonAreToldOnce) {
  BadRows all;
  for (std::uint64_t line = 1; line <= 12; ++line) all.add(line, 1, "no column");
  ASSERT_EQ(all.first.size(), 1u);
  EXPECT_EQ(all.first[0].rows, 12u);
  all.add(14, 1, "no column");  // a good row is between
  all.add(15, 2, "no column");
  EXPECT_EQ(all.first.size(), 3u);
  EXPECT_EQ(all.shown(), 14u);
}

/// However a file is cut into parts, its report is the same.
TEST(Csv, BadRowsOfPartsAreThoseOfTheFile) {
  std::mt19937 random(7);
  for (int run = 0; run < 500; ++run) {
    BadRows whole, joined, part;
    std::uint64_t before = 0, in_part = 0;
    const auto kinds = static_cast<unsigned>(1 + random() % 3);
    for (std::uint64_t line = 1; line <= 60; ++line) {
      ++in_part;
      if (random() % 5 != 0) {
        const std::string why = "why " + std::to_string(random() % kinds);
        whole.add(line, 1, why);
        part.add(in_part, 1, why);
      }
      if (random() % 9 != 0 && line != 60) continue;
      joined.add(part, before);
      part.clear();
      before += std::exchange(in_part, 0);
    }
    ASSERT_EQ(joined.count, whole.count) << run;
    ASSERT_EQ(joined.first.size(), whole.first.size()) << run;
    for (std::size_t i = 0; i < whole.first.size(); ++i) {
      EXPECT_EQ(joined.first[i].line, whole.first[i].line) << run;
      EXPECT_EQ(joined.first[i].rows, whole.first[i].rows) << run;
    }
  }
}

TEST(Json, keeps_types_and_reads_what_is_there) {
  EXPECT_THAT(
      rows_of("{json: true, time: {field: ts, as: millis}}", {"a", "b"},
              "{\"ts\":1,\"a\":\"x\",\"b\":2}\n {\"b\":true,\"ts\":\"2\",\"a\":1.50}\n"
              "{\"ts\":3.7,\"a\":null,\"b\":{\"c\":1}}\n{\"ts\":4,\"a\":\"\\u0041\\n\",\"b\":\"\","
              "\"b\":1}"),
      ElementsAre("1 1 a=x b=2", "2 2 a=1.5 b=true", "3 3 a=null b={..}", "4 4 a=A\n b=null"));
}

TEST(Json, bad_rows) {
  EXPECT_THAT(rows_of("{json: true, time: {field: ts, as: seconds}}", {"a"},
                      "{\"ts\":1,\"a\":}\n[1]\n{\"a\":1}\n{\"ts\":\"x\"}\n{\"ts\":true}\n{\"ts\":"
                      "1\n\"x\"\n{\"ts\":5}x\n{\"ts\":-1}\n"),
              ElementsAre(HasSubstr("1!13 broken JSON"), "2!1 this is not a JSON object",
                          "3!1 it has no such time",
                          "4!2 its time is unreadable, or not between 1970 and the year 9999",
                          "5!2 its time is unreadable, or not between 1970 and the year 9999",
                          HasSubstr("6!8 broken JSON"), "7!1 this is not a JSON object",
                          HasSubstr("8!9 broken JSON"),
                          "9!2 its time is unreadable, or not between 1970 and the year 9999"));
}

TEST(Json, what_no_number_holds_is_missing_and_hides_nothing) {
  EXPECT_THAT(rows_of("{json: true, time: {field: ts, as: millis}}", {"a", "b"},
                      "{\"ts\":1,\"a\":\"x\",\"b\":18446744073709551616}\n"
                      "{\"ts\":1e400,\"a\":\"x\"}\n"),
              ElementsAre("1 1 a=x b=null",
                          "2!2 its time is unreadable, or not between 1970 and the year 9999"));
}

TEST(AccessLog, the_course_format) {
  EXPECT_THAT(
      rows_of(
          "{log: '%h - %u %t %m %U', time: {as: '%d/%m/%Y:%H:%M:%S %z'}}",
          {"ip", "user", "method", "url", "path"},
          "83.149.9.216 - - 17/05/2015:10:05:03 +0000 GET /a/b.png\n"
          "83.149.9.216 - bob 17/05/2015:10:05:03 +0800 GET /?flav=rss20\n"
          "83.149.9.216 - - 17/13/2015:10:05:03 +0000 GET /\n83.149.9.216 x - 17\n1.2.3.4 - -\n"),
      ElementsAre("1 1431857103000 ip=83.149.9.216 user=null method=GET url=/a/b.png path=/a/b.png",
                  "2 1431828303000 ip=83.149.9.216 user=bob method=GET url=/?flav=rss20 path=/",
                  "3!18 the time does not have this format", "4!13 the line is not of this format",
                  "5!12 the line ends too early"));
}

TEST(AccessLog, combined) {
  EXPECT_THAT(
      rows_of(
          "{log: combined}",
          {"method", "url", "status", "bytes", "referer", "user_agent", "protocol"},
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 - \"-\" \"Mo "
          "\\\"x\\\" z\"\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"-\" 408 0 \"-\" \"-\"\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /\" 200 5 \"http://r/\" \"\"\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 5 \"-\" \"x\" tail\n"),
      ElementsAre("1 1431857103000 method=GET url=/a?b status=200 bytes=null referer=null "
                  "user_agent=Mo \"x\" z protocol=HTTP/1.1",
                  "2 1431857103000 method=null url=null status=408 bytes=0 referer=null "
                  "user_agent=null protocol=null",
                  "3 1431857103000 method=GET url=/ status=200 bytes=5 referer=http://r/ "
                  "user_agent=null protocol=null",
                  "4!72 text behind the last value"));
}

TEST(AccessLog, values_in_quotes_mean_what_their_escapes_say) {
  const std::string front = "1.2.3.4 - DOM\\\\ann [17/May/2015:10:05:03 +0000] ";
  EXPECT_THAT(
      rows_of("{log: combined}", {"user", "url", "path", "referer", "user_agent"},
              front + "\"GET /a\\x22b?q=\\xC3\\xa9 HTTP/1.1\" 200 5 \"-\" \"a\\x5Cb\\\\\\\"c\"\n" +
                  front + "\"GET / HTTP/1.1\" 200 5 \"\\q\\x4\\x4g\\\\\" \"\\t\\b\\n\"\n"),
      ElementsAre("1 1431857103000 user=DOM\\\\ann url=/a\"b?q=\xC3\xA9 path=/a\"b referer=null "
                  "user_agent=a\\b\\\"c",
                  "2 1431857103000 user=DOM\\\\ann url=/ path=/ referer=\\q\\x4\\x4g\\ "
                  "user_agent=\t\b\n"));
}

/// `ts METHOD path?query ip host status headers...` of each request. `reads_headers`: some policy
/// does.
std::vector<std::string> requests_of(const std::string& format, const std::string& text,
                                     bool reads_headers = true) {
  std::string problem;
  policies::PolicySet set;
  for (const std::string_view name : {"header", "response.header"}) {
    policies::Argument argument;
    argument.name = "x-any";
    if (reads_headers) set.slots.attribute(*policies::find_extractor(name), argument);
  }
  auto reader = make_request_format(format, set, problem);
  if (reader == nullptr) return {problem};
  const ScratchFiles files;
  FileStream stream(files.write("f", text), std::move(reader), false);
  std::vector<std::string> out;
  while (stream.next()) {
    const Row& row = stream.row();
    std::string one =
        std::to_string(to_ms(row.time)) + " " + std::string(row.request.method) + " " +
        std::string(row.request.path) + "?" + std::string(row.request.query) + " " +
        row.request.client.to_string() + " " +
        (row.request.host.data() == nullptr ? "(no host)" : std::string(row.request.host)) + " " +
        std::to_string(row.answer.status);
    for (const HeaderField& field : row.request.headers)
      one += " " + std::string(field.name) + "=" + std::string(field.value);
    for (const HeaderField& field : row.answer.headers)
      one += " <" + std::string(field.name) + "=" + std::string(field.value);
    out.push_back(one);
  }
  for (const BadRows::Fault& fault : stream.bad().first) {
    for (std::uint64_t row = 0; row < fault.rows; ++row)
      out.push_back(std::to_string(fault.line + row) + "!" + std::to_string(fault.column) + " " +
                    fault.why);
  }
  return out;
}

TEST(Requests, lines_of_common_and_combined_logs_are_requests_even_in_one_file) {
  EXPECT_THAT(requests_of("",
                          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /a/../b%41?c=d "
                          "HTTP/1.1\" 200 17 \"http://r/\" \"curl\"\n"
                          "::1 - - [17/May/2015:10:05:03 +0000] \"POST /x HTTP/1.1\" 401 -\n"
                          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET http://h.example/x "
                          "HTTP/1.1\" 200 - \"-\" \"-\" 0.01\n"),
              ElementsAre("1431857103000 GET /bA?c=d 1.2.3.4 (no host) 200 referer=http://r/ "
                          "user-agent=curl <content-length=17",
                          "1431857103000 POST /x? ::1 (no host) 401",
                          "1431857103000 GET /x? 1.2.3.4 h.example 200"));
}

TEST(Requests, the_host_is_that_which_the_proxy_reads) {
  for (const char* host : {"h.example", "H.Example", "h.example.", "h.example:80", "h.example.:80"})
    EXPECT_THAT(requests_of("", "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET http://" +
                                    std::string(host) + "/x HTTP/1.1\" 200 -\n"),
                ElementsAre("1431857103000 GET /x? 1.2.3.4 h.example 200"))
        << host;
}

TEST(Requests, a_url_without_a_path_is_that_of_the_root) {
  EXPECT_THAT(
      requests_of(
          "",
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET http://h.example HTTP/1.1\" 200 -\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET http://h.example?a=/b HTTP/1.1\" "
          "200 -\n"),
      ElementsAre("1431857103000 GET /? 1.2.3.4 h.example 200",
                  "1431857103000 GET /?a=/b 1.2.3.4 h.example 200"));
}

TEST(Requests, a_query_of_its_own_belongs_to_the_url) {
  const std::string head = "1.2.3.4 [17/May/2015:10:05:03 +0000] GET ";
  for (const char* url : {"/a ?b=c", "/a b=c", "/a?b=c -", "/a?b=c ?b=c"})
    EXPECT_THAT(requests_of("%h %t %m %U %q %>s", head + url + " 200\n"),
                ElementsAre("1431857103000 GET /a?b=c 1.2.3.4 (no host) 200"))
        << url;
  EXPECT_THAT(requests_of("%h %t %m %U%q %>s", head + "/a?b=c 200\n"),
              ElementsAre("1431857103000 GET /a?b=c 1.2.3.4 (no host) 200"));
  EXPECT_THAT(requests_of("%h %t %m %U %q %>s", head + "/a - 200\n"),
              ElementsAre("1431857103000 GET /a? 1.2.3.4 (no host) 200"));
}

TEST(Requests, headers_that_no_policy_reads_are_not_cut_out) {
  EXPECT_THAT(
      requests_of("",
                  "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /a?b HTTP/1.1\" 200 17 "
                  "\"http://r/\" \"curl\"\n"
                  "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /\\x41 HTTP/1.0\" 200 17\n"
                  "nonsense\n",
                  false),
      ElementsAre("1431857103000 GET /a?b 1.2.3.4 (no host) 200",
                  "1431857103000 GET /A? 1.2.3.4 (no host) 200", "3!9 the line ends too early"));
}

TEST(Requests, what_is_no_request_is_a_bad_row) {
  EXPECT_THAT(
      requests_of(
          "",
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"\\x16\\x03\" 400 17 \"-\" \"-\"\n"
          "host.example - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 400 17 \"-\" \"-\"\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET /%zz HTTP/1.1\" 400 17 \"-\" \"-\"\n"
          "1.2.3.4 - - [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" abc 17 \"-\" \"-\"\n"
          "nonsense\n"),
      ElementsAre("1!1 no HTTP request", "2!1 the caller is not an address",
                  "3!47 a path that the proxy refuses", "4!59 this is not a status",
                  "5!9 the line ends too early"));
}

TEST(Requests, formats_of_ones_own) {
  EXPECT_THAT(requests_of("%v %h %t \"%r\" %>s %{X-Device-Id}i",
                          "shop 1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200 d1\n"),
              ElementsAre("1431857103000 GET /? 1.2.3.4 shop 200 x-device-id=d1"));
  // A header is no part of the request that has the same name.
  EXPECT_THAT(
      requests_of("%h %t \"%r\" %>s %{ip}i %{User}i %{Path}i %{Status}i %{Method}i %{Response-Id}i",
                  "1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET /a HTTP/1.1\" 200 9.9.9.9 ann /b 401 "
                  "POST r1\n"),
      ElementsAre("1431857103000 GET /a? 1.2.3.4 (no host) 200 ip=9.9.9.9 user=ann path=/b "
                  "status=401 method=POST response-id=r1"));
  EXPECT_THAT(
      requests_of("%{ip}i %t \"%r\" %>s", "x"),
      ElementsAre("requests need their caller, method and URL: %h and \"%r\", or %m and %U"));
  // The host as the proxy has it.
  EXPECT_THAT(
      requests_of(
          "%{Host}i %h %t \"%r\" %>s",
          "Shop.Example:80 1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200\n"
          "[::1]:80 1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET / HTTP/1.1\" 200\n"
          "- 1.2.3.4 [17/May/2015:10:05:03 +0000] \"GET http://A.example:8/b HTTP/1.1\" 200\n"),
      ElementsAre("1431857103000 GET /? 1.2.3.4 shop.example 200",
                  "1431857103000 GET /? 1.2.3.4 [::1] 200",
                  "1431857103000 GET /b? 1.2.3.4 a.example 200"));
  EXPECT_THAT(
      requests_of("%t %h", "x"),
      ElementsAre("requests need their caller, method and URL: %h and \"%r\", or %m and %U"));
  EXPECT_THAT(requests_of("%t %Q", "x"),
              ElementsAre(HasSubstr("\"%Q\" is not a directive of a log format")));
}

TEST(Requests, AFormatSaysHowItsTimesAreWritten) {
  const auto wanted = ElementsAre("1431857103000 GET /a? 1.2.3.4 (no host) 200");
  EXPECT_THAT(requests_of("%h %{%Y-%m-%d %H:%M:%S}t \"%r\" %>s",
                          "1.2.3.4 2015-05-17 10:05:03 \"GET /a HTTP/1.1\" 200\n"),
              wanted);
  EXPECT_THAT(requests_of("%h [%{%d/%m/%Y %T}t] \"%r\" %>s",
                          "1.2.3.4 [17/05/2015 10:05:03] \"GET /a HTTP/1.1\" 200\n"),
              wanted);
  EXPECT_THAT(requests_of("%{sec}t %h \"%r\" %>s", "1431857103 1.2.3.4 \"GET /a HTTP/1.1\" 200\n"),
              wanted);
  EXPECT_THAT(
      requests_of("%{msec}t %h \"%r\" %>s", "1431857103000 1.2.3.4 \"GET /a HTTP/1.1\" 200\n"),
      wanted);
  EXPECT_THAT(
      requests_of("%{usec}t %h \"%r\" %>s", "1431857103000999 1.2.3.4 \"GET /a HTTP/1.1\" 200\n"),
      wanted);
  EXPECT_THAT(
      requests_of("%{usec_frac}t %h \"%r\" %>s", "x"),
      ElementsAre("\"usec_frac\" is not a time format; write %{sec}t, %{msec}t, %{usec}t or "
                  "a pattern such as %{%Y-%m-%d %H:%M:%S}t"));
}

TEST(Requests, RowsOfARecordingStandBesideLinesOfALog) {
  const TestEngine engine(
      "fields: {user: header.x_user, gold: int(header.x_gold)}\n"
      "policies:\n"
      "  - {name: p, watch: request, key: user, metric: sum(gold), window: 1m, when: status == 200,"
      " then: [{over: 9, do: flag}]}\n");
  std::string problem;
  const ScratchFiles files;
  FileStream stream(
      files.write(
          "f",
          R"({"ts":5,"method":"GET","path":"/a","ip":"1.2.3.4","fields":{"header.x_user":"#abcdefghijklmnop","header.x_gold":"7"},"status":200}
{"ts":6,"method":"GET","path":"/a","ip":"::2","fields":{"header.x_gold":7,"header.other":1},"aborted":true}
{"ts":7,"event":"nothing","fields":{}}
{"ts":"7","method":"GET","path":"/a","ip":"::2"}
{"ts":7,"path":"/a","ip":"::2"}
{"ts":7,"method":"GET","path":"/a"}
{"ts":7,"method":"GET",
1.2.3.4 - - [17/May/2015:11:45:03 +0000] "GET / HTTP/1.1" 304 0
)"),
      make_request_format("", engine->set(), problem), false);
  ASSERT_TRUE(stream.next());
  EXPECT_TRUE(stream.row().recorded);
  EXPECT_EQ(to_ms(stream.row().time), 5);
  EXPECT_EQ(stream.row().request.path, "/a");
  EXPECT_EQ(stream.row().request.client.to_string(), "1.2.3.4");
  EXPECT_EQ(stream.row().answer.status, 200);
  EXPECT_EQ(stream.row().values.size(), 2U);
  ASSERT_TRUE(stream.next());
  EXPECT_TRUE(stream.row().aborted);
  EXPECT_EQ(stream.row().answer.status, 0);
  EXPECT_TRUE(stream.row().values.empty()) << "a header is a text";
  ASSERT_TRUE(stream.next());
  EXPECT_FALSE(stream.row().recorded);
  EXPECT_EQ(stream.row().answer.status, 304);
  EXPECT_FALSE(stream.next());
  std::vector<std::string> why;
  for (const BadRows::Fault& fault : stream.bad().first) {
    for (std::uint64_t n = 0; n < fault.rows; ++n)
      why.push_back(std::to_string(fault.line + n) + " " + fault.why);
  }
  EXPECT_THAT(why, ElementsAre("3 the configuration has no such event", "4 it has no time: ts",
                               "5 it has no path, method and ip of a request",
                               "6 it has no path, method and ip of a request",
                               "7 broken JSON, or no recording of weir"));
}

}  // namespace
}  // namespace weir::replay::formats_test
