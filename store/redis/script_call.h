#pragma once

#include <string>
#include <string_view>

#include "limiter/exchange/shared_op.h"
#include "store/redis/scripts.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// One call of a script that is not an operation on a counter: lists exchange their entries with
/// it. All its keys lie in one slot. The owner keeps it unchanged until the answer has come, or the
/// store has stopped.
class ScriptCall {
 public:
  /// The call's answer; `reply` is gone afterwards. Another call may be made from here.
  virtual void on_answer(const Reply& reply) = 0;
  /// See limiter::may_have_happened().
  virtual void on_failure(limiter::SharedError error, std::string_view text) = 0;
  bool flying() const noexcept { return flying_; }

  const Script* script = nullptr;
  unsigned slot = 0;   ///< of the keys; outside of a cluster of no importance
  unsigned keys = 0;   ///< how many of the words are keys
  unsigned count = 0;  ///< of words
  std::string words;   ///< keys and arguments, as bulk strings

 protected:
  ~ScriptCall() = default;

 private:
  friend class Node;
  friend class RedisStore;
  bool flying_ = false;
  bool bring_text_ = false;  // NOSCRIPT was the answer
  int moved_ = 0;
};

}  // namespace weir::store
