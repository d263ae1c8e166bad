#include "authz/answer.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>
#include <string>
#include <utility>

namespace weir::authz::answer_test {
namespace {

const Door kEnvoy{&ext_authz_caller(), "/ext_authz", {}};
const AnswerFrame kFrame{"Tue, 24 Nov 2026 04:00:00 GMT"};
const std::string kStart = "HTTP/1.1 200 OK\r\nDate: Tue, 24 Nov 2026 04:00:00 GMT\r\n";

std::string allowed(const CallerRow& caller, std::string_view upstream,
                    const gate::Unsettled::Id* id = nullptr) {
  Effect effect;
  effect.upstream_headers = upstream;
  std::string out;
  append_allowed(out, caller, effect, {}, id, kFrame);
  return out;
}

/// The headers that Envoy is to take away, in their order by the alphabet; and the rest of the
/// answer.
std::pair<std::set<std::string>, std::string> taken_away(std::string answer) {
  constexpr std::string_view kField = "x-envoy-auth-headers-to-remove: ";
  const std::size_t at = answer.find(kField);
  if (at == std::string::npos) return {{}, answer};
  const std::size_t end = answer.find("\r\n", at);
  std::set<std::string> names;
  std::istringstream list(answer.substr(at + kField.size(), end - at - kField.size()));
  for (std::string name; std::getline(list >> std::ws, name, ',');) names.insert(name);
  return {names, answer.erase(at, end + 2 - at)};
}

/// The name, and its spellings with dots: PHP reads them alike.
std::set<std::string> spellings(const std::string& name) {
  std::set<std::string> out{name};
  for (std::size_t at = 0; (at = name.find('-', at)) != std::string::npos; ++at) {
    for (std::string each : std::set<std::string>(out)) {
      each[at] = '.';
      out.insert(each);
    }
  }
  return out;
}

TEST(Allowed, EnvoyIsToldWhichOfTheClientsOwnToTakeAway) {
  std::set<std::string> all;
  for (const char* name : {"x-weir-verdict", "x-weir-policy", "x-weir-score", "x-weir-request-id"})
    all.merge(spellings(name));
  const std::string end = "Content-Length: 0\r\n\r\n";
  EXPECT_EQ(taken_away(allowed(ext_authz_caller(), "")), std::pair(all, kStart + end));
  const std::string set = "X-Weir-Verdict: flag\r\nX-Weir-Policy: p;value=6\r\n";
  all.erase("x-weir-verdict");
  all.erase("x-weir-policy");
  EXPECT_EQ(taken_away(allowed(ext_authz_caller(), set)), std::pair(all, kStart + set + end));
}

TEST(Allowed, EnvoyTakesSpellingsAwayBesideAnswersWithEveryHeader) {
  gate::Unsettled::Id id;
  id.fill('a');
  const auto names =
      taken_away(allowed(ext_authz_caller(),
                         "X-Weir-Verdict: flag\r\nX-Weir-Policy: p\r\nX-Weir-Score: 3\r\n", &id))
          .first;
  EXPECT_EQ(names.count("x.weir.request.id"), 1U);
  EXPECT_EQ(names.count("x-weir-verdict"), 0U);
}

TEST(Allowed, WhatCaddyCopiesIsAlwaysThere) {
  EXPECT_EQ(allowed(*find_caller("caddy"), "X-Weir-Verdict: gray\r\n"),
            kStart +
                "X-Weir-Verdict: gray\r\nX-Weir-Policy:\r\nX-Weir-Score:\r\nX-Weir-Request-Id:\r\n"
                "Content-Length: 0\r\n\r\n");
}

TEST(Allowed, TheIdIsThereWhereTheAppIsToTellOfItsAnswer) {
  gate::Unsettled::Id id;
  id.fill('a');
  EXPECT_EQ(
      allowed(*find_caller("nginx"), "", &id),
      kStart + "X-Weir-Request-Id: " + std::string(32, 'a') + "\r\nContent-Length: 0\r\n\r\n");
  EXPECT_EQ(allowed(*find_caller("nginx"), ""), kStart + "Content-Length: 0\r\n\r\n");
}

TEST(Refused, AsTheEffectSays) {
  Effect effect;
  effect.kind = Effect::Kind::answer;
  effect.status = 429;
  effect.response_headers = "Retry-After: 7\r\n";
  effect.content_type = "text/plain";
  effect.body = "no\n";
  std::string out;
  EXPECT_EQ(append_refused(out, kEnvoy, effect, kFrame), 429);
  EXPECT_EQ(out,
            "HTTP/1.1 429 Too Many Requests\r\nDate: Tue, 24 Nov 2026 04:00:00 GMT\r\n"
            "Retry-After: 7\r\nContent-Type: text/plain\r\nContent-Length: 3\r\n\r\nno\n");
}

TEST(Refused, AStatusThatIsMappedIsToldBesides) {
  Effect effect;
  effect.status = 429;
  const Door nginx{find_caller("nginx"), "/forward_auth/nginx", {{429, 403}}};
  std::string out;
  AnswerFrame frame = kFrame;
  frame.keep_alive = false;
  EXPECT_EQ(append_refused(out, nginx, effect, frame), 403);
  EXPECT_EQ(
      out,
      "HTTP/1.1 403 Forbidden\r\nDate: Tue, 24 Nov 2026 04:00:00 GMT\r\nX-Weir-Status: 429\r\n"
      "Content-Length: 0\r\nConnection: close\r\n\r\n");
}

TEST(Refused, AHeadGetsNoBody) {
  Effect effect;
  effect.status = 403;
  effect.content_type = "text/plain";
  effect.body = "no\n";
  AnswerFrame frame = kFrame;
  frame.head_only = true;
  std::string out;
  append_refused(out, kEnvoy, effect, frame);
  EXPECT_NE(out.find("Content-Length: 3\r\n"), std::string::npos);
  EXPECT_TRUE(out.ends_with("\r\n\r\n"));
}

}  // namespace
}  // namespace weir::authz::answer_test
