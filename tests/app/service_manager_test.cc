#include "app/serve/service_manager.h"

#include <gmock/gmock.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <map>

#include "tests/app/scratch.h"

namespace weir::app::service_manager_test {
namespace {

std::map<std::string, std::string> variables;  // read by fake_getenv

const char* fake_getenv(const char* name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : found->second.c_str();
}

ServiceSettings settings_of(std::map<std::string, std::string> environment) {
  variables = std::move(environment);
  return service_settings(fake_getenv, 42);
}

TEST(ServiceManager, reads_what_the_manager_says) {
  EXPECT_EQ(settings_of({}).socket, "");
  EXPECT_EQ(settings_of({{"NOTIFY_SOCKET", "relative"}}).socket, "");
  EXPECT_EQ(settings_of({{"NOTIFY_SOCKET", "@name"}}).socket, "@name");
  struct Case {
    const char *usec, *pid;
    std::optional<milliseconds> watchdog;
  };
  const Case kCases[] = {
      {"30000000", "42", milliseconds{30'000}},
      {"30000000", "", std::nullopt},     // an empty number is none of ours
      {"30000000", "43", std::nullopt},   // meant for another process
      {"30000000 ", "42", std::nullopt},  // no number
      {"99999", "42", std::nullopt},      // too short to be told from a busy loop
      {"-1", "42", std::nullopt},
      {"", "42", std::nullopt},
  };
  for (const Case& c : kCases) {
    const auto settings = settings_of(
        {{"NOTIFY_SOCKET", "/run/n"}, {"WATCHDOG_USEC", c.usec}, {"WATCHDOG_PID", c.pid}});
    EXPECT_EQ(settings.watchdog, c.watchdog) << c.usec << c.pid;
  }
  EXPECT_EQ(settings_of({{"NOTIFY_SOCKET", "/run/n"}, {"WATCHDOG_USEC", "2000000"}}).watchdog,
            milliseconds{2'000});
  EXPECT_EQ(settings_of({{"WATCHDOG_USEC", "2000000"}}).watchdog, std::nullopt);  // no one to tell
}

/// The manager's end of the socket.
struct Listener {
  explicit Listener(const std::string& address) : fd(::socket(AF_UNIX, SOCK_DGRAM, 0)) {
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    std::memcpy(at.sun_path, address.data(), address.size());
    const bool is_abstract = address.front() == '@';
    if (is_abstract) at.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() +
                                             (is_abstract ? 0 : 1));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), size), 0);
  }
  std::string next() const {
    char room[512];
    const ssize_t size = ::recv(fd.get(), room, sizeof room, MSG_DONTWAIT);
    return size < 0 ? "(nothing)" : std::string(room, static_cast<std::size_t>(size));
  }
  net::Fd fd;
};

TEST(ServiceManager, says_the_words_of_sd_notify) {
  const Scratch scratch;
  const std::string path = scratch.path() + "/notify";
  for (const std::string& address : {path, "@weir-test-" + std::to_string(::getpid())}) {
    const Listener listener(address);
    ServiceManager manager({address, milliseconds{3'000}});
    EXPECT_TRUE(manager.listens());
    EXPECT_EQ(manager.watchdog(), milliseconds{3'000});
    manager.ready("serving, 3 policies\nWATCHDOG=trigger");
    EXPECT_EQ(listener.next(), "READY=1\nSTATUS=serving, 3 policies WATCHDOG=trigger");
    manager.reloading();
    EXPECT_THAT(listener.next(),
                testing::MatchesRegex("RELOADING=1\nMONOTONIC_USEC=[0-9]+\nSTATUS=reloading"));
    manager.alive();
    EXPECT_EQ(listener.next(), "WATCHDOG=1");
    manager.stopping("draining", milliseconds{35'000});
    EXPECT_EQ(listener.next(), "STOPPING=1\nEXTEND_TIMEOUT_USEC=35000000\nSTATUS=draining");
    EXPECT_EQ(listener.next(), "(nothing)");
  }
}

TEST(ServiceManager, goes_on_without_a_listener) {
  for (const std::string& address :
       {std::string(), std::string("@"), std::string("/nowhere/notify"), std::string(200, 'x')}) {
    ServiceManager manager({address, milliseconds{3'000}});
    manager.ready("serving");
    manager.alive();
  }
  EXPECT_FALSE(ServiceManager({"", milliseconds{3'000}}).listens());
  EXPECT_EQ(ServiceManager({"/" + std::string(200, 'x'), milliseconds{3'000}}).watchdog(),
            std::nullopt);
}

}  // namespace
}  // namespace weir::app::service_manager_test
