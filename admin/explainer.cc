#include "admin/explainer.h"

#include <utility>

#include "policies/judge/driver.h"
#include "policies/judgement/outbox.h"

namespace weir::admin {

/// Leaves every question to explain(); a dry judgement has nothing else to send.
class Explainer::Mute final : public policies::Outbox {
 public:
  bool ask(policies::Judgement&, policies::StoreOps&, TimePoint) override { return false; }
  void send(policies::StoreOps& operations, TimePoint) override { operations.clear(); }
  void deliver(policies::PatternJudging&, TimePoint) override {}
};

Explainer::Explainer(const Stores& stores)
    : stores_(stores), stats_(1), outbox_(std::make_unique<Mute>()) {}

Explainer::~Explainer() = default;

std::shared_ptr<policies::Driver> Explainer::make_driver() const {
  auto made = std::make_shared<policies::Driver>(stores_.counters, stores_.lists, stores_.secret);
  made->use_patterns(stores_.patterns);
  return made;
}

std::shared_ptr<policies::Driver> Explainer::driver_of(
    const std::shared_ptr<const policies::PolicySet>& set) {
  if (set_ == set) return driver_;
  driver_ = make_driver();
  if (stores_.sharing != nullptr) driver_->use_store(*stores_.sharing, *outbox_);
  driver_->use(policies::load_on_worker(set, stats_, 0));
  set_ = set;
  return driver_;
}

boost::asio::awaitable<policies::Explanation> Explainer::explain(const Call& call,
                                                                 const Request& request,
                                                                 policies::Instant at) {
  const std::shared_ptr<policies::Driver> driver = driver_of(call.set);
  policies::Explaining explaining(*driver, request, at);
  if (!explaining.is_waiting()) co_return explaining.take();
  const auto asked = std::make_shared<StoreRequest>();
  asked->set = call.set;
  std::swap(asked->operations, explaining.questions());
  const std::string why = co_await call.operations.run_store_request(asked);
  if (asked->replied) {
    std::swap(asked->operations, explaining.questions());
    explaining.resume();
    policies::Explanation told = explaining.take();
    told.of_all = why.empty();
    told.here_only = why;
    co_return told;
  }
  const std::shared_ptr<policies::Driver> alone = make_driver();
  alone->use(policies::load_on_worker(call.set, stats_, 0));
  policies::Explanation told = policies::explain(*alone, request, at);
  told.here_only = why;
  co_return told;
}

}  // namespace weir::admin
