#include "authz/health_service.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "grpc/health/v1/health.pb.h"

namespace weir::authz {

using ::grpc::health::v1::HealthCheckResponse;
using net::grpc::Status;

namespace {

HealthCheckResponse::ServingStatus status_of(bool serving) noexcept {
  return serving ? HealthCheckResponse::SERVING : HealthCheckResponse::NOT_SERVING;
}

}  // namespace

HealthService::Asked HealthService::read(net::grpc::Call& call) {
  messages_.clear();
  auto& request = messages_.make<::grpc::health::v1::HealthCheckRequest>();
  const std::string_view bytes = call.message();
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    messages_.clear();
    call.fail(Status::internal, "the message is not a HealthCheckRequest");
    return Asked::failed;
  }
  const std::string_view name = request.service();
  const bool known = name.empty() || name == kName ||
                     std::find(services_.begin(), services_.end(), name) != services_.end();
  messages_.clear();  // the name may be long
  return known ? Asked::known : Asked::unknown;
}

void HealthService::start(net::grpc::Call& call, TimePoint /*now*/) {
  const Asked asked = read(call);
  if (asked == Asked::failed) return;
  if (asked == Asked::unknown) return call.fail(Status::not_found, "no such service here");
  auto& response = messages_.make<HealthCheckResponse>();
  response.set_status(status_of(serving_));
  messages_.complete(call, response);
}

void HealthService::List::start(net::grpc::Call& call, TimePoint /*now*/) {
  service_.messages_.clear();
  auto& response = service_.messages_.make<::grpc::health::v1::HealthListResponse>();
  const auto put = [&](std::string_view name) {
    (*response.mutable_statuses())[std::string(name)].set_status(status_of(service_.serving_));
  };
  put({});
  put(kName);
  for (const std::string_view name : service_.services_) put(name);
  service_.messages_.complete(call, response);
}

void HealthService::Watch::start(net::grpc::Call& call, TimePoint /*now*/) {
  const Asked asked = service_.read(call);
  if (asked == Asked::failed) return;
  std::list<Watcher>& watchers = service_.watchers_;
  Watcher& watcher = watchers.emplace_back(service_, call, asked == Asked::known);
  watcher.at_ = std::prev(watchers.end());
  call.wait_with(watcher);
  service_.tell(watcher);
}

void HealthService::Watcher::cancelled(TimePoint /*now*/) {
  service_.watchers_.erase(at_);  // this object is gone
}

void HealthService::tell(Watcher& watcher) {
  messages_.clear();
  auto& response = messages_.make<HealthCheckResponse>();
  response.set_status(watcher.known_ ? status_of(serving_) : HealthCheckResponse::SERVICE_UNKNOWN);
  messages_.send(watcher.call_, response);
}

void HealthService::serve(bool serving) {
  if (serving_ == serving) return;
  serving_ = serving;
  for (Watcher& watcher : watchers_) {
    if (watcher.known_) tell(watcher);
  }
}

}  // namespace weir::authz
