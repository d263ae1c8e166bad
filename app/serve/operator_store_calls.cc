#include "app/serve/operator_store_calls.h"

#include <utility>

#include "policies/judgement/store_ops.h"
#include "policies/set/text_keys.h"

namespace weir::app {

using limiter::SharedError;
using limiter::SharedVerb;

/// A caller that waits for replies.
class OperatorStoreCalls::Visit : public store::Batch {
 public:
  explicit Visit(Tell tell) : tell_(std::move(tell)) {}
  virtual ~Visit() = default;

  bool over() const noexcept { return tell_ == nullptr; }

 protected:
  void tell(admin::StoreAnswer answer) { std::exchange(tell_, nullptr)(std::move(answer)); }

 private:
  Tell tell_;
};

class OperatorStoreCalls::Question final : public Visit {
 public:
  Question(const admin::StoreQuestion& question, Tell tell)
      : Visit(std::move(tell)), set_(question.set), policy_(question.policy) {}

  policies::StoreOps operations;

  void on_replies() override {
    admin::StoreAnswer answer;
    std::size_t next = 0;
    for (const std::uint16_t index : set_->policies[policy_].counters) {
      limiter::KeptReading& reading = answer.readings.emplace_back();
      if (set_->counters[index].shared == nullptr) continue;
      reading = next_reading(next, answer.why);
      if (set_->counters[index].synced.average != nullptr)
        reading = limiter::average_of(reading, next_reading(next, answer.why));
    }
    tell(std::move(answer));
  }

 private:
  limiter::KeptReading next_reading(std::size_t& next, std::string& why) const {
    const limiter::SharedReply& reply = operations.reply(next++);
    if (reply.error != SharedError::none) {
      why = limiter::row_of(reply.error).help;
      return {};
    }
    return reply.parts[0].reading;
  }

  std::shared_ptr<const policies::PolicySet> set_;  // its counters are asked about
  policies::PolicyIndex policy_;
};

/// Takes the operations as they are; only an average that is exchanged has to be computed, from
/// the two sums in the store.
class OperatorStoreCalls::Execution final : public Visit {
 public:
  Execution(std::shared_ptr<admin::StoreRequest> request, Tell tell)
      : Visit(std::move(tell)), errand_(std::move(request)) {}

  void add_parts_of_averages() {
    policies::StoreOps& operations = errand_->operations;
    const std::size_t asked = operations.size();
    for (std::size_t i = 0; i < asked; ++i) {
      for (std::size_t part = 0; part < operations[i].op.parts.size(); ++part) {
        const auto* const average = average_behind(*operations[i].op.parts[part].counter);
        if (average == nullptr) continue;
        averages_.push_back({i, part, operations.size()});
        add(i, *average->amounts.shared, operations[i].op.event.amount);
        add(i, *average->ones.shared, Number{1});
      }
    }
  }

  void on_replies() override {
    admin::StoreAnswer answer;
    for (const limiter::SharedReply& reply : replies) {
      if (reply.error != SharedError::none) answer.why = limiter::row_of(reply.error).help;
    }
    for (const Average& each : averages_) {
      replies[each.operation].parts[each.part].reading = limiter::average_of(
          replies[each.first].parts[0].reading, replies[each.first + 1].parts[0].reading);
    }
    errand_.reset();
    tell(std::move(answer));
  }

 private:
  struct Average {
    std::size_t operation, part, first;
  };

  const limiter::SyncedAverage* average_behind(const limiter::SharedCounter& shared) const {
    for (const policies::Counter& counter : errand_->set->counters) {
      if (counter.shared.get() == &shared) return counter.synced.average.get();
    }
    return nullptr;
  }
  void add(std::size_t like, const limiter::SharedCounter& shared, Number amount) {
    policies::StoreOps& operations = errand_->operations;
    const limiter::SharedOp from = operations[like].op;
    policies::StoreOps::Item& item =
        operations.add(from.verb, from.key, {amount, {}, nullptr}, from.id);
    policies::StoreOps::add_part(item, {&shared, {}, 0});
  }

  std::shared_ptr<admin::StoreRequest> errand_;
  std::vector<Average> averages_;
};

OperatorStoreCalls::OperatorStoreCalls(store::SharedStore& store, const policies::Sharing& sharing,
                                       const HashSecret& secret)
    : store_(store), sharing_(sharing), secret_(secret) {}

OperatorStoreCalls::~OperatorStoreCalls() = default;

void OperatorStoreCalls::submit(Visit& visit, policies::StoreOps& operations, TimePoint now) {
  visit.ops = operations.ops();
  visit.replies = operations.replies();
  if (store_.submit(visit, now + kWithin)) visit.on_replies();
}

void OperatorStoreCalls::run(std::shared_ptr<admin::StoreRequest> request, TimePoint now,
                             Tell tell) {
  std::erase_if(visits_, [](const auto& visit) { return visit->over(); });
  auto made = std::make_unique<Execution>(request, std::move(tell));
  made->add_parts_of_averages();
  Visit& visit = *visits_.emplace_back(std::move(made));
  submit(visit, request->operations, now);
}

void OperatorStoreCalls::ask(const admin::StoreQuestion& question, TimePoint now, Tell tell) {
  std::erase_if(visits_, [](const auto& visit) { return visit->over(); });
  const policies::Policy& policy = question.set->policies[question.policy];
  const std::vector<std::string_view> parts(question.parts.begin(), question.parts.end());
  const auto key = policies::shared_key(policy, parts, secret_, sharing_, Clock::wall());
  if (!key) return tell({"the key does not fit the policy", {}});
  auto made = std::make_unique<Question>(question, std::move(tell));
  Question& visit = *made;
  visits_.push_back(std::move(made));
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
  submit(visit, visit.operations, now);
}

}  // namespace weir::app
