#include "authz/rate_limit_http.h"

#include <utility>

#include "authz/messages.h"
#include "authz/rate_limit_json.h"
#include "authz/rate_limit_messages.h"
#include "core/no_memory.h"
#include "net/http/json_reply.h"

namespace weir::authz {

namespace rls = envoy::service::ratelimit::v3;

/// One call under way.
class RateLimitHttp::Active final : private RateLimitCall::Waiting {
 public:
  explicit Active(RateLimitHttp& http) : http_(http), call_(http.gate_, http.meter_) {}

  void start(std::string_view body, TimePoint now, Answered answered) {
    answered_ = std::move(answered);
    auto& request = messages_.make<rls::RateLimitRequest>();
    request_ = &request;
    std::string wrong = read_json(body, request);
    if (wrong.empty()) {
      if (const std::int64_t given_back = read_request(request, call_); given_back != 0)
        http_.metrics_.add(telemetry::Metric::rate_limit_given_back, given_back);
      wrong = call_.wrong();
    }
    if (!wrong.empty()) {
      http_.metrics_.add(telemetry::Metric::rate_limit_errors);
      return leave(net::problem(400, wrong));
    }
    if (call_.judge(RateLimitCall::Mode::count, now, *this)) answer();
  }

 private:
  void judged(RateLimitCall&, TimePoint) override {
    if (!survives_no_memory([this] { answer(); }) && answered_) failed(call_);
  }
  void failed(RateLimitCall&) override {
    leave(net::problem(503, "there is no memory for the call"));
  }

  void answer() {
    rls::RateLimitResponse response;
    write_response(call_, http_.gate_.set(), *request_, response);
    call_.meter();
    http_.metrics_.add(call_.is_over() ? telemetry::Metric::rate_limit_over
                                       : telemetry::Metric::rate_limit_ok);
    net::HttpReply reply;
    reply.status = call_.is_over() ? 429 : 200;
    reply.content_type = "application/json";
    reply.body = to_json(response);
    leave(std::move(reply));
  }

  void leave(net::HttpReply reply) {
    const Answered answered = std::exchange(answered_, nullptr);
    call_.clear();
    messages_.clear();
    http_.active_.take_back(*this);
    answered(std::move(reply));
  }

  RateLimitHttp& http_;
  RateLimitCall call_;
  Messages messages_;
  const rls::RateLimitRequest* request_ = nullptr;
  Answered answered_;
};

RateLimitHttp::RateLimitHttp(gate::Gate& gate, telemetry::MetricCells& metrics,
                             telemetry::RuleStats& rules)
    : gate_(gate), metrics_(metrics), meter_(rules) {}
RateLimitHttp::~RateLimitHttp() = default;

void RateLimitHttp::json(std::string_view body, TimePoint now, Answered answered) {
  active_.lend(*this).start(body, now, std::move(answered));
}

}  // namespace weir::authz
