#include "app/serve/upstream_names.h"

#include <gtest/gtest.h>

#include <utility>

namespace weir::app::upstream_names_test {
namespace {

using std::chrono::seconds;

UpstreamNames::Found next;  // the answer of the system
int asked = 0;

UpstreamNames::Found say(const std::string& host, std::uint16_t port) {
  EXPECT_EQ(host, "app.example");
  EXPECT_EQ(port, 3000);
  ++asked;
  return next;
}

net::SocketAddress at(const char* text) {
  return net::SocketAddress::tcp(*Address::parse(text), 3000);
}

UpstreamNames::Found found(std::initializer_list<const char*> addresses) {
  UpstreamNames::Found out;
  for (const char* const address : addresses) out.addresses.push_back(at(address));
  return out;
}

struct Names : ::testing::Test {
  Names() {
    asked = 0;
    next = {{}, "can't resolve app.example: away"};
  }
  UpstreamNames names(RunBeside run = [](const std::function<void()>& f) { f(); }) {
    return UpstreamNames({"app.example", 3000, ""}, say, std::move(run));
  }
  TimePoint now{seconds(100)};
};

TEST_F(Names, an_address_is_no_name) {
  UpstreamNames one({"192.0.2.1", 80, ""}, say);
  one.begin(now, seconds(1));
  EXPECT_FALSE(one.tick(now + seconds(100)));
  ASSERT_EQ(one.addresses().size(), 1u);
  EXPECT_EQ(one.addresses()[0].to_string(), "192.0.2.1:80");
  EXPECT_EQ(asked, 0);
}

TEST_F(Names, an_unknown_name_is_asked_for_every_second_and_taken_when_it_is_known) {
  auto it = names();
  it.begin(now, seconds(1));
  EXPECT_EQ(it.why_not(), "can't resolve app.example: away");
  EXPECT_TRUE(it.addresses().empty());
  EXPECT_FALSE(it.tick(now + seconds(1)));
  EXPECT_EQ(asked, 2);
  next = found({"192.0.2.1"});
  EXPECT_FALSE(it.tick(now + seconds(2)));  // hears the second answer, asks again
  EXPECT_TRUE(it.tick(now + seconds(3)));
  EXPECT_EQ(it.why_not(), "");
  EXPECT_EQ(it.addresses().size(), 1u);
}

TEST_F(Names, a_name_is_asked_for_again_every_ten_seconds) {
  next = found({"192.0.2.1", "192.0.2.2"});
  auto it = names();
  it.begin(now, seconds(1));
  EXPECT_EQ(it.addresses().size(), 2u);
  for (int s = 1; s < 10; ++s) EXPECT_FALSE(it.tick(now + seconds(s)));
  EXPECT_EQ(asked, 1);
  next = found({"192.0.2.2", "192.0.2.1"});
  EXPECT_FALSE(it.tick(now + seconds(10)));
  EXPECT_FALSE(it.tick(now + seconds(11))) << "another order is not news";
  next = found({"192.0.2.3"});
  EXPECT_FALSE(it.tick(now + seconds(20)));
  EXPECT_TRUE(it.tick(now + seconds(21)));
  EXPECT_EQ(it.addresses()[0].to_string(), "192.0.2.3:3000");
}

TEST_F(Names, what_a_name_meant_holds_while_the_resolver_is_away) {
  next = found({"192.0.2.1"});
  auto it = names();
  it.begin(now, seconds(1));
  next = {{}, "can't resolve app.example: away"};
  for (int s = 10; s < 60; ++s) EXPECT_FALSE(it.tick(now + seconds(s)));
  EXPECT_GT(asked, 2);
  EXPECT_EQ(it.addresses().size(), 1u);
  EXPECT_EQ(it.why_not(), "");
}

TEST_F(Names, a_resolver_that_is_silent_holds_up_nothing) {
  std::vector<std::function<void()>> waiting;
  auto it = names([&](std::function<void()> f) { waiting.push_back(std::move(f)); });
  it.begin(now, milliseconds(1));
  EXPECT_EQ(it.why_not(), "can't resolve app.example: no answer yet");
  for (int s = 1; s < 60; ++s) EXPECT_FALSE(it.tick(now + seconds(s)));
  ASSERT_EQ(waiting.size(), 1u) << "one question at a time";
  next = found({"192.0.2.1"});
  waiting[0]();
  EXPECT_TRUE(it.tick(now + seconds(60)));
}

TEST_F(Names, a_thread_that_cannot_be_had_is_asked_for_again) {
  int tries = 0;
  auto it = names([&](const std::function<void()>& f) {
    if (++tries < 3) throw std::bad_alloc();
    f();
  });
  next = found({"192.0.2.1"});
  it.begin(now, seconds(1));
  EXPECT_FALSE(it.tick(now + seconds(1)));
  EXPECT_FALSE(it.tick(now + seconds(2)));
  EXPECT_TRUE(it.tick(now + seconds(3)));
}

TEST_F(Names, no_more_than_16_addresses_are_taken) {
  for (int i = 1; i <= 40; ++i) {
    next.addresses.push_back(at(("192.0.2." + std::to_string(i)).c_str()));
  }
  auto it = names();
  it.begin(now, seconds(1));
  EXPECT_EQ(it.addresses().size(), 16u);
}

TEST_F(Names, the_system_knows_localhost) {
  UpstreamNames it({"localhost", 3000, ""});
  it.begin(now, seconds(20));
  ASSERT_FALSE(it.addresses().empty()) << it.why_not();
  EXPECT_TRUE(it.addresses()[0].is_loopback());
}

}  // namespace
}  // namespace weir::app::upstream_names_test
