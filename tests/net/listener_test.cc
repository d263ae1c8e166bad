#include "net/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <boost/asio/io_context.hpp>
#include <utility>

#include "net/reactor.h"
#include "net/socket.h"

namespace weir::net::listener_test {
namespace {

/// Makes the next connection whenever one is accepted.
struct Flood final : AcceptHandler {
  void connect() {
    auto fd = make_socket(address);
    ASSERT_TRUE(fd);
    begin_connect(fd->get(), address);  // the kernel completes it, and keeps it when it is closed
  }
  void on_accept(Fd /*fd*/, const Address& /*peer*/) override {
    if (++accepted < 3 * kBacklog) connect();
  }
  SocketAddress address;
  int accepted = 0;
};

TEST(Listener, a_flood_does_not_keep_it_from_stopping) {
  boost::asio::io_context io;
  Reactor reactor(io);
  auto fds = open_listeners(SocketAddress::tcp(Address::loopback(), 0), 1);
  ASSERT_TRUE(fds);
  Flood flood;
  flood.address = *SocketAddress::of_socket(fds->front().get());
  Listener listener(reactor, std::move(fds->front()), flood);
  ASSERT_TRUE(listener.start());
  flood.connect();
  listener.stop();
  EXPECT_GE(flood.accepted, 1);
  EXPECT_LE(flood.accepted, kBacklog);
}

}  // namespace
}  // namespace weir::net::listener_test
