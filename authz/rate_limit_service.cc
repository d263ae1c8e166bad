#include "authz/rate_limit_service.h"

#include "authz/rate_limit_messages.h"
#include "core/no_memory.h"

namespace weir::authz {

using net::grpc::Status;
namespace rls = envoy::service::ratelimit::v3;

/// One call under way.
class RateLimitService::Active final : private net::grpc::Pending, private RateLimitCall::Waiting {
 public:
  explicit Active(RateLimitService& service)
      : service_(service), call_(service.gate_, service.meter_) {}

  void start(net::grpc::Call& grpc, TimePoint now) {
    try {
      begin(grpc, now);
    } catch (const std::exception&) {
      cancelled(now);
      throw;
    }
  }

 private:
  void begin(net::grpc::Call& grpc, TimePoint now) {
    grpc_ = &grpc;
    const std::string_view bytes = grpc.message();
    const RequestSize size = size_of(bytes);
    if (size == RequestSize::too_large)
      return fail(Status::invalid_argument, RateLimitCall::kTooLarge);
    auto& request = messages_.make<rls::RateLimitRequest>();
    request_ = &request;
    if (size == RequestSize::unreadable ||
        !request.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
      return fail(Status::internal, "the message is not a RateLimitRequest");
    if (const std::int64_t given_back = read_request(request, call_); given_back != 0)
      service_.metrics_.add(telemetry::Metric::rate_limit_given_back, given_back);
    if (const std::string_view wrong = call_.wrong(); !wrong.empty())
      return fail(Status::invalid_argument, wrong);
    if (call_.judge(RateLimitCall::Mode::count, now, *this)) return answer();
    grpc.wait_with(*this);
  }

  void fail(Status status, std::string_view why) {
    service_.metrics_.add(telemetry::Metric::rate_limit_errors);
    grpc_->fail(status, why);
    leave();  // last: if fail() throws, cancelled() leaves
  }

  void answer() {
    auto& response = messages_.make<rls::RateLimitResponse>();
    write_response(call_, service_.gate_.set(), *request_, response);
    call_.meter();
    service_.metrics_.add(call_.is_over() ? telemetry::Metric::rate_limit_over
                                          : telemetry::Metric::rate_limit_ok);
    messages_.complete(*grpc_, response);
    leave();
  }

  void judged(RateLimitCall&, TimePoint) override {
    if (!survives_no_memory([this] { answer(); })) failed(call_);
  }
  void failed(RateLimitCall&) override {
    fail(Status::resource_exhausted, "there is no memory for the call");
  }
  void cancelled(TimePoint now) override {
    call_.give_up(now);
    leave();
  }
  /// Releases the memory of the message before the object waits for the next call.
  void leave() noexcept {
    call_.clear();
    messages_.clear();
    service_.active_.take_back(*this);
  }

  RateLimitService& service_;
  RateLimitCall call_;
  Messages messages_;
  net::grpc::Call* grpc_ = nullptr;
  const rls::RateLimitRequest* request_ = nullptr;
};

RateLimitService::RateLimitService(gate::Gate& gate, telemetry::MetricCells& metrics,
                                   telemetry::RuleStats& rules)
    : gate_(gate), metrics_(metrics), meter_(rules) {}
RateLimitService::~RateLimitService() = default;

void RateLimitService::start(net::grpc::Call& call, TimePoint now) {
  metrics_.add(telemetry::Metric::rate_limit_grpc);
  active_.lend(*this).start(call, now);
}

}  // namespace weir::authz
