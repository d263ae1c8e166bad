#include "app/serve/counter_desk.h"

#include <utility>

#include "policies/judgement/store_ops.h"
#include "policies/set/text_keys.h"

namespace weir::app {

using limiter::SharedError;
using limiter::SharedVerb;

class CounterDesk::Visit final : public store::Batch {
 public:
  Visit(const admin::StoreQuestion& question, std::function<void(admin::StoreAnswer)> tell)
      : set_(question.set), policy_(question.policy), tell_(std::move(tell)) {}

  policies::StoreOps operations;

  bool over() const noexcept { return tell_ == nullptr; }
  void on_replies() override {
    admin::StoreAnswer answer;
    std::size_t next = 0;
    for (const std::uint16_t index : set_->policies[policy_].counters) {
      limiter::Reading& reading = answer.readings.emplace_back();
      if (set_->counters[index].shared == nullptr) continue;
      reading = next_reading(next, answer.why);
      if (set_->counters[index].synced.average != nullptr)
        reading = limiter::average_of(reading, next_reading(next, answer.why));
    }
    std::exchange(tell_, nullptr)(std::move(answer));
  }

 private:
  limiter::Reading next_reading(std::size_t& next, std::string& why) const {
    const limiter::SharedReply& reply = operations.reply(next++);
    if (reply.error != SharedError::none) {
      why = limiter::row_of(reply.error).help;
      return {};
    }
    limiter::Reading out = reply.parts[0].reading;
    out.datum = nullptr;  // which the reply owns
    return out;
  }

  std::shared_ptr<const policies::PolicySet> set_;  // its counters are asked about
  policies::PolicyIndex policy_;
  std::function<void(admin::StoreAnswer)> tell_;
};

CounterDesk::CounterDesk(store::SharedStore& store, const policies::Sharing& sharing,
                         const HashSecret& secret)
    : store_(store), sharing_(sharing), secret_(secret) {}

CounterDesk::~CounterDesk() = default;

void CounterDesk::ask(const admin::StoreQuestion& question, TimePoint now,
                      std::function<void(admin::StoreAnswer)> tell) {
  std::erase_if(visits_, [](const auto& visit) { return visit->over(); });
  const policies::Policy& policy = question.set->policies[question.policy];
  const std::vector<std::string_view> parts(question.parts.begin(), question.parts.end());
  const auto key = policies::shared_key(policy, parts, secret_, sharing_, Clock::wall());
  if (!key) return tell({"the key does not fit the policy", {}});
  Visit& visit = *visits_.emplace_back(std::make_unique<Visit>(question, std::move(tell)));
  for (const std::uint16_t index : policy.counters) {
    const policies::Counter& counter = question.set->counters[index];
    if (counter.shared == nullptr) continue;
    const auto whose = policies::counter_key(*question.set, policy, counter, parts, secret_);
    const auto ask = [&](const limiter::SharedCounter& shared) {
      policies::StoreOps::Item& item =
          visit.operations.add(question.reset ? SharedVerb::reset : SharedVerb::read, *key, {},
                               {sharing_.origin, ++sequence_});
      if (whose) item.op.place = whose->place;
      policies::StoreOps::add_part(item, {&shared, {}, 0});
    };
    if (const auto* const average = counter.synced.average.get()) {
      ask(*average->amounts.shared);
      ask(*average->ones.shared);
    } else {
      ask(*counter.shared);
    }
  }
  visit.ops = visit.operations.ops();
  visit.replies = visit.operations.replies();
  if (store_.submit(visit, now + kWithin)) visit.on_replies();
}

}  // namespace weir::app
