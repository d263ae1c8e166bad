#include "store/redis/plain_calls.h"

#include <functional>

#include "store/redis/codec.h"
#include "store/redis/packer.h"
#include "store/resp/resp_writer.h"

namespace weir::store {

using limiter::SharedError;
using limiter::SharedForm;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReply;
using limiter::SharedVerb;

namespace {

std::size_t bit_of(const SharedPart& part, std::string_view key) noexcept {
  const std::size_t of_key = std::hash<std::string_view>{}(key);
  return (of_key ^ static_cast<std::size_t>(part.counter->identity.lo)) % 1024;
}

SharedForm form_of(const SharedOp& op) noexcept { return op.parts[0].counter->form; }

}  // namespace

bool PlainCalls::is_plain(ScriptIndex script, const SharedOp& op, bool again) noexcept {
  if (!knows_plain(script) || op.verb != SharedVerb::add || op.parts.size() != 1 || again) {
    return false;
  }
  const limiter::CounterSpec& spec = op.parts[0].counter->spec;
  if (spec.real || has_outcomes(op.parts[0])) return false;
  if (form_of(op) != SharedForm::log) return true;
  return spec.metric == Metric::count && spec.window == limiter::Window::log && amount_of(op) == 1;
}

std::optional<std::size_t> PlainCalls::terms_of(const SharedOp& op, TimePoint wall) {
  const SharedPart& part = op.parts[0];
  const Terms terms{part.counter, limit_of(part), part.ceiling && part.ceiling->inclusive, op.now};
  for (std::size_t i = terms_.size(); i-- > 0;) {
    if (terms_[i] == terms) return i;
  }
  if (terms_.size() == kTermsMax) return std::nullopt;
  terms_.push_back(terms);
  Packer pack{terms_text_};
  append_part(pack, part, false, op.now.value_or(wall));
  pack.real(op.now ? static_cast<double>(to_ms(*op.now)) : -1.0);
  return terms_.size() - 1;
}

bool PlainCalls::add(OpRef ref, const SharedOp& op, TimePoint wall) {
  const std::size_t bit = bit_of(op.parts[0], op.key);
  if (others_[bit]) return false;
  const auto terms = terms_of(op, wall);
  if (!terms) return false;
  append_key(keys_, op.parts[0], op.key);
  which_ += static_cast<char>(*terms + (plain_[bit] ? 128 : 0));
  plain_.set(bit);
  Packer tags{tags_};
  if (form_of(op) == SharedForm::log) {
    tags.high_first(op.id.origin, 6);
    tags.high_first(op.id.sequence, 6);
  } else {
    tags.high_first(op.id.origin, 2);
    tags.high_first(op.id.sequence, 4);
  }
  tagged_ = tagged_ || op.parts[0].counter->remembers;
  const double amount = amount_of(op);
  ones_ = ones_ && amount == 1;
  Packer{amounts_}.real(amount);
  refs_.push_back(ref);
  return true;
}

void PlainCalls::touch(const SharedOp& op) {
  for (const SharedPart& part : op.parts) others_.set(bit_of(part, op.key));
}

void PlainCalls::append_argument(std::string& out) const {
  const std::size_t amounts = ones_ ? 0 : amounts_.size(), tags = tagged_ ? tags_.size() : 0;
  append_count(out, '$', 3 + terms_text_.size() + which_.size() + tags + amounts);
  Packer pack{out};
  pack.byte(static_cast<unsigned>(refs_.size()));
  pack.byte(static_cast<unsigned>(terms_.size()));
  pack.byte((ones_ ? 0U : 1U) | (tagged_ ? 2U : 0U));
  out += terms_text_;
  out += which_;
  if (tagged_) out += tags_;
  if (!ones_) out += amounts_;
  out += "\r\n";
}

void PlainCalls::clear() noexcept {
  keys_.clear();
  terms_text_.clear();
  which_.clear();
  tags_.clear();
  amounts_.clear();
  terms_.clear();
  refs_.clear();
  ones_ = true;
  tagged_ = false;
  plain_.reset();
  others_.reset();
}

bool read_plain_answer(const Reply& answer, std::size_t at, const SharedOp& op,
                       SharedReply& reply) {
  if (at >= answer.size()) return false;
  const Reply::Node& node = answer[at];
  if (node.type == Reply::Type::string) {
    reply.error = error_of(answer.text(node));
    return true;
  }
  if (node.type != Reply::Type::integer) return false;
  const SharedPart& part = op.parts[0];
  const auto value = static_cast<double>(node.integer);
  const double limit = limit_of(part);
  const bool over = value > limit || (part.ceiling && part.ceiling->inclusive && value >= limit);
  reply.error = SharedError::none;
  reply.admitted = !over;
  limiter::SharedReading& out = reply.parts[0];
  out.undo = 0;
  out.began = {};
  out.reading = {};
  out.reading.has_value = true;
  out.reading.value = out.reading.settled = Number(node.integer);
  out.reading.stored = !over;
  out.reading.refused = over;
  return true;
}

}  // namespace weir::store
