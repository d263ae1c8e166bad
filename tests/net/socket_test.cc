#include "net/socket.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace weir::net::socket_test {
namespace {

TEST(SocketAddress, prints_what_it_is) {
  EXPECT_EQ(SocketAddress::tcp(*Address::parse("10.1.2.3"), 80).to_string(), "10.1.2.3:80");
  EXPECT_EQ(SocketAddress::tcp(*Address::parse("2001:db8::1"), 80).to_string(), "[2001:db8::1]:80");
  EXPECT_EQ(SocketAddress::unix_path("/run/a.sock")->to_string(), "unix:/run/a.sock");
  EXPECT_FALSE(SocketAddress::unix_path(std::string(108, 'x')));
  EXPECT_FALSE(SocketAddress::unix_path(""));
}

TEST(OpenListeners, workers_share_a_port_that_was_chosen_once) {
  auto fds = open_listeners(SocketAddress::tcp(*Address::parse("127.0.0.1"), 0), 3);
  ASSERT_TRUE(fds);
  ASSERT_EQ(fds->size(), 3u);
  const auto port = SocketAddress::of_socket((*fds)[0].get())->port();
  EXPECT_NE(port, 0);
  EXPECT_EQ(SocketAddress::of_socket((*fds)[2].get())->port(), port);
}

TEST(OpenListeners, ipv6_listens_for_both_families) {
  auto fds = open_listeners(SocketAddress::tcp(*Address::parse("::"), 0), 1);
  if (!fds) {  // a machine without IPv6: then it says so, and for no other reason
    EXPECT_NE(fds.error().message().find(std::strerror(EAFNOSUPPORT)), std::string::npos)
        << fds.error().message();
    return;
  }
  const auto port = SocketAddress::of_socket((*fds)[0].get())->port();
  const auto v4 = SocketAddress::tcp(*Address::parse("127.0.0.1"), port);
  const auto fd = make_socket(v4);
  ASSERT_TRUE(fd);
  EXPECT_EQ(begin_connect(fd->get(), v4), 0);
  EXPECT_EQ(socket_error(fd->get()), 0);
}

TEST(OpenListeners, says_why_it_cannot) {
  const auto fds = open_listeners(SocketAddress::tcp(*Address::parse("203.0.113.1"), 1), 1);
  ASSERT_FALSE(fds);
  EXPECT_EQ(fds.error().value(), EADDRNOTAVAIL);
}

TEST(OpenListeners, a_stale_socket_file_is_replaced_a_live_one_and_a_plain_file_are_not) {
  const std::string path = ::testing::TempDir() + "weir-socket-" + std::to_string(::getpid());
  const auto address = *SocketAddress::unix_path(path);
  {
    auto first = open_listeners(address, 2, 0600);
    ASSERT_TRUE(first);
    struct stat status {};
    ASSERT_EQ(::stat(path.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777u, 0600u);
    EXPECT_FALSE(open_listeners(address, 1));
  }
  EXPECT_TRUE(open_listeners(address, 1));  // closed, but the file is still there
  ::unlink(path.c_str());
  std::ofstream(path) << "precious";
  EXPECT_FALSE(open_listeners(address, 1));
  EXPECT_EQ(::access(path.c_str(), F_OK), 0);
  ::unlink(path.c_str());
}

TEST(StartConnect, a_refused_connection_shows_at_once_or_by_its_error) {
  auto fds = open_listeners(SocketAddress::tcp(*Address::parse("127.0.0.1"), 0), 1);
  const auto address = *SocketAddress::of_socket(fds->front().get());
  fds->clear();
  const auto fd = make_socket(address);
  ASSERT_TRUE(fd);
  const int error = begin_connect(fd->get(), address);
  EXPECT_EQ(error != 0 ? error : socket_error(fd->get()), ECONNREFUSED);
}

}  // namespace
}  // namespace weir::net::socket_test
