#include "policies/set/reference.h"

#include <gtest/gtest.h>

#include "config/schema.h"
#include "tests/support/golden.h"

namespace weir::policies::reference_test {
namespace {

TEST(Reference, ThePageInTheDocsIsWhatTheTablesSay) {
  // `weir schema --reference` prints the same; WEIR_UPDATE_GOLDEN=1 rewrites the page.
  EXPECT_EQ(weir::test::compare_golden(WEIR_SOURCE_DIR, "../../docs/policy_reference.md",
                                       config::reference_markdown() + "\n" + language_reference()),
            "");
}

}  // namespace
}  // namespace weir::policies::reference_test
