// A gRPC server on grpc++ that answers what `scripts/bench doors` asks of weir: Check and
// ShouldRateLimit, each with the same reading and counting, as plainly as one would write it. One
// thread, one completion queue, arenas for messages: the way of grpc++ that costs least. No list,
// no policy, no expression: less than weir does.
//
//   door_server PORT
#include <grpcpp/alarm.h>
#include <grpcpp/generic/async_generic_service.h>
#include <grpcpp/grpcpp.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "envoy/service/auth/v3/external_auth.pb.h"
#include "envoy/service/ratelimit/v3/rls.pb.h"

namespace {

namespace auth = envoy::service::auth::v3;
namespace rls = envoy::service::ratelimit::v3;

constexpr std::string_view kCheck = "/envoy.service.auth.v3.Authorization/Check";
constexpr std::uint64_t kLimit = 4'000'000'000;

/// Counts of keys in windows that are aligned to the epoch.
class Windows {
 public:
  explicit Windows(std::int64_t seconds) : seconds_(seconds) {}
  std::uint64_t add(std::string_view key, std::uint64_t hits, std::int64_t now) {
    Count& count = counts_[std::string(key)];
    if (const std::int64_t window = now / seconds_; count.window != window) count = {window, 0};
    return count.hits += hits;
  }
  std::int64_t left(std::int64_t now) const { return seconds_ - now % seconds_; }

 private:
  struct Count {
    std::int64_t window = 0;
    std::uint64_t hits = 0;
  };
  std::int64_t seconds_;
  std::unordered_map<std::string, Count> counts_;
};

struct State {
  Windows logins{600}, agents{3600}, addresses{3600};
};

std::int64_t now_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

void check(State& state, const auth::CheckRequest& request, auth::CheckResponse& response) {
  const auto& http = request.attributes().request().http();
  const std::int64_t now = now_seconds();
  const auto header = [&](const char* name) {
    const auto found = http.headers().find(name);
    return found == http.headers().end() ? std::string_view() : std::string_view(found->second);
  };
  std::string_view client = header("x-forwarded-for");
  if (const auto comma = client.rfind(','); comma != client.npos) client.remove_prefix(comma + 1);
  if (client.empty()) client = request.attributes().source().address().socket_address().address();
  const std::string_view path = std::string_view(http.path()).substr(0, http.path().find('?'));
  bool over = path == "/login" && state.logins.add(client, 1, now) > kLimit;
  over = state.agents.add(header("user-agent"), 1, now) > kLimit || over;
  response.mutable_status()->set_code(over ? 8 : 0);
  if (over) {
    response.mutable_denied_response()->mutable_status()->set_code(
        static_cast<decltype(response.denied_response().status().code())>(429));
    return;
  }
  auto& ok = *response.mutable_ok_response();
  for (const char* const name : {"x-weir-verdict", "x-weir-policy", "x-weir-score"})
    ok.add_headers_to_remove(name);
}

void should_rate_limit(State& state, const rls::RateLimitRequest& request,
                       rls::RateLimitResponse& response) {
  const std::int64_t now = now_seconds();
  bool any_over = false;
  for (const auto& descriptor : request.descriptors()) {
    std::string key = request.domain();
    for (const auto& entry : descriptor.entries())
      key.append("|").append(entry.key()).append("|").append(entry.value());
    const std::uint64_t count =
        state.addresses.add(key, request.hits_addend() == 0 ? 1 : request.hits_addend(), now);
    const bool over = count > kLimit;
    any_over = any_over || over;
    auto& status = *response.add_statuses();
    status.set_code(over ? rls::RateLimitResponse::OVER_LIMIT : rls::RateLimitResponse::OK);
    status.mutable_current_limit()->set_requests_per_unit(static_cast<std::uint32_t>(kLimit));
    status.mutable_current_limit()->set_unit(rls::RateLimitResponse::RateLimit::HOUR);
    status.set_limit_remaining(static_cast<std::uint32_t>(over ? 0 : kLimit - count));
    status.mutable_duration_until_reset()->set_seconds(state.addresses.left(now));
  }
  response.set_overall_code(any_over ? rls::RateLimitResponse::OVER_LIMIT
                                     : rls::RateLimitResponse::OK);
}

/// One call, from its acceptance to its end.
class Call {
 public:
  Call(grpc::AsyncGenericService& service, grpc::ServerCompletionQueue& queue, State& state)
      : service_(service), queue_(queue), state_(state) {
    wait();
  }
  void go_on(bool ok) {
    if (!ok) {
      if (step_ != Step::accepting) wait();
      return;
    }
    switch (step_) {
      case Step::accepting:
        step_ = Step::reading;
        stream_->Read(&question_, this);
        return;
      case Step::reading:
        step_ = Step::answering;
        answer();
        return;
      case Step::answering:
        wait();
    }
  }

 private:
  enum class Step { accepting, reading, answering };
  void wait() {
    step_ = Step::accepting;
    context_ = std::make_unique<grpc::GenericServerContext>();
    stream_ = std::make_unique<grpc::GenericServerAsyncReaderWriter>(context_.get());
    question_.Clear();
    service_.RequestCall(context_.get(), stream_.get(), &queue_, &queue_, this);
  }
  template <class Request, class Response, class Handler>
  grpc::ByteBuffer handle(Handler handler) {
    google::protobuf::Arena arena;
    auto& request = *google::protobuf::Arena::CreateMessage<Request>(&arena);
    auto& response = *google::protobuf::Arena::CreateMessage<Response>(&arena);
    grpc::Slice slice;
    if (!question_.DumpToSingleSlice(&slice).ok() ||
        !request.ParseFromArray(slice.begin(), static_cast<int>(slice.size())))
      std::abort();
    handler(state_, request, response);
    const std::size_t size = response.ByteSizeLong();
    grpc::Slice out(size);
    response.SerializeToArray(const_cast<std::uint8_t*>(out.begin()), static_cast<int>(size));
    return {&out, 1};
  }
  void answer() {
    const bool is_check = context_->method() == kCheck;
    const grpc::ByteBuffer out =
        is_check ? handle<auth::CheckRequest, auth::CheckResponse>(check)
                 : handle<rls::RateLimitRequest, rls::RateLimitResponse>(should_rate_limit);
    stream_->WriteAndFinish(out, grpc::WriteOptions(), grpc::Status::OK, this);
  }

  grpc::AsyncGenericService& service_;
  grpc::ServerCompletionQueue& queue_;
  State& state_;
  Step step_ = Step::accepting;
  std::unique_ptr<grpc::GenericServerContext> context_;
  std::unique_ptr<grpc::GenericServerAsyncReaderWriter> stream_;
  grpc::ByteBuffer question_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: door_server PORT\n", stderr);
    return 2;
  }
  grpc::AsyncGenericService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:" + std::string(argv[1]), grpc::InsecureServerCredentials());
  builder.RegisterAsyncGenericService(&service);
  const auto queue = builder.AddCompletionQueue();
  const auto server = builder.BuildAndStart();
  if (server == nullptr) return 1;
  State state;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < 200; ++i) calls.push_back(std::make_unique<Call>(service, *queue, state));
  void* tag = nullptr;
  bool ok = false;
  while (queue->Next(&tag, &ok)) static_cast<Call*>(tag)->go_on(ok);
  return 0;
}
