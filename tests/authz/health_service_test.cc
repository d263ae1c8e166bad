#include "authz/health_service.h"

#include <gtest/gtest.h>

#include "grpc/health/v1/health.pb.h"
#include "tests/authz/fake_call.h"

namespace weir::authz::health_service_test {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;

FakeCall ask(HealthService& service, const std::string& name) {
  HealthCheckRequest request;
  request.set_service(name);
  FakeCall call(request.SerializeAsString());
  service.start(call, TimePoint{});
  return call;
}

HealthCheckResponse::ServingStatus status_of(const FakeCall& call) {
  HealthCheckResponse response;
  EXPECT_TRUE(call.answer && response.ParseFromString(*call.answer));
  return response.status();
}

TEST(HealthService, ServesUntilTheServerIsAboutToEnd) {
  HealthService service({"a.B"});
  for (const char* name : {"", "a.B", "grpc.health.v1.Health"}) {
    EXPECT_EQ(status_of(ask(service, name)), HealthCheckResponse::SERVING) << name;
  }
  service.serve(false);
  EXPECT_EQ(status_of(ask(service, "a.B")), HealthCheckResponse::NOT_SERVING);
}

TEST(HealthService, DoesNotKnowOtherServices) {
  HealthService service({"a.B"});
  EXPECT_EQ(ask(service, "a.C").failed, net::grpc::Status::not_found);
}

TEST(HealthService, SaysSoOfAMessageThatIsNone) {
  HealthService service({});
  FakeCall call("\x0A\x7F");
  service.start(call, TimePoint{});
  EXPECT_EQ(call.failed, net::grpc::Status::internal);
}

}  // namespace
}  // namespace weir::authz::health_service_test
