#include "app/tools/ctl/ctl_list_file.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

namespace weir::app::ctl_list_file_test {
namespace {

struct Case {
  const char* name;
  const char* text;
  std::vector<std::string> parts;
  const char* entries;  // or what is wrong
};

TEST(CtlListFile, ReadsCsvAndJson) {
  const Case cases[] = {
      {"nothing", "\n", {"ip"}, "[]"},
      {"a plain column",
       "192.0.2.1\n192.0.2.2\r\n",
       {"ip"},
       R"([{"key":["192.0.2.1"]},{"key":["192.0.2.2"]}])"},
      {"columns by their names",
       "why,device,user,other\n\"a, \"\"b\"\"\",d1,alice,x\n",
       {"user", "device"},
       R"([{"key":["alice","d1"],"why":"a, \"b\""}])"},
      {"a byte order mark",
       "\xef\xbb\xbfip,until\n192.0.2.1,2027-01-01\n",
       {"ip"},
       R"([{"key":["192.0.2.1"],"until":"2027-01-01"}])"},
      {"an open quote", "ip\n\"192.0.2.1\n", {"ip"}, "record 2: a quote is not closed"},
      {"a missing column",
       "user,until\nalice,\n",
       {"user", "device"},
       "the header has no column \"device\", or has it twice"},
      {"a header that calls the key so",
       "key,for,why\n192.0.2.1,2h,x\n",
       {"ip"},
       R"([{"key":["192.0.2.1"],"for":"2h","why":"x"}])"},
      {"a header without the key",
       "address,until,why\n192.0.2.1,,x\n",
       {"ip"},
       "the header has no column \"ip\", or has it twice"},
      {"a short record", "user,device\nalice\n", {"user", "device"}, "record 2: no \"device\""},
      {"quotes before formulas",
       "ip,why\n'=1+1,'plain\n''@x,'-5\n",
       {"ip"},
       R"([{"key":["=1+1"],"why":"'plain"},{"key":["'@x"],"why":"'-5"}])"},
      {"too many cells", "ip\n192.0.2.1,2,3,4\n", {"ip"}, "record 2: more cells than columns"},
      {"a JSON list",
       R"([{"key":"alice","until":null,"times":3}])",
       {"user"},
       R"([{"key":"alice"}])"},
      {"a JSON object",
       R"( {"entries":[{"key":["a","b"],"for":"1h"}]})",
       {"user", "device"},
       R"([{"key":["a","b"],"for":"1h"}])"},
      {"another object",
       R"({"rows":[]})",
       {"user"},
       "a list of entries, or an object with `entries`"},
      {"what weir shows of an entry",
       R"([{"list":"l","key":["alice"],"effect":"deny","static":false,"asleep":true,"since":"x","until":null,
            "left_seconds":null,"by":"policy","times":3,"level":1,"policy":"p","value":1,"limit":0}])",
       {"user"},
       R"([{"key":["alice"],"effect":"deny"}])"},
      {"a misspelt member",
       R"([{"key":"alice","for":"1h"},{"key":"bob","forr":"1h"}])",
       {"user"},
       "entry 2: unknown member \"forr\"; known are key, for, until, why, effect"},
      {"GBK",
       "ip,why\n192.0.2.1,a\n192.0.2.2,\xb7\xe2\xbd\xfb\n",
       {"ip"},
       "line 3 is not UTF-8: save the file as UTF-8"},
      {"UTF-16 with a mark", "\xff\xfei", {"ip"}, "line 1 is not UTF-8: save the file as UTF-8"},
      {"semicolons below a header",
       "ip;until;why\n192.0.2.1;;x\n",
       {"ip"},
       "record 1: commas separate the columns, not semicolons"},
      {"semicolons without a header",
       "alice;2027-01-01;x\n",
       {"user"},
       "record 1: commas separate the columns, not semicolons"},
      {"tabs between the parts of keys",
       "alice\td1\n",
       {"user", "device"},
       "record 1: commas separate the columns, not tabs"},
      {"a semicolon in a key", "a;b\n", {"user"}, R"([{"key":["a;b"]}])"},
      {"no object in it", "[7]", {"user"}, "entry 1 is not an object"},
  };
  for (const Case& each : cases) {
    SCOPED_TRACE(each.name);
    boost::json::array entries;
    const std::string wrong = read_list_file(each.text, each.parts, entries);
    EXPECT_EQ(wrong.empty() ? boost::json::serialize(entries) : wrong, each.entries);
  }
}

TEST(CtlListFile, EntriesAreNumberedByTheFileAndNotByItsPieces) {
  EXPECT_EQ(entry_of_file("entry 3: `for` is a text", 400), "entry 403: `for` is a text");
  EXPECT_EQ(entry_of_file("the list is full", 400), "the list is full");
}

TEST(CtlListFile, Utf16WithoutAMarkIsSaidToBeNone) {
  boost::json::array entries;
  EXPECT_EQ(read_list_file({"i\0p\0\n\0", 6}, {"ip"}, entries),
            "line 1 is not UTF-8: save the file as UTF-8");
}

TEST(CtlListFile, WhatItWritesItReads) {
  const boost::json::value page = boost::json::parse(R"({
    "lists": [{"of": ["user", "device"]}, {"of": ["user", "device"]}],
    "entries": [
      {"key": ["=1,2", "say \"x\""], "effect": "deny", "static": false, "until": null, "why": "", "by": "policy",
       "since": "2026-11-21T08:00:00.000Z", "times": 2, "policy": "p", "value": 6, "limit": 5},
      {"key": ["of the file"], "static": true}]})");
  for (const bool json : {false, true}) {
    ListFileWriter writer(json);
    const std::string text = writer.page(page) + writer.end();
    boost::json::array entries;
    EXPECT_EQ(read_list_file(text, {"user", "device"}, entries), "") << text;
    EXPECT_EQ(boost::json::serialize(entries),
              R"([{"key":["=1,2","say \"x\""],"why":"p 6/5","effect":"deny"}])");
  }
}

TEST(CtlListFile, WritesNoFormulas) {
  const char* const keys[] = {"=HYPERLINK(\"http://x\",\"y\")",
                              "+1+A1",
                              "-2+3+cmd",
                              "@sum(1)",
                              "\tx",
                              "'=x",
                              "''=x",
                              "'plain",
                              "-5",
                              "+4.5",
                              "a=b",
                              "",
                              "'"};
  boost::json::object page;
  page["lists"] = boost::json::parse(R"([{"of": ["user"]}])");
  boost::json::array& rows = page["entries"].emplace_array();
  for (const char* key : keys) {
    boost::json::object& row = rows.emplace_back(boost::json::object_kind).as_object();
    row["key"].emplace_array().emplace_back(key);
    row["until"] = nullptr;
    row["why"] = key;
  }
  ListFileWriter writer(false);
  const std::string text = writer.page(page) + writer.end();
  EXPECT_NE(text.find("\n\"'=HYPERLINK(\"\"http://x\"\""), text.npos) << text;
  EXPECT_NE(text.find("\n\"'+1+A1\","), text.npos) << text;
  EXPECT_NE(text.find("\n-5,"), text.npos) << text;
  boost::json::array read;
  ASSERT_EQ(read_list_file(text, {"user"}, read), "") << text;
  ASSERT_EQ(read.size(), std::size(keys));
  for (std::size_t i = 0; i < read.size(); ++i)
    EXPECT_EQ(read[i].at("key").at(0).as_string(), keys[i]) << text;
}

}  // namespace
}  // namespace weir::app::ctl_list_file_test
