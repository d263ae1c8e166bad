#include "net/connection_list.h"

#include <gmock/gmock.h>

#include <vector>

namespace weir::net::connection_list_test {
namespace {

using testing::ElementsAre;

struct Site {
  int made = 0;
};

class Client {
 public:
  explicit Client(Site& site) : number(++site.made) {}
  const int number;

 private:
  friend ConnectionList<Client>;
  ConnectionLink<Client> link_;
};

struct ConnectionListTest : testing::Test {
  ~ConnectionListTest() override {
    while (all.size() != 0) all.close(*all.newest());
    all.reclaim();
    all.clear();
  }
  Client& open() {
    Client* const one = all.take(site);
    all.open(*one);
    return *one;
  }
  std::vector<int> from_newest() const {
    std::vector<int> out;
    for (const Client* c = all.newest(); c != nullptr; c = all.older_than(*c))
      out.push_back(c->number);
    return out;
  }
  std::vector<int> from_oldest() const {
    std::vector<int> out;
    for (const Client* c = all.oldest(); c != nullptr; c = all.newer_than(*c))
      out.push_back(c->number);
    return out;
  }

  Site site;
  ConnectionList<Client> all;
};

TEST_F(ConnectionListTest, KeepsTheOrderOfOpening) {
  Client& first = open();
  Client& second = open();
  open();
  EXPECT_THAT(from_newest(), ElementsAre(3, 2, 1));
  all.renew(second);
  EXPECT_THAT(from_newest(), ElementsAre(2, 3, 1));
  EXPECT_THAT(from_oldest(), ElementsAre(1, 3, 2));
  all.close(first);
  EXPECT_THAT(from_oldest(), ElementsAre(3, 2));
  EXPECT_THAT(from_newest(), ElementsAre(2, 3));
  EXPECT_EQ(all.size(), 2U);
}

TEST_F(ConnectionListTest, UsesAClosedOneAgainAfterTheTurn) {
  all.close(open());
  EXPECT_EQ(open().number, 2) << "events of the turn may still name the first";
  std::vector<int> ended;
  all.reclaim([&](const Client& one) { ended.push_back(one.number); });
  EXPECT_THAT(ended, ElementsAre(1));
  EXPECT_EQ(open().number, 1);
  EXPECT_THAT(from_oldest(), ElementsAre(2, 1));
}

TEST_F(ConnectionListTest, StepsOverAllAlsoWhenAStepClosesOthers) {
  Client& first = open();
  open();
  open();
  std::vector<int> seen;
  all.for_each_open([&](Client& one) {
    seen.push_back(one.number);
    if (&one == all.newest()) all.close(first);
  });
  EXPECT_THAT(seen, ElementsAre(3, 2, 1));
  EXPECT_THAT(from_oldest(), ElementsAre(2, 3));
}

}  // namespace
}  // namespace weir::net::connection_list_test
