// Names of parameters in scripts, and their text in the scripts that Redis runs.
#include "store/redis/parameters.h"

#include <gtest/gtest.h>

#include <set>

#include "store/redis/scripts.h"

namespace weir::store::parameters_test {
namespace {

using limiter::SharedForm;

TEST(Parameters, StandWhereTheTableSays) {
  EXPECT_EQ(place_of("quantum", SharedForm::ring), 0U);
  EXPECT_EQ(place_of("span", SharedForm::ring), 1U);
  EXPECT_EQ(place_of("keep", SharedForm::log), 1U);
  EXPECT_EQ(place_of("keep", SharedForm::members), 4U);
  EXPECT_EQ(place_of("length", SharedForm::members), 0U);
  EXPECT_EQ(place_of("later", SharedForm::fixed), 3U);
  EXPECT_EQ(place_of("span", SharedForm::fixed), std::nullopt);
  EXPECT_EQ(place_of("", SharedForm::members), std::nullopt);
}

TEST(Parameters, ArePlacedInScripts) {
  EXPECT_EQ(with_places("x = p.span * p.quantum", SharedForm::ring, false), "x = p.b * p.a");
  EXPECT_EQ(with_places("x = p.span * p.quantum", SharedForm::ring, true), "x = b * a");
  EXPECT_EQ(with_places("p.metric, p.spans, s.p.span, up.span p.", SharedForm::ring, false),
            "p.metric, p.spans, s.p.span, up.span p.");
  EXPECT_EQ(with_places("p.drain+p.drains", SharedForm::leaky, false), "p.b+p.d");
  EXPECT_EQ(with_places("", SharedForm::ring, false), "");
}

/// A name that no table has would be nil in Redis.
TEST(Parameters, ScriptsKnowNoOthers) {
  const std::set<std::string> known{"a",     "b",         "c",      "d",        "e",
                                    "form",  "metric",    "window", "limit",    "inclusive",
                                    "real",  "remembers", "key",    "held_key", "held",
                                    "value", "settled",   "s",      "undo"};
  for (ScriptIndex i = 0; i < kPatternScript; ++i) {
    std::string_view text = script(i).text;
    SCOPED_TRACE(script(i).name);
    std::size_t names = 0;
    for (std::size_t at = 0; (at = text.find("p.", at)) != text.npos; at += 2) {
      if (at > 0 && (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 ||
                     text[at - 1] == '_' || text[at - 1] == '.')) {
        continue;
      }
      std::size_t end = at + 2;
      while (end < text.size() &&
             (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_')) {
        ++end;
      }
      const std::string name(text.substr(at + 2, end - at - 2));
      EXPECT_TRUE(known.contains(name)) << name;
      ++names;
    }
    EXPECT_GT(names, 10U);
  }
}

}  // namespace
}  // namespace weir::store::parameters_test
