#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "app/doctor/checks.h"
#include "app/doctor/listeners.h"
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

/// 0: somebody accepts; else an errno.
int try_to_connect(const net::SocketAddress& address) {
  const auto fd = net::start_connect(address);
  if (!fd) return fd.error().value();
  pollfd one{fd->get(), POLLOUT, 0};
  if (::poll(&one, 1, static_cast<int>(kConnect.count())) <= 0) return ETIMEDOUT;
  return net::socket_error(fd->get());
}

/// As Wiring's is_taken(): 0: free, else the errno of binding.
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

/// True: a weir has it.
bool check_port(const char* door, const config::Endpoint& at, Findings& out) {
  const std::string what = std::string(door) + " " + shown(at);
  if (at.is_unix()) {
    std::string directory = std::filesystem::path(at.path).parent_path().string();
    if (directory.empty()) directory = ".";
    if (::access(directory.c_str(), W_OK) == 0) {
      out.ok("ports", what + ": the directory can be written");
    } else {
      out.problem("ports", what + ": " + reason(errno),
                  "the socket is made there: make the directory, or give user " +
                      std::to_string(::geteuid()) + " the right to write to it");
    }
    return false;
  }
  std::string why;
  const auto address = resolve(at.host, at.port, &why);
  if (!address) {
    out.problem("ports", what + ": " + (why.empty() ? address.error().message() : why),
                "name an address of this machine");
    return false;
  }
  const int error = try_to_bind(*address);
  if (error == 0) {
    out.ok("ports", what + " is free");
    return false;
  }
  if (error == EADDRINUSE) {
    const auto listener = listener_of(at.port);
    std::string who = "a process that can't be seen from here";
    if (listener && listener->pid != 0) {
      who = listener->name + " (pid " + std::to_string(listener->pid) + ")";
      if (listener->name.starts_with("weir")) {
        out.ok("ports", what + " is taken by " + who + ", which runs");
        return true;
      }
    }
    out.problem("ports", what + " is taken by " + who,
                "end that process, or listen on another port (" + std::string(door) + ".listen)");
    return false;
  }
  if (error == EACCES) {
    out.problem("ports", what + ": ports below 1024 are the system's",
                "listen on a port above 1023, and let the Service or a redirect do the rest");
    return false;
  }
  out.problem("ports", what + ": " + reason(error), "name an address of this machine");
  return false;
}

bool is_loopback(const config::Endpoint& at) {
  const auto address = Address::parse(at.host);
  return at.host == "localhost" || (address && address->is_loopback());
}

}  // namespace

void check_trust(const config::Server& server, Findings& out) {
  bool wide = false;
  for (const Cidr& block : server.proxy.trust) {
    const unsigned widest = block.base.is_v4() ? kWidestV4 : kWidestV6;
    if (block.bits >= widest) continue;
    wide = true;
    out.problem("trust",
                "client_ip.trust has " + block.base.to_string() + "/" + std::to_string(block.bits) +
                    ": strangers choose the address that is counted",
                "name the networks of your load balancers alone, such as 10.0.0.0/8");
  }
  if (wide) return;
  if (server.proxy.trust.empty()) {
    if (server.proxy.client_header != "x-forwarded-for") {
      return out.warning(
          "trust",
          "client_ip.header is " + server.proxy.client_header + ", and nobody is trusted to set it",
          "name the networks of your load balancers in client_ip.trust");
    }
    return out.ok("trust",
                  "nobody is trusted: the peer's address counts. Behind a load balancer "
                  "that is the balancer's: then name its networks in client_ip.trust");
  }
  out.ok("trust", counted(server.proxy.trust.size(), "network is", "networks are") +
                      " believed about " + server.proxy.client_header);
}

void check_upstream(const config::Server& server, Findings& out) {
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
        "requests get 503 until it resolves: mend the name, or the resolver of this machine "
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
  bool running = check_port("proxy", server.proxy.listen.value, out);
  running = check_port("admin", server.admin.listen.value, out) || running;
  running = check_port("health", server.health.listen.value, out) || running;
  if (server.api.listen && !server.api.none) {
    running = check_port("api", server.api.listen->value, out) || running;
  }
  return running;
}

void check_probes(const config::Server& server, bool running, Findings& out) {
  const config::Endpoint& at = server.health.listen.value;
  if (at.is_unix() || is_loopback(at)) {
    out.warning("probes",
                "health.listen is " + shown(at) + ": no kubelet and no Prometheus gets there",
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
