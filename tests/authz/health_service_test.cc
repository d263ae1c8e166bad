#include "authz/health_service.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "grpc/health/v1/health.pb.h"
#include "tests/authz/fake_call.h"

namespace weir::authz::health_service_test {
namespace {

using ::grpc::health::v1::HealthCheckRequest;
using ::grpc::health::v1::HealthCheckResponse;
using ::grpc::health::v1::HealthListResponse;

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

std::vector<HealthCheckResponse::ServingStatus> statuses_of(const FakeCall& call) {
  std::vector<HealthCheckResponse::ServingStatus> out;
  for (const std::string& message : call.sent) {
    HealthCheckResponse response;
    EXPECT_TRUE(response.ParseFromString(message));
    out.push_back(response.status());
  }
  return out;
}

TEST(HealthService, StreamsTheStatusAndItsChangesToWatchers) {
  HealthService service({"a.B"});
  HealthCheckRequest request;
  FakeCall whole(request.SerializeAsString());
  request.set_service("a.B");
  FakeCall known(request.SerializeAsString());
  request.set_service("a.C");
  FakeCall unknown(request.SerializeAsString());
  for (FakeCall* call : {&whole, &known, &unknown}) service.watch().start(*call, TimePoint{});
  EXPECT_EQ(statuses_of(known), std::vector{HealthCheckResponse::SERVING});
  EXPECT_EQ(statuses_of(unknown), std::vector{HealthCheckResponse::SERVICE_UNKNOWN});
  service.serve(true);
  EXPECT_EQ(known.sent.size(), 1U) << "nothing has changed";
  known.pending->cancelled(TimePoint{});
  service.serve(false);
  service.serve(true);
  EXPECT_EQ(statuses_of(whole),
            (std::vector{HealthCheckResponse::SERVING, HealthCheckResponse::NOT_SERVING,
                         HealthCheckResponse::SERVING}));
  EXPECT_EQ(known.sent.size(), 1U);
  EXPECT_EQ(unknown.sent.size(), 1U);
  EXPECT_FALSE(whole.done() || unknown.done()) << "they stay open";
}

TEST(HealthService, ListsTheStatusOfAllServices) {
  HealthService service({"a.B"});
  service.serve(false);
  FakeCall call("");
  service.list().start(call, TimePoint{});
  HealthListResponse response;
  ASSERT_TRUE(call.answer && response.ParseFromString(*call.answer));
  EXPECT_EQ(response.statuses_size(), 3);
  for (const char* name : {"", "a.B", "grpc.health.v1.Health"}) {
    EXPECT_EQ(response.statuses().at(name).status(), HealthCheckResponse::NOT_SERVING) << name;
  }
}

TEST(HealthService, SaysSoOfAMessageThatIsNone) {
  HealthService service({});
  FakeCall call("\x0A\x7F");
  service.start(call, TimePoint{});
  EXPECT_EQ(call.failed, net::grpc::Status::internal);
  FakeCall watch("\x0A\x7F");
  service.watch().start(watch, TimePoint{});
  EXPECT_EQ(watch.failed, net::grpc::Status::internal);
}

}  // namespace
}  // namespace weir::authz::health_service_test
