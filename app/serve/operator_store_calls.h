#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "admin/operations.h"
#include "policies/set/sharing.h"
#include "store/shared_store.h"

namespace weir::app {

/// Questions of operators to the shared store, on the thread of the worker whose connection they
/// use. The store must have stopped when the calls ends.
class OperatorStoreCalls {
 public:
  /// No request waits for it: longer than a budget, shorter than the patience of a person.
  static constexpr milliseconds kWithin{1'000};

  OperatorStoreCalls(store::SharedStore& store, const policies::Sharing& sharing,
                     const HashSecret& secret);
  ~OperatorStoreCalls();

  /// `tell` is called once, perhaps before ask() returns; not at all if the store stops.
  using Tell = std::function<void(admin::StoreAnswer)>;
  void ask(const admin::StoreQuestion& question, TimePoint now, Tell tell);
  /// The answer has no readings: the request has its replies by then.
  void run(std::shared_ptr<admin::StoreRequest> request, TimePoint now, Tell tell);

 private:
  class Visit;
  class Question;
  class Execution;

  void submit(Visit& visit, policies::StoreOps& operations, TimePoint now);

  store::SharedStore& store_;
  policies::Sharing sharing_;
  const HashSecret& secret_;
  std::uint64_t sequence_ = 0;
  std::vector<std::unique_ptr<Visit>> visits_;
};

}  // namespace weir::app
