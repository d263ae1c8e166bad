// Whatever a peer of the gRPC door sends, in whatever pieces: it ends by itself or with its peer,
// and keeps nothing.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "net/grpc/server.h"
#include "net/socket.h"
#include "telemetry/metrics.h"

namespace {

using namespace weir;

struct Echo final : net::grpc::Method {
  std::string_view path() const noexcept override { return "/test.Test/Echo"; }
  void start(net::grpc::Call& call, TimePoint /*now*/) override { call.complete(call.message()); }
};

/// A worker whose loop is turned by hand.
struct World {
  World() {
    where = "/tmp/weir-fuzz-grpc-" + std::to_string(::getpid()) + ".sock";
    worker.blocks().set_limit(std::size_t{8} << 20);
    settings.buffer_bytes = 4 << 20;
    server = std::make_unique<net::grpc::Server>(worker, settings, metrics.cells(0));
    server->add(echo);
    auto fds = net::open_listeners(*net::SocketAddress::unix_path(where), 1);
    if (!fds || !server->listen(std::move(fds->front()))) std::abort();
    worker.reactor().start();
  }
  ~World() { ::unlink(where.c_str()); }
  void turn() {
    for (int i = 0; i < 4; ++i) worker.io().poll();
  }

  std::string where;
  Echo echo;
  net::Worker worker{0};
  telemetry::Metrics metrics{1};
  net::grpc::Settings settings;
  std::unique_ptr<net::grpc::Server> server;
};

void discard(int fd) {
  char bytes[65536];
  while (::recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) > 0) {
  }
}

}  // namespace

/// The first byte chooses the pieces, and whether the client's preface comes first.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  if (size == 0) return 0;
  std::string bytes = (data[0] & 1) != 0 ? "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" : "";
  bytes.append(reinterpret_cast<const char*>(data + 1), size - 1);
  const std::size_t piece = data[0] < 2 ? bytes.size() : data[0] / 2U;
  {
    const net::Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, world.where.data(), world.where.size());
    if (::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) std::abort();
    for (std::size_t at = 0; at < bytes.size(); at += piece) {
      const std::size_t n = std::min(piece, bytes.size() - at);
      if (::send(fd.get(), bytes.data() + at, n, MSG_NOSIGNAL | MSG_DONTWAIT) <= 0) break;
      world.turn();
      discard(fd.get());
    }
  }
  for (int i = 0; i < 50 && world.server->open_connections() != 0; ++i) world.turn();
  if (world.server->open_connections() != 0 || world.server->kept_bytes() != 0 ||
      world.worker.blocks().in_use() != 0) {
    std::fprintf(stderr, "something is kept of a peer that has left\n");
    std::abort();
  }
  return 0;
}
