#pragma once

#include <optional>
#include <span>

#include "core/key.h"
#include "core/value.h"
#include "policies/set/policy_set.h"

namespace weir::policies {

/// Takes readings and results of all judgements, for replay: the hot path has none. Called on the
/// driver's thread, within start() and, for outcome policies, within answer() unless start() knows
/// the answer; all views end with the call.
class RowSink {
 public:
  virtual ~RowSink() = default;

  /// The key's parts, made when they are asked for (most rows are only counted).
  class Key {
   public:
    /// Addresses masked; null: a missing part. Views until the next call of any Key.
    virtual std::span<const Value> parts() = 0;

   protected:
    ~Key() = default;
  };
  /// One policy or list of a judgement, as it is reported.
  struct Row {
    const Policy* policy = nullptr;
    const Event* event = nullptr;  ///< as the policy names it
    Hash128 hash;                  ///< of the key: equal keys of one policy have equal hashes
    Key* key = nullptr;
    bool answered = false;  ///< it rests on the answer: it comes after those that do not
    Value value;            ///< null: the metric has no value; also of a policy without a metric
  };
  /// This policy may give a reading for this key: data for it can be prefetched meanwhile.
  virtual void expect(const Policy& policy, const Hash128& key) {
    static_cast<void>(policy);
    static_cast<void>(key);
  }
  /// The policy counted or read an event. Before the verdict of the same policy and event.
  virtual void reading(const Row& row) = 0;
  /// A policy without a metric of its own judged an event. Before its verdict.
  virtual void ruled(const Row& row) { static_cast<void>(row); }
  /// The winning rung of the request: an enforced rung before a shadow one. For an outcome policy
  /// this is the verdict before the answer. The answer does not change it. If the answer does not
  /// match, the event has no reading.
  virtual void verdict(const Row& row, const Rung& rung, std::size_t index,
                       std::optional<Number> limit) = 0;
  /// A rung that lists or notifies does so without a verdict(): the answer has brought the reading
  /// over it, or the policy guards other requests than this one.
  virtual void remembered(const Row& row, const Rung& rung, std::size_t index,
                          std::optional<Number> limit) {
    static_cast<void>(row);
    static_cast<void>(rung);
    static_cast<void>(index);
    static_cast<void>(limit);
  }
  /// One of the policy's own lists has the key and refuses the event; row.value is null. Such an
  /// event has no reading and no rung of this policy.
  virtual void listed(const Row& row, const List& list) {
    static_cast<void>(row);
    static_cast<void>(list);
  }
};

}  // namespace weir::policies
