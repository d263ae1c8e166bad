#pragma once

#include <bitset>
#include <optional>
#include <string>
#include <vector>

#include "limiter/exchange/shared_op.h"
#include "store/redis/pending_batches.h"
#include "store/redis/scripts.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// The plain operations of one call, which nearly all are: an event added, for the first time as
/// far as is known, to one window that has no outcomes, amounts integers. They share their terms
/// (what is counted, and up to where), so that each costs a few bytes and Redis little more than
/// its commands (scripts/plain.lua). They precede all other operations of their call: one
/// whose key another operation of the call has touched is none, unless that was plain too.
class PlainCalls {
 public:
  static constexpr std::size_t kTermsMax = 100;  ///< 128 of them have a byte

  static bool is_plain(ScriptIndex script, const limiter::SharedOp& op, bool again) noexcept;

  /// False: no room for the operation's terms, or its key is of an operation that is not plain.
  bool add(OpRef ref, const limiter::SharedOp& op, TimePoint wall);
  /// An operation of the same call that is not plain.
  void touch(const limiter::SharedOp& op);

  const std::string& keys() const noexcept { return keys_; }  ///< as many bulk strings as refs()
  void append_argument(std::string& out) const;               ///< the first one of the call
  const std::vector<OpRef>& refs() const noexcept { return refs_; }
  void clear() noexcept;

 private:
  struct Terms {
    const limiter::SharedCounter* counter;
    double limit;
    bool inclusive;
    std::optional<TimePoint> now;
    friend bool operator==(const Terms&, const Terms&) = default;
  };
  using Touched = std::bitset<1024>;  // a Bloom filter: a false match only costs time

  std::optional<std::size_t> terms_of(const limiter::SharedOp& op, TimePoint wall);

  std::string keys_, terms_text_, which_, tags_, amounts_;
  std::vector<Terms> terms_;
  std::vector<OpRef> refs_;
  bool ones_ = true;     // all amounts are 1
  bool tagged_ = false;  // some counter remembers events
  Touched plain_, others_;
};

/// The answer to one of them: false if it is none.
bool read_plain_answer(const Reply& answer, std::size_t at, const limiter::SharedOp& op,
                       limiter::SharedReply& reply);

}  // namespace weir::store
