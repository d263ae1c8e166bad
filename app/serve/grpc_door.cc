#include "app/serve/grpc_door.h"

#include <algorithm>
#include <utility>

#include "app/serve/door_settings.h"

namespace weir::app {
namespace {

// Calls of one connection keep a block each at least.
constexpr std::uint64_t kBytesOfCall = 8 << 10;
constexpr std::uint32_t kStreamsLeast = 100;

}  // namespace

GrpcDoor::GrpcDoor(const config::Server& server, std::uint64_t buffers,
                   std::uint64_t connections_max, telemetry::RuleStats& of_rules,
                   std::shared_ptr<const net::TlsContext> certificates)
    : connections(connections_max), checks(check_rules(server)), rules(of_rules) {
  // Half of them: the other half is always left to the proxy.
  settings.buffer_bytes = buffers / 2;
  settings.message_bytes = std::min<std::uint64_t>(server.grpc.message, buffers / 4);
  settings.streams = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      settings.buffer_bytes / kBytesOfCall, kStreamsLeast, settings.streams));
  settings.connections = &connections;
  settings.age = server.grpc.connection_age;
  if (certificates == nullptr) return;
  tls.emplace(std::move(certificates));
  settings.tls = &*tls;
}

GrpcWorker::GrpcWorker(net::Worker& in, GrpcDoor& door, gate::Gate& gate,
                       gate::Unsettled& unsettled, telemetry::MetricCells& cells)
    : health_({}),
      checks_(door.checks, gate, unsettled, in.wheel(), cells),
      rate_limits_(gate, cells, door.rules),
      server_(in, door.settings, cells) {
  server_.add(health_);
  add(checks_);
  add(rate_limits_);
}

void GrpcWorker::add(net::grpc::Method& method) {
  server_.add(method);
  const std::string_view path = method.path().substr(1);
  health_.add(path.substr(0, path.find('/')));
}

void GrpcWorker::begin_drain(bool draining) {
  health_.serve(!draining);
  if (draining) server_.begin_drain();
}

}  // namespace weir::app
