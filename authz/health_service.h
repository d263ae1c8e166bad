#pragma once

#include <cstdint>
#include <list>
#include <string_view>
#include <utility>
#include <vector>

#include "authz/messages.h"
#include "net/grpc/service.h"

namespace weir::authz {

/// `grpc.health.v1.Health`: `Check`, for Envoy's `grpc_health_check` and Kubernetes' gRPC probes,
/// `List`, which gives all of them, and `Watch`, for gRPC clients that balance load by health. The
/// empty name asks for the whole server. A name that is not served here is NOT_FOUND for `Check`,
/// and SERVICE_UNKNOWN for `Watch`, whose call stays open, as the specification wants it. One per
/// worker.
class HealthService final : public net::grpc::Method {
 public:
  static constexpr std::string_view kName = "grpc.health.v1.Health";

  /// `services`: full names, constants.
  explicit HealthService(std::vector<std::string_view> services) : services_(std::move(services)) {}

  /// Adds a service to the reported ones. Before the first call.
  void add(std::string_view service) { services_.push_back(service); }
  /// False: the server is about to end; clients are to go elsewhere. Tells all that watch.
  void serve(bool serving);

  std::string_view path() const noexcept override { return "/grpc.health.v1.Health/Check"; }
  void start(net::grpc::Call& call, TimePoint now) override;
  net::grpc::Method& list() noexcept { return list_; }
  net::grpc::Method& watch() noexcept { return watch_; }

 private:
  struct List final : net::grpc::Method {
    explicit List(HealthService& service) noexcept : service_(service) {}
    std::string_view path() const noexcept override { return "/grpc.health.v1.Health/List"; }
    void start(net::grpc::Call& call, TimePoint now) override;
    HealthService& service_;
  };
  struct Watch final : net::grpc::Method {
    explicit Watch(HealthService& service) noexcept : service_(service) {}
    std::string_view path() const noexcept override { return "/grpc.health.v1.Health/Watch"; }
    void start(net::grpc::Call& call, TimePoint now) override;
    HealthService& service_;
  };
  /// One open `Watch`.
  struct Watcher final : net::grpc::Pending {
    Watcher(HealthService& service, net::grpc::Call& call, bool known) noexcept
        : service_(service), call_(call), known_(known) {}
    void cancelled(TimePoint now) override;
    HealthService& service_;
    net::grpc::Call& call_;
    bool known_;
    std::list<Watcher>::iterator at_{};
  };
  enum class Asked : std::uint8_t { known, unknown, failed };

  /// `failed`: the message is no question, and the call has failed.
  Asked read(net::grpc::Call& call);
  void tell(Watcher& watcher);

  std::vector<std::string_view> services_;
  std::list<Watcher> watchers_;
  List list_{*this};
  Watch watch_{*this};
  Messages messages_;
  bool serving_ = true;
};

}  // namespace weir::authz
