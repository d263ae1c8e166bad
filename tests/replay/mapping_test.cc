#include "replay/mapping.h"

#include <gmock/gmock.h>

#include "replay/stream.h"
#include "tests/replay/world.h"

namespace weir::replay::mapping_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kRest = ",ip=ip,method=m,path=p";

/// The rows of a file: `ts body answer`, or `line!column why`.
std::vector<std::string> rows_of(const std::string& mapping, const std::string& text) {
  std::string problem;
  auto columns = std::make_shared<MappedColumns>();
  const auto parsed = Mapping::parse(mapping, problem);
  if (!parsed) return {problem};
  columns->mapping = *parsed;
  const TestEngine engine(
      "policies: [{name: all, watch: request, window: 1m, then: [{over: 1, do: flag}]}]\n");
  const ScratchFiles files;
  FileStream stream(files.write("f", text), make_mapped(columns, engine->set()), false);
  std::vector<std::string> out;
  while (stream.next()) {
    const Row& row = stream.row();
    out.push_back(std::to_string(to_ms(row.time)));
    if (!row.request.query.empty()) out.back() += " ?" + std::string(row.request.query);
    for (const HeaderField& field : row.request.headers)
      if (field.name != "content-type")
        out.back() += " " + std::string(field.name) + "=" + std::string(field.value);
    for (const std::string_view body : {row.request.body, row.answer.body})
      if (!body.empty()) out.back() += " " + std::string(body);
    if (row.answer.body_state == BodyState::broken) out.back() += " broken";
  }
  for (const BadRows::Fault& fault : stream.bad().first)
    out.push_back(std::to_string(fault.line) + "!" + std::to_string(fault.column) + " " +
                  fault.why);
  return out;
}

std::string problem_of(const std::string& mapping) {
  std::string problem;
  EXPECT_FALSE(Mapping::parse(mapping, problem)) << mapping;
  return problem;
}

TEST(Mapping, ReadsTimesInTheFormThatItNames) {
  const auto csv = [](const std::string& form, const std::string& time) {
    return rows_of("ts" + form + "=t" + kRest, "ip,m,p,t\n203.0.113.7,GET,/," + time + "\n");
  };
  const auto json = [](const std::string& form, const std::string& time) {
    return rows_of("time" + form + "=t" + kRest,
                   R"({"ip":"203.0.113.7","m":"GET","p":"/","t":)" + time + "}\n");
  };
  const auto wanted = ElementsAre("1795252320500");
  struct Case {
    const char *form, *time;
  };
  constexpr Case kNumbers[] = {
      {"", "1795252320.5"},
      {"", "1795252320500"},
      {"", "1795252320500999"},
      {"", "1795252320500000999"},
      {".seconds", "1795252320.5"},
      {".millis", "1795252320500"},
      {".micros", "1795252320500000"},
      {".nanos", "1795252320500000000"},
  };
  for (const auto& [form, time] : kNumbers) {
    EXPECT_THAT(csv(form, time), wanted) << form << " " << time;
    EXPECT_THAT(json(form, time), wanted) << form << " " << time;
    EXPECT_THAT(json(form, "\"" + std::string(time) + "\""), wanted) << form << " " << time;
  }
  constexpr Case kTexts[] = {
      {"", "2026-11-21T09:12:00.5Z"},
      {".%d.%m.%Y %H:%M:%S", "21.11.2026 09:12:00.5"},
      {".%d.%m.%Y %H:%M:%S %z", "21.11.2026 17:12:00.5 +0800"},
      {".%Y=%m=%d %T", "2026=11=21 09:12:00.5"},
  };
  for (const auto& [form, time] : kTexts) {
    EXPECT_THAT(csv(form, time), wanted) << form;
    EXPECT_THAT(json(form, "\"" + std::string(time) + "\""), wanted) << form;
  }
  EXPECT_THAT(csv(".%a, %d %b %Y, %H:%M:%S", "\"Sat, 21 Nov 2026, 09:12:00.5\""), wanted);
  // A pattern that begins with a literal, or has a comma behind an equals sign.
  constexpr Case kCut[] = {
      {".[%d/%b/%Y:%H:%M:%S %z]", "[21/Nov/2026:09:12:00.5 +0000]"},
      {".on %d.%m.%Y, %H:%M:%S", "on 21.11.2026, 09:12:00.5"},
      {".at=%d.%m.%Y, %H:%M:%S", "at=21.11.2026, 09:12:00.5"},
      {".%d=%m, %Y=%H:%M:%S", "21=11, 2026=09:12:00.5"},
      {".%d=%m,%Y=%H:%M:%S", "21=11,2026=09:12:00.5"},
  };
  for (const auto& [form, time] : kCut) {
    EXPECT_THAT(csv(form, "\"" + std::string(time) + "\""), wanted) << form;
    EXPECT_THAT(json(form, "\"" + std::string(time) + "\""), wanted) << form;
  }
  EXPECT_THAT(json(".%Y%m%d%H%M", "202611210912"), ElementsAre("1795252320000"));
}

TEST(Mapping, SaysWhyATimeIsNotRead) {
  const auto rows = [](const std::string& form, const std::string& time) {
    return rows_of("ts" + form + "=t" + kRest, "ip,m,p,t\n203.0.113.7,GET,/," + time + "\n");
  };
  EXPECT_THAT(rows(".seconds", ""), ElementsAre("2!1 it has no time"));
  EXPECT_THAT(rows(".micros", "noon"),
              ElementsAre("2!1 its time is not a number of microseconds between 1970 and the year "
                          "9999"));
  EXPECT_THAT(rows(".%d.%m.%Y", "21/11/2026"),
              ElementsAre("2!1 its time is not in the form %d.%m.%Y"));
  EXPECT_THAT(rows("", "21.11.2026"), ElementsAre(HasSubstr("has an unknown format: say ts.seco")));
}

TEST(Mapping, NamesTheFormsThatItKnows) {
  EXPECT_EQ(
      problem_of("ts.second=t"),
      "\"ts.second\": \"second\" is not a time format; did you mean \"seconds\"? Or a pattern "
      "such as '%d/%m/%Y:%H:%M:%S %z'");
  EXPECT_EQ(problem_of("ts.iso=t"),
            "\"ts.iso\": \"iso\" is not a time format; seconds, millis, micros, nanos or a pattern "
            "such as '%d/%m/%Y:%H:%M:%S %z'");
  EXPECT_THAT(problem_of("ts.=t"), HasSubstr("needs a form after the dot: seconds, millis, "));
  EXPECT_THAT(problem_of("ts.%H:%M=t"), HasSubstr("a time needs its year, month and day"));
  EXPECT_THAT(problem_of("ts.%Y-%m-%d %Q=t"), HasSubstr("\"%Q\" is not a part of a time"));
  EXPECT_THAT(problem_of("ts.%Y-%m-%d"), HasSubstr("write PART=NAME"));
  EXPECT_THAT(problem_of("ts=a,time.millis=b"), HasSubstr("gives a part again"));
  EXPECT_THAT(problem_of("tss=t"), HasSubstr("known are ts, time, ts.FORM, "));
}

/// `part=name` of each field, apart by `|`.
std::string fields_of(const std::string& mapping) {
  std::string problem, out;
  const auto parsed = Mapping::parse(mapping, problem);
  if (!parsed) return problem;
  for (const Mapping::Field& field : parsed->fields) {
    const std::string pattern = field.form && !field.form->unit ? field.form->pattern : "";
    out += (out.empty() ? "" : "|") + field.name + pattern + "=" + field.source;
  }
  return out;
}

TEST(Mapping, QuotesAreForCommasAndEqualsSigns) {
  EXPECT_EQ(fields_of(R"(ts="the time, in UTC",ip="a=b",method="say ""m""",path=p)"),
            R"(=the time, in UTC|=a=b|=say "m"|=p)");
  EXPECT_EQ(fields_of(R"("ts.day=%d,month=%m, %Y"="t,u",ip=ip,method=m,"path"=p)"),
            "day=%d,month=%m, %Y=t,u|=ip|=m|=p");
  EXPECT_EQ(fields_of(R"(ts.%d=%m,%Y="t,u=v",ip=ip,method=m,path=p)"), "%d=%m,%Y=t,u=v|=ip|=m|=p");
  EXPECT_EQ(fields_of(R"(ip=ip,"header.x"=h,method=m,path=p,time.%d=%m,%Y=t)"),
            "=ip|=m|=p|%d=%m,%Y=t|x=h");
  // Quotes in the middle mean themselves, as in a name that has them.
  EXPECT_EQ(fields_of(R"(ts=a"b,ip=ip,method=m,path=p)"), R"(=a"b|=ip|=m|=p)");
  EXPECT_THAT(problem_of(R"(ts="time,ip=ip)"), HasSubstr("its quotes do not end"));
  EXPECT_THAT(problem_of(R"("ts)"), HasSubstr("its quotes do not end"));
  EXPECT_THAT(problem_of(R"("ts"t=a,ip=ip)"), HasSubstr(R"(not ""ts"t=a")"));
  EXPECT_THAT(problem_of(R"("ts",ip=ip)"), HasSubstr("write PART=NAME"));
  EXPECT_THAT(problem_of(R"(""=a,ip=ip)"), HasSubstr("write PART=NAME"));
  EXPECT_THAT(problem_of(R"(ts="a"b,ip=ip)"), HasSubstr("behind quotes there must be a comma"));
  EXPECT_THAT(problem_of(R"(ts="",ip=ip)"), HasSubstr("write PART=NAME"));
  EXPECT_THAT(problem_of("ts=,ip=ip"), HasSubstr("not \"ts=\""));
  EXPECT_THAT(problem_of("ts=a,"), HasSubstr("not \"\""));
  // The text after a pattern is another part, even if it is misspelt.
  EXPECT_THAT(problem_of("ts.%d.%m.%Y=t,pth=p"), HasSubstr("\"pth\" is not a part of a request"));
}

TEST(Mapping, BuildsObjectsOfBodiesFromTheirMembers) {
  const std::string mapping = std::string("ts.seconds=t") + kRest +
                              ",response.body.usage.total_tokens=tokens,body.user=user,"
                              "response.body.usage.cache.hit=hit,response.body.model=model,"
                              "response.body.usage.in=in";
  const std::string head = R"({"t":1,"ip":"203.0.113.7","m":"GET","p":"/",)";
  EXPECT_THAT(
      rows_of(mapping, head + R"("tokens":120,"user":"anna","hit":true,"model":"m","in":[1]})" +
                           "\n" + head + R"("in":7})" + "\n" + head +
                           R"("tokens":{"a":1},"hit":0.5})" + "\n" + head + R"("x":0})" + "\n"),
      ElementsAre(
          R"(1000 {"user":"anna"} {"model":"m","usage":{"cache":{"hit":true},"in":[1],"total_tokens":120}})",
          R"(1000 {} {"usage":{"in":7}})",
          R"(1000 {} {"usage":{"cache":{"hit":0.5},"total_tokens":{"a":1}}})", "1000 {} {}"));
}

/// As events and records read the same JSON. A key of the empty text would count callers together.
TEST(Mapping, AMemberWithoutAnUnambiguousTextHasNoValue) {
  const std::string mapping =
      std::string("ts.seconds=t") + kRest + ",header.x_k=k,cookie.c=c,body.u=u";
  const std::string head = R"({"t":1,"ip":"203.0.113.7","m":"GET","p":"/",)";
  EXPECT_THAT(
      rows_of(mapping, head + R"("k":"a","c":"b","u":"d"})" + "\n" + head +
                           R"("k":"a","k":"b","c":1,"c":2,"u":"d","u":"e"})" + "\n" + head +
                           R"("k":["a"],"c":{"a":1},"u":["d"]})" + "\n" + head +
                           R"("k":12345678901234567891,"c":1e400,"u":-1e400})" + "\n" + head +
                           R"("k":7,"c":true,"u":"\ud800"})" + "\n" + head + R"("k":"a")" + "\n"),
      ElementsAre(R"(1000 x-k=a cookie=c=b {"u":"d"})", "1000 {}", R"(1000 {"u":["d"]})", "1000 {}",
                  "1000 x-k=7 cookie=c=true {}", "6!1 this is not a JSON object"));
  EXPECT_THAT(rows_of(mapping, R"({"t":1,"ip":"203.0.113.7","m":"GET","p":"/","p":"/a"})"
                               "\n"
                               R"({"t":1,"t":2,"ip":"203.0.113.7","m":"GET","p":"/"})"
                               "\n"),
              ElementsAre("1!1 it has no method and path", "2!1 it has no time"));
}

TEST(Mapping, AQueryOfItsOwnIsAppended) {
  const std::string mapping = std::string("ts.seconds=t") + kRest + ",query=q";
  EXPECT_THAT(rows_of(mapping,
                      "t,ip,m,p,q\n1,::1,GET,/,a=b\n1,::1,GET,/,?a=b\n1,::1,GET,/?z=1,a=b\n"
                      "1,::1,GET,/?z=1,\n1,::1,GET,/,\n"),
              ElementsAre("1000 ?a=b", "1000 ?a=b", "1000 ?z=1&a=b", "1000 ?z=1", "1000"));
}

TEST(Mapping, AColumnThatIsNamedTwiceIsNoColumn) {
  const std::string mapping = std::string("ts.seconds=t") + kRest;
  EXPECT_THAT(rows_of(mapping, "t,ip,m,p,ip\n1,::1,GET,/,::2\n"),
              testing::Contains(HasSubstr("the first line names the column \"ip\" twice")));
  EXPECT_THAT(rows_of(mapping, "t,ip,m,p,x,x\n1,::1,GET,/,1,2\n"), ElementsAre("1000"));
}

TEST(Mapping, ReadsNoPartOfAnAnswer) {
  const std::string mapping =
      std::string("ts.seconds=t") + kRest + ",status=s,response.body.usage=u";
  EXPECT_THAT(rows_of(mapping,
                      "t,ip,m,p,s,u\n1,::1,GET,/,200,5\n1,::1,GET,/,206,5\n1,::1,GET,/,226,5\n"
                      "1,::1,GET,/,304,\n1,::1,HEAD,/,200,\n1,::1,HEAD,/,204,\n1,::1,GET,/,,5\n"),
              ElementsAre(R"(1000 {"usage":5})", "1000 broken", "1000 broken", "1000 broken",
                          "1000 broken", "1000 {}", R"(1000 {"usage":5})"));
}

TEST(Mapping, TakesNumbersOfColumnsAsNumbersInAnswersOnly) {
  const std::string mapping = std::string("ts.seconds=t") + kRest + ",body.a=a,response.body.b.c=a";
  EXPECT_THAT(
      rows_of(mapping,
              "t,ip,m,p,a\n1,::1,GET,/,120\n1,::1,GET,/,-1.50\n1,::1,GET,/,007\n1,::1,GET,/,true\n"
              "1,::1,GET,/,99999999999999999999\n1,::1,GET,/,1x\n1,::1,GET,/,-\n1,::1,GET,/,0\n"),
      ElementsAre(R"(1000 {"a":"120"} {"b":{"c":120}})", R"(1000 {"a":"-1.50"} {"b":{"c":-1.5}})",
                  R"(1000 {"a":"007"} {"b":{"c":"007"}})", R"(1000 {"a":"true"} {"b":{"c":true}})",
                  R"(1000 {"a":"99999999999999999999"} {"b":{"c":"99999999999999999999"}})",
                  R"(1000 {"a":"1x"} {"b":{"c":"1x"}})", R"(1000 {"a":"-"} {"b":{"c":"-"}})",
                  R"(1000 {"a":"0"} {"b":{"c":0}})"));
}

TEST(Mapping, SaysWhichMembersOfABodyCantBeGiven) {
  const std::string rest = std::string("ts=t") + kRest;
  EXPECT_THAT(problem_of(rest + ",body.a.=x"), HasSubstr("\"body.a.\" needs a name after body."));
  EXPECT_THAT(problem_of(rest + ",response.body.a..b=x"), HasSubstr("and one between two dots"));
  EXPECT_EQ(
      problem_of(rest + ",body.items[0].id=x"),
      "\"body.items[0].id\" is an element of a list, which has no column of its own; give the "
      "list, body.items=NAME, from a member that is one");
  for (const char* both : {",body.a=x,body.a.b=y", ",body.a.b.c=x,body.a=y"})
    EXPECT_THAT(problem_of(rest + both), HasSubstr("can't be given as a whole and in parts"));
  EXPECT_THAT(problem_of(rest + ",body.a.b=x,body.a.b=y"), HasSubstr("gives a part again"));
  std::string problem;
  EXPECT_TRUE(Mapping::parse(rest + ",body.a.b=x,response.body.a=y,body.ab=z", problem)) << problem;
}

}  // namespace
}  // namespace weir::replay::mapping_test
