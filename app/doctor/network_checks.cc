#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "app/doctor/checks.h"
#include "app/doctor/writing.h"
#include "app/doors/doors.h"
#include "app/doors/listeners.h"
#include "app/doors/settings.h"
#include "app/support/http_client.h"
#include "core/text.h"
#include "net/fd.h"

namespace weir::app::doctor {
namespace {

constexpr milliseconds kConnect{1'000};
constexpr unsigned kWidestV4 = 8, kWidestV6 = 7;  // no network of one's own is wider

std::string shown(const config::Endpoint& at) {
  if (at.is_unix()) return "unix:" + at.path;
  return (at.host.find(':') != std::string::npos ? "[" + at.host + "]" : at.host) + ":" +
         std::to_string(at.port);
}

std::string reason(int error) { return std::generic_category().message(error); }

/// 0: a process accepts the connection; else an errno.
int try_to_connect(const net::SocketAddress& address) {
  const auto fd = net::start_connect(address);
  if (!fd) return fd.error().value();
  pollfd one{fd->get(), POLLOUT, 0};
  if (::poll(&one, 1, static_cast<int>(kConnect.count())) <= 0) return ETIMEDOUT;
  return net::socket_error(fd->get());
}

/// As is_taken() of app/doors/settings.h. 0: free, else the errno of binding.
int try_to_bind(const net::SocketAddress& address) {
  const net::Fd fd(::socket(address.raw()->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!fd) return errno;
  const int one = 1, zero = 0;
  ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
  if (address.raw()->sa_family == AF_INET6) {
    ::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
  }
  return ::bind(fd.get(), address.raw(), address.size()) == 0 ? 0 : errno;
}

/// The weir of this configuration that runs: it has the address of `health`. 0: there is none.
std::int64_t running_weir(const config::Endpoint& health) {
  const auto listener = health.is_unix() ? listener_of(health.path) : listener_of(health.port);
  return listener && listener->name.starts_with("weir") ? listener->pid : 0;
}

/// Checks, for each door of weir, whether it may listen at its configured address.
class DoorCheck {
 public:
  /// `running`: as running_weir() says.
  DoorCheck(std::int64_t running, Findings& out) : running_(running), out_(out) {}

  void look(const char* door, const config::Endpoint& at) {
    door_ = door;
    what_ = std::string(door) + " " + shown(at);
    if (at.is_unix()) return look_at_socket(at.path);
    std::string why;
    const auto address = resolve(at.host, at.port, &why);
    if (!address) return wrong_address(why.empty() ? address.error().message() : why);
    const int error = try_to_bind(*address);
    if (error == 0) return out_.ok("ports", what_ + " is free");
    if (error == EADDRINUSE) return taken_by(listener_of(at.port));
    if (error != EACCES) return wrong_address(reason(error));
    out_.problem("ports", what_ + ": ports below 1024 are the system's",
                 "listen on a port above 1023, and let the Service or a redirect do the rest");
  }

 private:
  void look_at_socket(const std::string& path) {
    std::error_code failed;
    const auto type = std::filesystem::status(path, failed).type();
    if (type == std::filesystem::file_type::socket) {
      const auto address = net::SocketAddress::unix_path(path);
      if (address && try_to_connect(*address) == 0) return taken_by(listener_of(path));
    } else if (std::filesystem::exists(path, failed)) {
      return out_.problem("ports", what_ + ": a file that is not a socket has that name",
                          "remove it, or choose another path");
    }
    std::string directory = std::filesystem::path(path).parent_path().string();
    if (directory.empty()) directory = ".";
    const int failure = try_to_write_in(directory);
    if (failure == 0) return out_.ok("ports", what_ + ": the directory can be written");
    out_.problem("ports", what_ + ": " + reason(failure),
                 "the socket is made there: make the directory, or give user " +
                     std::to_string(::geteuid()) + " the right to write to it");
  }

  void taken_by(const std::optional<ListeningProcess>& listener) {
    std::string who = "a process that can't be seen from here";
    if (listener && listener->pid != 0) {
      who = listener->name + " (pid " + std::to_string(listener->pid) + ")";
      if (listener->pid == running_)
        return out_.ok("ports", what_ + " is taken by " + who + ", which runs");
    }
    out_.problem("ports", what_ + " is taken by " + who,
                 "end that process, or listen on another port (" + std::string(door_) + ".listen)");
  }

  void wrong_address(const std::string& why) {
    out_.problem("ports", what_ + ": " + why, "name an address of this machine");
  }

  std::int64_t running_;
  Findings& out_;
  const char* door_ = "";
  std::string what_;
};

bool is_loopback(const config::Endpoint& at) {
  const auto address = Address::parse(at.host);
  return at.host == "localhost" || (address && address->is_loopback());
}

/// No proxy of its own: only other proxies ask.
bool only_answers(const config::Server& server) {
  return !server.proxy.upstream && is_asked(server);
}

/// Networks that are wider than any network of one's own. True: there is one.
bool check_width(const char* setting, const std::vector<Cidr>& trust, Findings& out) {
  bool wide = false;
  for (const Cidr& block : trust) {
    const unsigned widest = block.base.is_v4() ? kWidestV4 : kWidestV6;
    if (block.bits >= widest) continue;
    wide = true;
    out.problem("trust",
                std::string(setting) + " has " + block.base.to_string() + "/" +
                    std::to_string(block.bits) +
                    ": that trusts the whole internet, and any client can choose its address",
                "name the networks of your load balancers alone, such as 10.0.0.0/8");
  }
  return wide;
}

/// Checks the trusted networks of the proxy door.
void check_proxy_trust(const config::Server::Proxy& proxy, Findings& out) {
  if (check_width("client_ip.trust", proxy.trust, out)) return;
  if (!proxy.trust.empty()) {
    return out.ok("trust", counted(proxy.trust.size(), "network is", "networks are") +
                               " believed about " + proxy.client_header);
  }
  if (proxy.client_header != "x-forwarded-for") {
    return out.warning(
        "trust", "client_ip.header is " + proxy.client_header + ", and nobody is trusted to set it",
        "name the networks of your load balancers in client_ip.trust");
  }
  out.ok("trust",
         "nobody is trusted: the peer's address counts. Behind a load balancer "
         "that is the balancer's: then name its networks in client_ip.trust");
}

/// Doors where proxies ask: a caller of such a door names the client of the request.
void check_door_trust(const config::Server& server, Findings& out) {
  if (check_width("authz.client_ip.trust", server.authz.trust, out)) return;
  if (is_asked(server) && server.authz.client_header != "x-forwarded-for") {
    out.ok("trust", "authz.client_ip.header is " + server.authz.client_header +
                        ": the proxy that asks must overwrite what a client sends in it, or "
                        "clients choose the address that is counted");
  }
  const auto& grpc = server.grpc;
  if (grpc.none || !grpc.listen || grpc.listen->value.is_unix() || is_loopback(grpc.listen->value))
    return;
  const std::string what = "grpc.listen is " + shown(grpc.listen->value);
  if (grpc.tls && grpc.tls->client_ca)
    return out.ok("trust", what + ", for peers with a certificate of grpc.tls.client_ca");
  out.warning("trust",
              what + ", for whoever reaches it: each peer says whose request it asks about",
              "let only your proxies reach it (a NetworkPolicy, a firewall), or ask for "
              "certificates: grpc.tls.client_ca");
}

}  // namespace

void check_trust(const config::Server& server, Findings& out) {
  if (!only_answers(server)) check_proxy_trust(server.proxy, out);
  check_door_trust(server, out);
}

void check_upstream(const config::Server& server, Findings& out) {
  if (only_answers(server)) {
    return out.ok(
        "upstream",
        "no proxy.upstream: weir answers questions of other proxies, and passes nothing on");
  }
  if (!server.proxy.upstream) {
    return out.problem("upstream", "proxy.upstream is missing",
                       "say where the app is: proxy: {upstream: http://127.0.0.1:3000}");
  }
  const config::Endpoint& at = server.proxy.upstream->value;
  std::string why;
  const auto address =
      at.is_unix() ? net::SocketAddress::unix_path(at.path) : resolve(at.host, at.port, &why);
  if (!address) {
    return out.problem(
        "upstream",
        "can't resolve " + shown(at) + ": " + (why.empty() ? address.error().message() : why),
        "requests get 503 until it resolves: fix the name, or the resolver of this machine "
        "(/etc/resolv.conf)");
  }
  const std::string where =
      address->to_string() == shown(at) ? shown(at) : shown(at) + " is " + address->to_string();
  if (const int error = try_to_connect(*address); error != 0) {
    return out.warning("upstream", where + ", and does not accept: " + reason(error),
                       "start the app; until then requests get 503");
  }
  out.ok("upstream", where + ", and accepts");
}

bool check_ports(const config::Server& server, Findings& out) {
  const std::int64_t running = running_weir(server.health.listen.value);
  DoorCheck doors(running, out);
  if (!only_answers(server)) doors.look("proxy", server.proxy.listen.value);
  doors.look("admin", server.admin.listen.value);
  doors.look("health", server.health.listen.value);
  if (server.api.listen && !server.api.none) doors.look("api", server.api.listen->value);
  for (const DoorRow& row : door_rows()) {
    const DoorAddress door = row.address(server);
    if (door.is_asked_for) doors.look(row.name, *door.at);
  }
  return running != 0;
}

void check_probes(const config::Server& server, bool running, Findings& out) {
  const config::Endpoint& at = server.health.listen.value;
  if (at.is_unix() || is_loopback(at)) {
    out.warning("probes",
                "health.listen is " + shown(at) + ": a kubelet and Prometheus cannot reach it",
                "listen on 0.0.0.0:8482 (nothing there changes anything), or probe by exec: weir "
                "health " +
                    (at.is_unix() ? "unix:" + at.path : "http://" + shown(at) + "/readyz"));
  } else if (!running) {
    out.ok("probes", "health.listen is " + shown(at) + ", which a kubelet can reach");
  }
  if (!running) return;
  std::string why;
  const auto address =
      at.is_unix() ? net::SocketAddress::unix_path(at.path) : resolve(at.host, at.port, &why);
  for (const char* path : {"/livez", "/readyz"}) {
    if (!address) break;
    const auto answer = http_request(*address, "GET", path, at.is_unix() ? "localhost" : shown(at),
                                     {}, {}, kConnect);
    const std::string asked = std::string(path) + " of the running weir";
    if (!answer) {
      out.problem("probes", asked + ": " + answer.error().message(),
                  "its control thread is stuck, or another process has the port");
    } else if (answer->status != 200) {
      out.warning("probes", asked + ": status " + std::to_string(answer->status),
                  "ask " + std::string(path) + "?verbose why");
    } else {
      out.ok("probes", asked + ": 200");
    }
  }
}

}  // namespace weir::app::doctor
