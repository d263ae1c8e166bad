#include "authz/health_service.h"

#include <algorithm>

#include "grpc/health/v1/health.pb.h"

namespace weir::authz {

using net::grpc::Status;

void HealthService::start(net::grpc::Call& call, TimePoint /*now*/) {
  messages_.clear();
  auto& request = messages_.make<::grpc::health::v1::HealthCheckRequest>();
  const std::string_view bytes = call.message();
  if (!request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return call.fail(Status::internal, "the message is no HealthCheckRequest");
  }
  const std::string_view name = request.service();
  const bool known = name.empty() || name == kName ||
                     std::find(services_.begin(), services_.end(), name) != services_.end();
  if (!known) return call.fail(Status::not_found, "no such service here");
  auto& response = messages_.make<::grpc::health::v1::HealthCheckResponse>();
  response.set_status(serving_ ? ::grpc::health::v1::HealthCheckResponse::SERVING
                               : ::grpc::health::v1::HealthCheckResponse::NOT_SERVING);
  messages_.complete(call, response);
}

}  // namespace weir::authz
