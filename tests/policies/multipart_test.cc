#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "policies/lang/extractors/arena.h"
#include "policies/lang/extractors/json.h"

/// The effects of a body's Content-Type and parts (tests/frameworks has the other rows).
namespace weir::policies::multipart_test {
namespace {

constexpr std::string_view kType = "multipart/form-data; boundary=b";

std::string part(std::string_view headers, std::string_view value) {
  return "--b\r\n" + std::string(headers) + "\r\n\r\n" + std::string(value) + "\r\n";
}
std::string named(std::string_view name, std::string_view value, std::string_view more = "") {
  return part(
      "Content-Disposition: form-data; name=\"" + std::string(name) + "\"" + std::string(more),
      value);
}
std::string body(const std::string& parts) { return parts + "--b--\r\n"; }

/// The value of `user`, or why there is none.
std::string read(std::string_view type, std::string_view text, std::string_view name = "user") {
  Arena arena;
  BodyReader reader(BodyFrom::client);
  const HeaderField header{"Content-Type", type};
  const PathStep step{std::string(name), 0, false};
  const Extracted got =
      reader.find(arena, BodyState::complete, text, {&header, 1}, {&step, 1}, BodyKind::none);
  const std::string_view why = miss_reason_text(got.why);
  if (got.why != MissReason::none) return std::string(why.substr(0, why.find(':')));
  return '"' + std::string(got.value.as_text()) + '"';
}

struct Row {
  const char* name;
  std::string type, text, reads;
};

void expect(const std::vector<Row>& rows) {
  for (const Row& row : rows) EXPECT_EQ(read(row.type, row.text), row.reads) << row.name;
}

TEST(Charset, ANameBeyondAsciiInAnotherCharsetMakesTheBodyUnreadable) {
  // As in a form: by the charset, a blank or another letter of this name may be what an application
  // reads.
  const auto with = [](std::string_view name, const std::string& charset) {
    return body(named("user", "alice") +
                named(name, "x", "\r\nContent-Type: text/plain; charset=" + charset));
  };
  EXPECT_EQ(read(kType, with("other", "iso-8859-1")), "\"alice\"");
  EXPECT_EQ(read(kType, with("user\xa0", "iso-8859-1")), "unreadable");
  EXPECT_EQ(read(kType, with("gr\xf6\xdf"
                             "e",
                             "iso-8859-1")),
            "unreadable");
  EXPECT_EQ(read(kType, with("gr\xc3\xb6\xc3\x9f"
                             "e",
                             "utf-8")),
            "\"alice\"");
}

TEST(Charset, AsciiIsReadableInEachCharsetThatExtendsIt) {
  const std::string form = "application/x-www-form-urlencoded; charset=";
  const std::string json = "application/json; charset=";
  const std::string multi = std::string(kType) + "; charset=";
  for (const char* one : {"ISO-8859-1", "latin1", "\"iso-8859-15\"", "Windows-1252", "us-ascii",
                          "ASCII", "koi8-r", "cp1251"}) {
    expect({
        {one, form + one, "user=alice&x=1", "\"alice\""},
        {one, form + one, "user=%61lice&x=%FC&y=\xfc", "\"alice\""},
        {one, form + one, "user=alic%C3%A9", "unreadable"},
        {one, form + one, "user=alic%E9", "unreadable"},
        {one, form + one, "user=alic\xc3\xa9", "ambiguous"},
        {one, form + one, "user=alice&%C3%A9=1", "unreadable"},
        {one, form + one, "user=alice&\xe9=1", "unreadable"},
        {one, form + one, "user=alice&x=1;\xe9", "unreadable"},
        {one, json + one, R"({"user":"alice"})", "\"alice\""},
        {one, json + one, "{\"user\":\"alice\",\"x\":\"\xc3\xa9\"}", "unreadable"},
        {one, multi + one, body(named("user", "alice") + named("x", "\xe9")), "\"alice\""},
        {one, multi + one, body(named("user", "alic\xc3\xa9")), "unreadable"},
        {one, multi + one, body(named("user", "alice") + named("\xc3\xa9", "1")), "unreadable"},
        {one, std::string(kType),
         body(named("user", "alice", "\r\nContent-Type: text/plain; charset=" + std::string(one))),
         "\"alice\""},
        {one, std::string(kType),
         body(named("user", "alic\xc3\xa9",
                    "\r\nContent-Type: text/plain; charset=" + std::string(one))),
         "unreadable"},
    });
  }
}

TEST(Charset, NoOtherIsReadable) {
  for (const char* one :
       {"utf-7", "utf-16", "utf-16le", "utf-32", "iso-2022-jp", "iso-2022-kr", "hz-gb-2312",
        "ibm037", "cp037", "cp500", "shift_jis", "gbk", "big5", "x-user-defined", "iso-8859-12",
        "iso-8859-1x", "\"\"", "latin1; charset=latin1", "utf-8; charset=latin1"}) {
    const std::string charset = "; charset=" + std::string(one);
    expect({
        {one, "application/x-www-form-urlencoded" + charset, "user=alice", "unreadable"},
        {one, "application/json" + charset, R"({"user":"alice"})", "unreadable"},
        {one, std::string(kType) + charset, body(named("user", "alice")), "unreadable"},
        {one, std::string(kType),
         body(named("user", "alice", "\r\nContent-Type: text/plain" + charset)), "unreadable"},
    });
  }
}

TEST(Multipart, AnEncodedFileNameMakesAFileOfItsOwnPartAlone) {
  const std::string user = named("user", "alice");
  const std::string type(kType);
  expect({
      {".NET", type, body(named("f", "x", "; filename=a.txt; filename*=utf-8''a.txt") + user),
       "\"alice\""},
      {"escapes", type,
       body(named("f", "x", "; filename=\"a\"; filename*=UTF-8'en'%C3%A9.txt") + user),
       "\"alice\""},
      {"requests", type, body(user + named("f", "x", "; filename*=utf-8''%C3%A9.txt")),
       "\"alice\""},
      {"its own field", type, body(named("user", "alice", "; filename*=utf-8''a")), "ambiguous"},
      {"both", type, body(user + named("user", "r1", "; filename*=utf-8''a")), "ambiguous"},
      {"one quote", type, body(user + named("f", "x", "; filename*=utf-8'a")), "unreadable"},
      {"three quotes", type, body(user + named("f", "x", "; filename*=utf-8''a'b")), "unreadable"},
      {"twice", type, body(user + named("f", "x", "; filename*=u''a; filename*=u''b")),
       "unreadable"},
      {"no star", type, body(user + named("f", "x", "; filename='a'")), "unreadable"},
      {"a name", type, body(user + named("f", "x", "; name*=utf-8''user")), "unreadable"},
      {"a name alone", type,
       body(part("Content-Disposition: form-data; name*=utf-8''user", "alice")), "unreadable"},
      {"a charset", "application/json; charset*=utf-8''utf-7", R"({"user":"a"})", "unreadable"},
      {"a boundary", type + "; boundary*=utf-8''c", body(user), "unreadable"},
      {"a charset of a part", type,
       body(named("user", "a", "\r\nContent-Type: text/plain; charset*=utf-8''utf-7")),
       "unreadable"},
  });
}

/// Tomcat decodes the words of RFC 2047 in the boundary and in every parameter of a part.
TEST(Multipart, AnEncodedWordMayBeReadAsAnything) {
  const std::string user = named("user", "r1"), type(kType), word = "=?UTF-8?B?dXNlcg==?=";
  expect({
      {"a name alone", type, body(named(word, "alice")), "unreadable"},
      {"a name beside", type, body(user + named(word, "alice")), "unreadable"},
      {"two words", type, body(user + named("=?UTF-8?Q?us?= =?UTF-8?Q?er?=", "alice")),
       "unreadable"},
      {"a type", type,
       body(user + named("f", "x", "\r\nContent-Type: text/plain; x=\"" + word + "\"")),
       "unreadable"},
      {"a boundary", "multipart/form-data; boundary=\"=?UTF-8?B?eA==?=\"",
       "--=?UTF-8?B?eA==?=\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nr1\r\n"
       "--=?UTF-8?B?eA==?=--\r\n",
       "unreadable"},
      {"a file name", type, body(user + named("f", "x", "; filename=\"" + word + "\"")), "\"r1\""},
  });
}

TEST(Multipart, OneEmptyLineMayStandBeforeAndAfter) {
  const std::string user = named("user", "alice"), type(kType);
  expect({
      {"before", type, "\r\n" + body(user), "\"alice\""},
      {"after", type, body(user) + "\r\n", "\"alice\""},
      {"both", type, "\r\n" + body(user) + "\r\n", "\"alice\""},
      {"no line end", type, user + "--b--", "\"alice\""},
      {"two before", type, "\r\n\r\n" + body(user), "unreadable"},
      {"two after", type, body(user) + "\r\n\r\n", "unreadable"},
      {"a line feed before", type, "\n" + body(user), "unreadable"},
      {"a line feed after", type, body(user) + "\n", "unreadable"},
      {"half a line end", type, "\r" + body(user), "unreadable"},
      {"a blank before", type, " \r\n" + body(user), "unreadable"},
      {"nothing else", type, "\r\n", "unreadable"},
  });
}

TEST(Multipart, AFieldIsAlsoWhatNettyTakesForIt) {
  const std::string user = named("user", "alice"), type(kType);
  const auto typed = [](const char* content_type) {
    return body(named("z", "alice", "\r\nContent-Type: " + std::string(content_type)));
  };
  expect({
      {"a name in Content-Type", type, typed("text/plain; name=\"user\""), "unreadable"},
      {"bare", type, typed("text/plain;NAME=user"), "unreadable"},
      {"with blanks", type, typed("text/plain; name = user"), "unreadable"},
      {"encoded", type, typed("text/plain; name*=utf-8''user"), "unreadable"},
      {"in pieces", type, typed("text/plain; name*0=us; name*1=er"), "unreadable"},
      {"after a comma", type, typed("text/plain, name=user"), "unreadable"},
      {"a file name", type, typed("text/plain; filename=\"x\""), "unreadable"},
      {"of a file", type,
       body(named("f", "x", "; filename=\"a\"\r\nContent-Type: image/png; name=user")),
       "unreadable"},
      {"another parameter", type, typed("text/plain; format=flowed"), "absent"},
      {"a type of that name", type, typed("application/x-name"), "absent"},
      {"an equals sign after", type, body(named("user=", "alice")), "\"alice\""},
      {"a colon before", type, body(named(":user", "alice")), "\"alice\""},
      {"all of them", type, body(named("=,; user: =", "alice")), "\"alice\""},
      {"beside the field", type, body(user + named("user=", "r1")), "ambiguous"},
      {"inside", type, body(named("us=er", "alice")), "absent"},
      {"nothing else", type, body(named("=", "alice")), "absent"},
  });
  EXPECT_EQ(read(kType, body(named("user=", "alice")), "user="), "\"alice\"");
}

TEST(Multipart, ANameInsideQuotesIsTheNameToSome) {
  const std::string user = named("user", "alice"), type(kType);
  const auto file = [](const char* name) {
    return body(
        part("Content-Disposition: form-data; filename=\"" + std::string(name) + "\"; name=\"z\"",
             "alice"));
  };
  expect({
      {"after a semicolon", type, file("a; name=user"), "unreadable"},
      {"at once", type, file("a;name=user"), "unreadable"},
      {"in capitals, with blanks", type, file("a; NAME = user"), "unreadable"},
      {"first", type, file("name=user"), "unreadable"},
      {"after a blank", type, file("a name=user"), "unreadable"},
      {"the file name last", type, body(named("z", "alice", "; filename=\"a; name=user\"")),
       "unreadable"},
      {"in a field's name", type, body(named("z; name=user", "alice")), "unreadable"},
      {"beside the field", type, body(user + named("z", "r1", "; filename=\"a; name=user\"")),
       "unreadable"},
      {"the end of a word", type, body(user + named("f", "x", "; filename=\"rename=1.txt\"")),
       "\"alice\""},
      {"no equals sign", type, body(user + named("f", "x", "; filename=\"a; name.txt\"")),
       "\"alice\""},
      {"a field called name", type, body(user + named("name", "x") + named("user_name", "y")),
       "\"alice\""},
  });
}

TEST(Multipart, ABoundaryOfDashesAloneIsNone) {
  const auto with = [](const std::string& boundary) {
    return read("multipart/form-data; boundary=" + boundary,
                "--" + boundary +
                    "\r\nContent-Disposition: form-data; name=\"user\"\r\n\r\nalice\r\n--" +
                    boundary + "--\r\n");
  };
  for (const char* dashes : {"-", "--", "---", "----------"})
    EXPECT_EQ(with(dashes), "unreadable") << dashes;
  EXPECT_EQ(with("--------------------------123"), "\"alice\"");
  EXPECT_EQ(with("-b-"), "\"alice\"");
}

}  // namespace
}  // namespace weir::policies::multipart_test
