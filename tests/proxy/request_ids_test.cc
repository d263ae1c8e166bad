#include "proxy/request_ids.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace weir::proxy::request_ids_test {
namespace {

TEST(RequestId, KeptFromATrustedPeerIfSane) {
  RequestIds ids{1};
  std::array<char, 32> room;
  const auto choose = [&](const std::string& lines, bool trusted) {
    const std::string bytes = "GET /p HTTP/1.1\r\nHost: a.example\r\n" + lines + "\r\n";
    net::RequestHead head;
    net::HeadProgress progress;
    EXPECT_EQ(net::parse_request_head(bytes, {}, progress, head), net::HeadStatus::complete);
    return std::string{choose_request_id(head, trusted, ids, room)};
  };
  EXPECT_EQ(choose("X-Request-Id: Ab.9_:/+=@-\r\n", true), "Ab.9_:/+=@-");
  EXPECT_EQ(choose("X-Request-Id: " + std::string(128, 'x') + "\r\n", true), std::string(128, 'x'));
  std::set<std::string> fresh;
  for (const std::string& lines : {std::string{"X-Request-Id: theirs\r\n"}}) {
    fresh.insert(choose(lines, false));
  }
  for (const std::string& lines :
       {std::string{""}, std::string{"X-Request-Id:\r\n"}, std::string{"X-Request-Id: a b\r\n"},
        std::string{"X-Request-Id: <a>\r\n"}, std::string{"X-Request-Id: \"a\"\r\n"},
        std::string{"X-Request-Id: a\r\nX-Request-Id: b\r\n"},
        "X-Request-Id: " + std::string(129, 'x') + "\r\n"}) {
    fresh.insert(choose(lines, true));
  }
  EXPECT_EQ(fresh.size(), 8u);
  for (const std::string& id : fresh) {
    EXPECT_EQ(id.size(), 32u);
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  }
  RequestIds one;
  RequestIds other;
  std::array<char, 32> room2;
  EXPECT_NE(one.next(room), other.next(room2));
}

TEST(RequestId, EveryDigitInEveryPlace) {
  RequestIds ids{7};
  std::array<char, 32> room;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<unsigned, 32> seen{};
  for (int i = 0; i < 1000; ++i) {
    const std::string_view id = ids.next(room);
    for (std::size_t place = 0; place < id.size(); ++place) {
      const std::size_t digit = kDigits.find(id[place]);
      ASSERT_NE(digit, std::string_view::npos) << id;
      seen[place] |= 1u << digit;
    }
  }
  for (const unsigned digits : seen) EXPECT_EQ(digits, 0xffffu);
}

}  // namespace
}  // namespace weir::proxy::request_ids_test
