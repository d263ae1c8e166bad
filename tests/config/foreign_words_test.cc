#include "config/text/foreign_words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "config/cases.h"
#include "config/text/reader.h"

namespace weir::config::foreign_words_test {
namespace {

std::vector<std::string_view> words_of(const ForeignRow& row) {
  std::vector<std::string_view> out;
  for (std::size_t from = 0; from < row.words.size();) {
    const std::size_t end = std::min(row.words.find(' ', from), row.words.size());
    out.push_back(row.words.substr(from, end - from));
    from = end + 1;
  }
  return out;
}

/// The key that a foreign word means must be one of that place, or the error that it spares
/// ("a policy needs ...") would be spared for nothing. And no word is weir's own there.
TEST(ForeignWords, stand_for_keys_of_their_place) {
  std::set<std::string_view> places;
  std::vector<TableDoc> tables = all_tables();
  tables.insert(tables.end(), case_tables().begin(), case_tables().end());
  for (const TableDoc& table : tables) {
    std::set<std::string_view> keys;
    for (std::size_t i = 0; i < table.size; ++i) {
      KeyDoc doc;
      table.row(i, doc);
      keys.insert(doc.name);
    }
    for (const ForeignRow& row : foreign_rows()) {
      if (row.place != table.what) continue;
      places.insert(row.place);
      if (!row.means.empty()) {
        EXPECT_EQ(keys.count(row.means), 1U) << row.means << " is not a key of " << table.what;
      }
      for (const std::string_view word : words_of(row))
        EXPECT_EQ(keys.count(word), 0U) << word << " is a key of " << table.what;
    }
  }
  // The others are keys with words for values, and expressions.
  const std::set<std::string_view> values{"do",    "effect", "kind",       "mode",
                                          "share", "metric", "expression", "expect"};
  for (const ForeignRow& row : foreign_rows())
    EXPECT_TRUE(places.count(row.place) + values.count(row.place) == 1) << row.place;
}

TEST(ForeignWords, stand_once_in_their_place) {
  std::set<std::pair<std::string_view, std::string>> seen;
  for (const ForeignRow& row : foreign_rows()) {
    EXPECT_FALSE(row.hint.empty());
    for (const std::string_view word : words_of(row)) {
      std::string plain;
      for (const char c : word) {
        EXPECT_TRUE((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_') << word;
        if (c != '_') plain += c;
      }
      EXPECT_TRUE(seen.emplace(row.place, plain).second) << row.place << ": " << word;
    }
  }
}

/// Words that users of another limiter type first at the place of a limit.
TEST(ForeignWords, of_peers_are_known) {
  const std::pair<const char*, const char*> kPeers[] = {
      {"nginx", "rate burst nodelay delay zone limit_req limit_conn"},
      {"Envoy",
       "rate_limits actions token_bucket max_tokens tokens_per_fill fill_interval remote_address "
       "hits_addend unlimited failure_mode_deny enable_x_ratelimit_headers"},
      {"Kong",
       "second minute hour day month year limit_by header_name path policy fault_tolerant "
       "hide_client_headers error_code error_message sync_rate window_size window_type namespace "
       "strategy config plugins"},
      {"Traefik", "rateLimit average period burst sourceCriterion ipStrategy requestHost amount"},
      {"express-rate-limit",
       "windowMs max limit message statusCode standardHeaders legacyHeaders keyGenerator skip "
       "skipSuccessfulRequests skipFailedRequests handler store passOnStoreError"},
      {"Spring Cloud Gateway",
       "redis-rate-limiter.replenishRate redis-rate-limiter.burstCapacity "
       "redis-rate-limiter.requestedTokens key-resolver predicates filters args limitForPeriod "
       "limitRefreshPeriod"},
      {"fail2ban", "maxretry findtime bantime ignoreip filter action"},
      {"APISIX", "count time_window key_type rejected_code rejected_msg allow_degradation"},
      {"Cloudflare",
       "characteristics requests_per_period mitigation_timeout counting_expression expression"}};
  for (const auto& [peer, words] : kPeers) {
    for (const std::string_view word : words_of({{}, words, {}, {}}))
      EXPECT_FALSE(foreign_word("a policy", word).hint.empty()) << peer << ": " << word;
  }
}

TEST(ForeignWords, of_envoyproxy_ratelimit_lead_to_its_files) {
  const auto leads = [](std::string_view place, std::string_view word) {
    const std::string_view hint = foreign_word(place, word).hint;
    return hint.find("ratelimit: {files:") != std::string_view::npos &&
           hint.find("docs/migrating.md") != std::string_view::npos;
  };
  for (const std::string_view word :
       {"share_threshold", "quota_mode", "value_to_metric", "detailed_metric", "replaces",
        "rate_limit", "requests_per_unit", "unlimited"}) {
    EXPECT_TRUE(leads("a policy", word)) << word;
  }
  for (const std::string_view word : {"domain", "descriptors", "rate_limits"})
    EXPECT_TRUE(leads("the main file", word)) << word;
}

TEST(ForeignWords, are_known_in_any_case_and_with_dashes) {
  EXPECT_FALSE(foreign_word("mode", "Dry-Run").hint.empty());
  EXPECT_EQ(foreign_word("a policy", "limitBy").hint, foreign_word("a policy", "limit_by").hint);
  EXPECT_TRUE(foreign_word("mode", "enforce").hint.empty());
  EXPECT_TRUE(foreign_word("mode", "").hint.empty());
  EXPECT_TRUE(foreign_word("nowhere", "rate").hint.empty());
}

}  // namespace
}  // namespace weir::config::foreign_words_test
