#include "config/text/foreign_words.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/text/reader.h"

namespace weir::config::foreign_words_test {
namespace {

/// A key that a foreign word stands for must be one of that place, or the error that it spares
/// ("a policy needs ...") would be spared for nothing.
TEST(ForeignWords, stand_for_keys_of_their_place) {
  const char* const kWords[] = {"rate",   "limit",  "match",  "filter", "group_by", "dry_run",
                                "count",  "unique", "action", "gt",     "gte",      "duration",
                                "window", "route",  "type",   "key",    "items",    "listen",
                                "rules",  "port",   "size",   "fixed",  "domain",   "topk"};
  std::size_t found = 0;
  for (const TableDoc& table : all_tables()) {
    for (const char* word : kWords) {
      const ForeignWord foreign = foreign_word(table.what, word);
      if (foreign.hint.empty()) continue;
      ++found;
      bool is_own = false;
      bool is_key = foreign.means.empty();
      for (std::size_t i = 0; i < table.size; ++i) {
        KeyDoc doc;
        table.row(i, doc);
        is_own = is_own || doc.name == word;
        is_key = is_key || doc.name == foreign.means;
      }
      EXPECT_FALSE(is_own) << word << " is a key of " << table.what;
      EXPECT_TRUE(is_key) << foreign.means << " is no key of " << table.what;
    }
  }
  EXPECT_GT(found, 30u);
}

TEST(ForeignWords, are_known_in_any_case_and_with_dashes) {
  EXPECT_FALSE(foreign_word("mode", "Dry-Run").hint.empty());
  EXPECT_TRUE(foreign_word("mode", "enforce").hint.empty());
  EXPECT_TRUE(foreign_word("mode", "").hint.empty());
  EXPECT_TRUE(foreign_word("nowhere", "rate").hint.empty());
}

}  // namespace
}  // namespace weir::config::foreign_words_test
