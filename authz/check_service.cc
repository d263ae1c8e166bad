#include "authz/check_service.h"

#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "authz/check_response.h"
#include "authz/hold.h"
#include "core/no_memory.h"
#include "gate/judging.h"

namespace weir::authz {

using net::grpc::Status;
using telemetry::Metric;

namespace {

// An answer is to be with Envoy before it stops waiting: this much earlier, or an eighth.
constexpr milliseconds kEarlier{20};
// Bytes of a refusal's body that goes out however short memory is.
constexpr std::size_t kShortBody = 512;

}  // namespace

/// One open check. Borrowed from its service until the call is completed or cancelled.
class CheckCall final : public net::grpc::Pending, public gate::Waiter, public net::Timer {
 public:
  explicit CheckCall(CheckService& service) : service_(service), reader_(service.room_) {}

  void start(net::grpc::Call& call, TimePoint now) {
    call_ = &call;
    state_ = State::judging;
    const TimePoint deadline = call.deadline();
    deadline_ = deadline == TimePoint::max() ? deadline
                                             : deadline - std::max(kEarlier, (deadline - now) / 8);
    path_rules_ = service_.rules_.path;
    if (!reader_.parse(call.message(), messages_))
      return fail(Status::internal, "the message is not a CheckRequest");
    if (!service_.rules_.client.may_ask(call.peer()))
      return fail(Status::permission_denied, "this address may not ask: authz.client_ip.trust");
    const std::string& header = service_.rules_.client.header();
    const std::string_view word =
        comes_as_metadatum(header) ? call.metadata(header) : std::string_view();
    const std::string_view trouble = reader_.read(word, service_.rules_, now);
    if (!reader_.client_known()) {
      reader_.request().client = call.peer() == Address{} ? Address::loopback() : call.peer();
      service_.metrics_.add(Metric::check_client_unknown);
    }
    if (!trouble.empty()) {
      auto& response = messages_.make<CheckResponse>();
      fill_problem(response, 400, trouble);
      service_.metrics_.add(Metric::check_failed_ext_authz);
      return complete(response);
    }
    judge(now, true);
    if (state_ == State::parked || state_ == State::held) call.wait_with(*this);
  }

 private:
  enum class State : std::uint8_t { idle, judging, parked, held };

  void judge(TimePoint now, bool may_wait) {
    set_longest_hold(time_until(deadline_, now));
    const gate::Decision decision =
        gate::judge_or_park(service_.judge_, reader_.request(), now, may_wait, *this);
    const Effect& effect = decision.effect;
    ticket_ = decision.ticket;
    switch (effect.kind) {
      case Effect::Kind::pass:
        return allow(effect, now);
      case Effect::Kind::answer:
        return refuse(effect);
      case Effect::Kind::delay:
        return hold(effect, now);
      case Effect::Kind::wait:
        state_ = State::parked;
        gate::expect_others_by(deadline_, *this, service_.wheel_, *this);
        return;
    }
  }

  /// Goes on with a call that has waited.
  void judge_again(TimePoint now, bool may_wait) {
    reader_.read_target_again(path_rules_);
    if (!survives_no_memory([&] { judge(now, may_wait); })) fail_for_memory(now);
  }

  /// Gives back the ticket of a request that does not reach the app.
  void drop_ticket(TimePoint now) {
    gate::Ticket* const ticket = std::exchange(ticket_, nullptr);
    if (ticket == nullptr) return;
    static_cast<void>(
        survives_no_memory([&] { service_.judge_.finish(*ticket, gate::End::not_sent, now); }));
  }

  void fail_for_memory(TimePoint now) {
    if (state_ == State::idle) return;  // it has been answered
    if (std::exchange(state_, State::idle) == State::held) service_.judge_.end_hold();
    drop_ticket(now);
    service_.metrics_.add(Metric::check_failed_ext_authz);
    call_->fail(Status::resource_exhausted, "there is no memory for the call");
  }

  void allow(const Effect& effect, TimePoint now) {
    if (ticket_ == nullptr && says_nothing(effect, reader_.forged())) {
      service_.metrics_.add(Metric::check_allowed_ext_authz);
      call_->complete(service_.plain_);
      state_ = State::idle;
      return;
    }
    auto& response = messages_.make<CheckResponse>();
    std::optional<gate::Unsettled::Id> id;
    if (ticket_ != nullptr) id = service_.unsettled_.next_id();
    fill_allowed(response, effect, reader_.forged(), id ? &*id : nullptr);
    if (ticket_ != nullptr) service_.unsettled_.keep(*ticket_, now);
    ticket_ = nullptr;
    service_.metrics_.add(Metric::check_allowed_ext_authz);
    complete(response);
  }

  void refuse(const Effect& effect) {
    auto& response = messages_.make<CheckResponse>();
    Effect told = effect;
    // A refusal without its page is still a refusal; a call without an answer may let it pass.
    if (effect.body.size() > kShortBody && call_->is_memory_short())
      told.body = told.content_type = {};
    fill_refused(response, told);
    service_.metrics_.add(Metric::check_denied_ext_authz);
    complete(response);
  }

  void hold(const Effect& effect, TimePoint now) {
    state_ = State::held;
    held_ = &messages_.make<CheckResponse>();
    fill_allowed(*held_, effect, reader_.forged(), nullptr);
    service_.wheel_.arm(*this, now + effect.hold);
  }

  void release(TimePoint now) {
    if (ticket_ != nullptr) {
      add_request_id(*held_, service_.unsettled_.next_id());
      service_.unsettled_.keep(*ticket_, now);
      ticket_ = nullptr;
    }
    state_ = State::judging;
    service_.judge_.end_hold();
    service_.metrics_.add(Metric::check_allowed_ext_authz);
    complete(*held_);
  }

  // Called by the judge for one waiter after the other; completing only notes the answer.
  void resume(TimePoint now) override {
    if (state_ != State::parked) return;
    state_ = State::judging;
    const bool waits = gate::judge_resumed(service_.judge_, *this, now, [&](bool may_wait) {
      judge_again(now, may_wait);
      return state_ == State::parked;
    });
    if (!waits) leave_if_done();
  }

  void on_timer(TimePoint now) override {
    if (state_ == State::held && !survives_no_memory([&] { release(now); })) fail_for_memory(now);
    if (state_ == State::parked) {
      service_.judge_.unpark(*this);
      state_ = State::judging;
      judge_again(now, false);
      if (state_ == State::parked) return;
      service_.judge_.unpark(*this);
    }
    leave_if_done();
  }

  void cancelled(TimePoint now) override {
    if (state_ == State::parked) service_.judge_.unpark(*this);
    if (std::exchange(state_, State::idle) == State::held) service_.judge_.end_hold();
    drop_ticket(now);
    leave();
  }

  void complete(const CheckResponse& response) {
    messages_.complete(*call_, response);
    state_ = State::idle;
  }
  void fail(Status status, std::string_view why) {
    state_ = State::idle;
    service_.metrics_.add(Metric::check_failed_ext_authz);
    if (!service_.rules_.error_response) return call_->fail(status, why);
    auto& response = messages_.make<CheckResponse>();
    fill_error(response, static_cast<int>(status));
    messages_.complete(*call_, response);
  }

 public:
  /// start() threw.
  void give_up(TimePoint now) noexcept { cancelled(now); }
  void leave_if_done() noexcept {
    if (state_ == State::idle) leave();
  }

 private:
  /// Releases the memory of the message before the object waits for the next call.
  void leave() noexcept {
    net::Wheel::disarm(*this);
    reader_.clear();
    messages_.clear();
    service_.calls_.take_back(*this);
  }

  CheckService& service_;
  Messages messages_;
  CheckReader reader_;
  net::grpc::Call* call_ = nullptr;
  State state_ = State::idle;
  PathRules path_rules_;  // by which its target has been read
  TimePoint deadline_{};
  gate::Ticket* ticket_ = nullptr;  // while held
  CheckResponse* held_ = nullptr;   // likewise
};

CheckService::CheckService(const CheckRules& rules, gate::Judge& judge, gate::Unsettled& unsettled,
                           net::Wheel& wheel, telemetry::MetricCells& metrics)
    : rules_(rules), judge_(judge), unsettled_(unsettled), wheel_(wheel), metrics_(metrics) {
  CheckResponse plain;
  fill_allowed(plain, Effect{}, {}, nullptr);
  plain_ = plain.SerializeAsString();
}

CheckService::~CheckService() = default;

void CheckService::start(net::grpc::Call& call, TimePoint now) {
  CheckCall& check = calls_.lend(*this);
  try {
    check.start(call, now);
  } catch (const std::exception&) {
    check.give_up(now);
    throw;
  }
  check.leave_if_done();
}

}  // namespace weir::authz
