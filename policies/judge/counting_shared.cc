#include <algorithm>
#include <utility>

#include "policies/judge/counting.h"

namespace weir::policies {
namespace {

using limiter::SharedError;
using limiter::SharedVerb;

/// A part of a limit, for a replica that counts alone.
Number scaled(Number limit, double part) { return Number::real(limit.as_real() * part); }

}  // namespace

/// Makes one operation for each policy and key, with the windows of its rungs as parts: all of them
/// count, or none.
void Counting::ask(bool refused, const JudgeOptions& options) {
  store_.ops().clear();
  const limiter::SharedId id = store_.next_id();
  for (const PlannedPolicy& policy : work_.plan().policies) {
    if (!work_.set->policies[policy.policy].has_metric) continue;
    const std::size_t first = store_.ops().size();
    for (std::size_t k = 0; k < work_.set->policies[policy.policy].counters.size(); ++k) {
      PlannedCounter& planned =
          work_.plan().counters[work_.plan().counter_refs[policy.first_counter + k]];
      if (planned.shared_key == PlannedCounter::kNone || planned.asked != PlannedCounter::kNone)
        continue;
      const Counter& counter = work_.counter_of(planned);
      SharedVerb verb =
          planned.reserves || planned.provisional ? SharedVerb::reserve : SharedVerb::add;
      if (!planned.counts) {
        verb = counter.spec.metric == Metric::exists ? SharedVerb::look : SharedVerb::read;
      } else if (options.dry || (refused && !counter.always)) {
        verb = SharedVerb::look;
      }
      // A reply has room for one datum, and for one place.
      const bool alone = counter.spec.metric == Metric::last || counter.near();
      std::size_t at = alone ? store_.ops().size() : first;
      while (at < store_.ops().size() &&
             (store_.ops()[at].op.verb != verb ||
              !is_same(store_.ops()[at].op.event, planned.amount) ||
              store_.ops()[at].op.parts.size() == limiter::SharedOp::kPartsMax)) {
        ++at;
      }
      if (at == store_.ops().size()) {
        StoreOps::Item& item =
            store_.ops().add(verb, store_.key(planned.shared_key), planned.amount, id);
        const bool flies = counter.spec.window == limiter::Window::none;
        item.op.lifetime = flies ? store_.sharing()->flight : store_.sharing()->reservation;
        item.op.place = planned.key.place;
      }
      StoreOps::Item& item = store_.ops()[at];
      planned.amount.datum = item.op.event.datum;  // which outlives the frame
      planned.asked = static_cast<std::uint16_t>(at);
      planned.part = static_cast<std::uint8_t>(item.op.parts.size());
      limiter::SharedPart part;
      part.counter = counter.shared.get();
      if (planned.has_ceiling && !counter.always) part.ceiling = planned.ceiling;
      StoreOps::add_part(item, part);
    }
  }
}

void Counting::note_in_store() noexcept {
  for (PlannedCounter& planned : work_.plan().counters) {
    if (planned.asked == PlannedCounter::kNone) continue;
    const limiter::SharedReply& reply = store_.ops().reply(planned.asked);
    planned.in_store = reply.error == SharedError::none && reply.admitted &&
                       adds(store_.ops()[planned.asked].op.verb);
  }
}

void Counting::take_replies(const JudgeOptions& options) {
  store_.use_replies_of(store_.ops());
  bool failed = false;
  for (PlannedCounter& planned : work_.plan().counters) {
    if (planned.asked == PlannedCounter::kNone) continue;
    const limiter::SharedReply& reply = store_.ops().reply(planned.asked);
    if (reply.error != SharedError::none) {
      failed = true;
      store_.give_up_place(planned, store_.ops());
      continue;
    }
    planned.reading = reply.parts[planned.part].reading;
    const StoreOps::Item& item = store_.ops()[planned.asked];
    if (adds(item.op.verb)) {
      const auto& ceiling = item.op.parts[planned.part].ceiling;
      planned.reading.refused =
          !reply.admitted && ceiling && ceiling->broken_by(planned.reading.value);
      if (reply.admitted) mirror(planned, work_.at);
    }
    planning_.keep_datum(planned);
  }
  if (failed) go_alone(options);
  charge_deferred(options);
  patterns_.take_pattern_replies(options);
  if (options.trace != nullptr) trace_counters(*options.trace);
}

/// Counts this replica's own part of the store's count; the reading stays the store's.
void Counting::mirror(PlannedCounter& planned, Instant at) {
  const Counter& counter = work_.counter_of(planned);
  if (planned.reserves) {
    work_.bank.reserve(counter.id, planned.key, at.moment(counter), planned.amount, nullptr,
                       &planned.undo);
  } else {
    work_.bank.charge(counter.id, planned.key, at.moment(counter), planned.amount, nullptr,
                      &planned.undo);
  }
}

/// The store is away: each policy follows its on_error.
void Counting::go_alone(const JudgeOptions& options) {
  const auto failed = [&](const PlannedCounter& planned) {
    return planned.asked != PlannedCounter::kNone &&
           store_.ops().reply(planned.asked).error != SharedError::none;
  };
  bool refused = lists_.refused_by_list();
  for (PlannedCounter& planned : work_.plan().counters) {
    if (failed(planned)) planned.has_ceiling = false;
    refused = refused || (planned.reading.refused && !work_.counter_of(planned).shadow);
  }
  for (PlannedPolicy& planned : work_.plan().policies) {
    const Policy& policy = work_.set->policies[planned.policy];
    if (!policy.has_metric) continue;
    const auto counter = [&](std::size_t k) -> const PlannedCounter& {
      return work_.plan().counters[work_.plan().counter_refs[planned.first_counter + k]];
    };
    bool any = false;
    for (std::size_t k = 0; k < policy.counters.size(); ++k) any = any || failed(counter(k));
    if (!any) continue;
    if (policy.on_error.what == config::OnErrorDef::What::allow) {
      planned.blind = true;
      continue;
    }
    if (policy.on_error.what == config::OnErrorDef::What::deny && !policy.shadow &&
        planned.applies && !work_.plan().defect) {
      work_.plan().defect = store_defect(policy);
    }
    for (std::size_t r = 0; policy.on_error.part < 1 && r < policy.rungs.size(); ++r) {
      const bool grows =
          policy.rungs[r].compare == Compare::over || policy.rungs[r].compare == Compare::at;
      auto& limit = work_.plan().limits[planned.first_limit + r];
      if (grows && limit && failed(counter(policy.rungs[r].counter))) {
        limit = scaled(*limit, policy.on_error.part);
      }
    }
    planning_.note_ceilings(policy, policy.bindings[planned.binding], planned);
  }
  for (PlannedCounter& planned : work_.plan().counters) {
    if (failed(planned)) refused = charge_here(planned, work_.at, refused, options) || refused;
  }
}

void Counting::drop() noexcept {
  note_in_store();
  for (const PlannedCounter& planned : work_.plan().counters) {
    if (planned.asked != PlannedCounter::kNone) store_.give_up_place(planned, store_.ops());
  }
  take_all_back();
}

}  // namespace weir::policies
