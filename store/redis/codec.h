#pragma once

#include <cstdint>
#include <string>

#include "limiter/exchange/shared_op.h"
#include "store/redis/packer.h"
#include "store/redis/store_clock.h"
#include "store/resp/resp_reader.h"

namespace weir::store {

/// Operations as the scripts' keys and arguments, and the scripts' answers as replies. Those on
/// patterns: pattern_codec.h.

/// Whether the scripts can count it: 1 .. kPartsMax parts of known kinds, an amount that is finite,
/// and not negative where only the local kinds of sums may be; a `last` datum that fits.
bool can_send(const limiter::SharedOp& op) noexcept;

/// Whether an operation that may have been executed can be sent again: it counts once all the same,
/// or does nothing the second time. One that adds to counters which remember no events can't.
bool counts_once(const limiter::SharedOp& op) noexcept;

/// Appends the operation's keys, as bulk strings; returns how many. A part with outcomes has two.
/// `weir:<counter>:{<key>}`: the braces put all parts of an operation into one slot of a cluster.
/// SharedForm::decimal: the key as it is.
unsigned append_keys(std::string& out, const limiter::SharedOp& op);

/// Appends the operation's argument, as one bulk string. `now.wall` says where a calendar's windows
/// are; which of them it is, the store's own clock decides.
void append_argument(std::string& out, const limiter::SharedOp& op, bool retry, Now now);

/// The number of elements in the operation's answer, if it is not an error.
unsigned answer_width(const limiter::SharedOp& op) noexcept;
/// The start of the next operation's answer; reply.size() or beyond if this one is not whole.
std::size_t skip_answer(const Reply& answer, std::size_t at, unsigned width) noexcept;

/// Reads one operation's answer from `at` on (which moves past it). False: it does not answer
/// the operation. An error of the store is in reply.error.
bool read_answer(const Reply& answer, std::size_t& at, const limiter::SharedOp& op,
                 limiter::SharedReply& reply);

/// One part in the form of the scripts, and the data that plain_calls.h needs of it.
void append_part(Packer& pack, const limiter::SharedPart& part, bool take_back, TimePoint wall);
bool has_outcomes(const limiter::SharedPart& part) noexcept;
double amount_of(const limiter::SharedOp& op) noexcept;
/// The limit of the part's ceiling; infinite without one.
double limit_of(const limiter::SharedPart& part) noexcept;

/// `weir:<counter>:{<key>}<tail>` as a bulk string.
void append_key(std::string& out, const limiter::SharedPart& part, std::string_view key,
                std::string_view tail = {});

/// The code of an error text: `OOM command not allowed ...`, also as scripts pass it on.
limiter::SharedError error_of(std::string_view text) noexcept;

}  // namespace weir::store
