#include "app/change/table_history.h"

#include <gtest/gtest.h>

namespace weir::app::table_history_test {
namespace {

using admin::TableRecord;

constexpr std::size_t kRoom = 100'000;

/// One replica's history, changed as TableChanges does.
struct Replica : TableHistory {
  std::string set(const char* cell, int limit, TimePoint at, const char* state = "applied",
                  const char* by = "ann") {
    TableRecord record;
    record.table = "t";
    record.state = state;
    record.by = by;
    record.at = at;
    record.changes = {{{cell}, Number(1), Number(limit)}};
    if (record.state != TableRecord::kPending) hold(with("t", {{{cell}, Number(limit)}}));
    return add(std::move(record));
  }
  std::string cells() const {
    std::string out;
    for (const config::TableEdit& edit : edits()) {
      for (const config::TableCell& cell : edit.cells)
        out += config::path_text(cell.path) + "=" + config::limit_text(cell.limit) + " ";
    }
    return out;
  }
  std::string states() const {
    std::string out;
    for (const TableRecord& record : records()) out += record.id + ":" + record.state + " ";
    return out;
  }
  std::string text() const { return table_text("t", kRoom); }
};

TimePoint at(int ms) { return TimePoint{milliseconds{ms}}; }

TEST(TableHistory, AnotherReplicaHasWhatItIsTold) {
  Replica a, b;
  a.set("x", 5, at(1));
  a.set("y", 6, at(2));
  EXPECT_TRUE(a.has_unsent("t"));
  a.mark_sent("t");
  ASSERT_TRUE(b.merge("t", a.text()));
  EXPECT_EQ(b.cells(), "x=5 y=6 ");
  EXPECT_EQ(b.states(), "1:applied 2:applied ");
  EXPECT_FALSE(b.has_unsent("t"));
  EXPECT_EQ(b.set("x", 7, at(3)), "3") << "ids go on";
  Replica back;
  ASSERT_TRUE(back.from_json(b.to_json()));
  EXPECT_TRUE(back.has_unsent("t")) << "also after a restart";
  EXPECT_EQ(back.cells(), b.cells());
}

TEST(TableHistory, WhatWasSetMeanwhileLiesOverWhatIsTold) {
  Replica a, b;
  a.set("x", 5, at(1));
  b.merge("t", a.text());
  a.set("x", 10, at(2));
  a.set("y", 11, at(3));
  b.set("x", 20, at(4));
  ASSERT_TRUE(b.merge("t", a.text()));
  EXPECT_EQ(b.cells(), "x=20 y=11 ");
  EXPECT_EQ(b.states(), "1:applied 2:applied 3:applied 4:applied ") << "ours got an id of its own";
  EXPECT_TRUE(b.has_unsent("t"));
  a.mark_sent("t");
  ASSERT_TRUE(a.merge("t", b.text()));
  EXPECT_EQ(a.cells(), b.cells());
  EXPECT_EQ(a.states(), b.states());
  // The same once more changes nothing.
  const std::string before = a.to_json();
  ASSERT_TRUE(a.merge("t", b.text()));
  EXPECT_EQ(a.to_json(), before);
}

TEST(TableHistory, AnIdThatWasToldIsNeverAnotherChange) {
  Replica a, b;
  a.mark_ids("3fa2");
  b.mark_ids("91c0");
  const std::string ours = a.set("x", 10, at(1), "applied", "ann");
  const std::string theirs = b.set("y", 20, at(2), "applied", "bob");
  EXPECT_EQ(ours, "1-3fa2");
  EXPECT_EQ(theirs, "1-91c0");
  ASSERT_TRUE(b.merge("t", a.text()));
  a.mark_sent("t");
  ASSERT_TRUE(a.merge("t", b.text()));
  for (Replica* each : {&a, &b}) {
    EXPECT_EQ(each->find("t", ours)->by, "ann");
    EXPECT_EQ(each->find("t", theirs)->by, "bob");
    EXPECT_EQ(each->find("t", "1"), nullptr) << "the number alone says too little";
  }
  EXPECT_EQ(a.set("x", 11, at(3)), "2-3fa2");
}

TEST(TableHistory, ASecondPersonMayDecideElsewhere) {
  Replica a, b, c;
  const std::string id = a.set("x", 9, at(1), TableRecord::kPending);
  for (Replica* each : {&b, &c}) each->merge("t", a.text());
  a.mark_sent("t");
  EXPECT_EQ(b.pending(), 1U);
  b.hold(b.with("t", {{{"x"}, Number(9)}}));
  b.set_state("t", id, TableRecord::kApplied, "bob", at(2));
  c.set_state("t", id, TableRecord::kRejected, "cleo", at(3));
  ASSERT_TRUE(a.merge("t", b.text()));
  EXPECT_EQ(a.cells(), "x=9 ");
  EXPECT_EQ(a.find("t", id)->decided_by, "bob");
  std::vector<TableRecord> overtaken;
  ASSERT_TRUE(c.merge("t", b.text(), &overtaken));
  EXPECT_EQ(c.find("t", id)->decided_by, "bob") << "who was told first has decided";
  EXPECT_EQ(c.cells(), "x=9 ");
  // All of them name the person who was too late and saw the decision succeed.
  ASSERT_EQ(overtaken.size(), 1U);
  EXPECT_EQ(overtaken[0].overtaken, "rejected by cleo");
  EXPECT_TRUE(c.has_unsent("t"));
  overtaken.clear();
  ASSERT_TRUE(c.merge("t", b.text(), &overtaken)) << "the same once more says it once";
  EXPECT_TRUE(overtaken.empty());
  b.mark_sent("t");
  ASSERT_TRUE(b.merge("t", c.text(), &overtaken));
  EXPECT_TRUE(overtaken.empty());
  EXPECT_EQ(b.find("t", id)->overtaken, "rejected by cleo");
  EXPECT_EQ(b.find("t", id)->state, TableRecord::kApplied);
  Replica again;
  ASSERT_TRUE(again.from_json(b.to_json()));
  EXPECT_EQ(again.find("t", id)->overtaken, "rejected by cleo");
  // Approved here while others still wait.
  Replica d;
  d.merge("t", a.table_text("t", kRoom));
  const std::string more = a.set("y", 3, at(4), TableRecord::kPending);
  d.merge("t", a.text());
  d.hold(d.with("t", {{{"y"}, Number(3)}}));
  d.set_state("t", more, TableRecord::kApplied, "bob", at(5));
  ASSERT_TRUE(d.merge("t", a.text()));
  EXPECT_EQ(d.cells(), "x=9 y=3 ");
  EXPECT_EQ(d.find("t", more)->state, TableRecord::kApplied);
}

TEST(TableHistory, TheHistoryIsCutWhereItDoesNotFit) {
  Replica a;
  for (int i = 0; i < 300; ++i) a.set("x", i, at(i));
  const std::string text = a.table_text("t", 10'000);
  EXPECT_LE(text.size(), 10'000U);
  Replica b;
  ASSERT_TRUE(b.merge("t", text));
  EXPECT_EQ(b.cells(), "x=299 ");
  EXPECT_EQ(b.records().back().id, "300");
  EXPECT_LT(b.records().size(), 100U);
  EXPECT_EQ(a.table_text("t", 20), "") << "not even the cells";
  // A replica that has more of it keeps that.
  a.mark_sent("t");
  ASSERT_TRUE(a.merge("t", text));
  EXPECT_EQ(a.records().size(), 300U);
}

TEST(TableHistory, WhatIsNoTableChangesNothing) {
  Replica a;
  a.set("x", 5, at(1));
  const std::string before = a.to_json();
  for (const char* wrong : {"", "{}", "[]", R"({"cells":[],"next":1})",
                            R"({"cells":[{"path":["x"],"limit":"much"}],"next":1,"records":[]})",
                            R"({"cells":[],"next":-1,"records":[]})",
                            R"({"cells":[],"next":18446744073709551615,"records":[]})",
                            R"({"cells":[],"next":1,"records":[{"id":"1"}]})"}) {
    EXPECT_FALSE(a.merge("t", wrong)) << wrong;
    EXPECT_EQ(a.to_json(), before);
  }
}

}  // namespace
}  // namespace weir::app::table_history_test
