#include "policies/lang/frame.h"

#include <cstring>

#include "core/assert.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/expr/missed.h"
#include "policies/lang/expr/program.h"
#include "policies/lang/extractors/json.h"

namespace weir::policies {
namespace {

std::size_t bytes_to_keep(const Value& value) noexcept {
  if (value.is(Type::text)) return value.as_text().size();
  if (value.is(Type::address)) return sizeof(Address);
  return 0;
}

}  // namespace

std::size_t Captured::bytes() const noexcept {
  return entries_.capacity() * sizeof(Entry) + buffer_.capacity();
}

Frame::Frame()
    : request_body_(std::make_unique<BodyReader>(BodyFrom::client)),
      answer_body_(std::make_unique<BodyReader>(BodyFrom::app)) {}
Frame::~Frame() = default;

MissReason Frame::unread_answer() const noexcept {
  const MissReason why = answer_body_->missing();
  return is_unread(why) ? why : MissReason::none;
}

void Frame::restart(const SlotTable& slots, const ListOracle* lists) {
  slots_ = &slots;
  lists_ = lists;
  if (cells_.size() < slots.size()) cells_.resize(slots.size());
  if (++epoch_ == 0) {  // after 2^32 requests an old stamp could look new
    for (Cell& cell : cells_) cell.epoch = 0;
    epoch_ = 1;
  }
  arena_.reset();
  request_body_->reset();
  answer_body_->reset();
  event_ = {};
  value_ = limit_ = Value::null();
  descriptor_ = nullptr;
}

void Frame::begin(const SlotTable& slots, const Request& request, const ListOracle* lists) {
  restart(slots, lists);
  request_ = &request;
  answer_ = nullptr;
  time_ = request.time;
  // It is known, and nearly always needed.
  const SlotId client = slots.client();
  if (client != SlotTable::kMax)
    cells_.data()[client] = {Value::address(&request.client), epoch_, MissReason::none};
}

void Frame::begin(const SlotTable& slots, const Record& record, const ListOracle* lists) {
  restart(slots, lists);
  request_ = record.request;
  descriptor_ = record.descriptor;
  answer_ = nullptr;
  time_ = record.time;
  Cell* const cells = cells_.data();  // the presets' slots are the table's
  for (const Preset& preset : record.values) {
    cells[preset.slot] = {preset.value, epoch_,
                          preset.value.is_null() ? MissReason::absent : MissReason::none};
  }
  for (const SlotId id : slots.addresses()) {
    if (cells[id].epoch == epoch_) read_address(cells[id]);
  }
}

/// A caller that spells an address differently in a record is still the same caller. A value that
/// is not an address is missing, like a failed conversion.
void Frame::read_address(Cell& cell) {
  if (cell.value.is_null() || cell.value.is(Type::address)) return;
  const auto address =
      cell.value.is(Type::text) ? Address::parse(cell.value.as_text()) : std::nullopt;
  const Address* const kept = address ? arena_.make(*address) : nullptr;
  cell.value = kept != nullptr ? Value::address(kept) : Value::null();
  cell.why = kept != nullptr ? MissReason::none : MissReason::failed;
}

void Frame::resume(const SlotTable& slots, const Captured& captured, const Answer& answer,
                   TimePoint event_time, const ListOracle* lists) {
  restart(slots, lists);
  request_ = nullptr;
  answer_ = &answer;
  time_ = event_time;
  for (const Captured::Entry& entry : captured.entries_) {
    if (entry.slot < cells_.size()) cells_[entry.slot] = {entry.value, epoch_, entry.why};
  }
}

void Frame::look_at(const Answer& answer, std::span<const SlotId> of_answers,
                    std::span<const SlotId> not_kept) {
  for (const SlotId id : not_kept) {
    const Value value = load(id);
    if (value.is(Type::json) || value.is(Type::list)) {
      cells_[id] = {Value::null(), epoch_, MissReason::unread};
    }
  }
  for (const SlotId id : of_answers) {
    if (id < cells_.size()) cells_[id].epoch = 0;  // of no request
  }
  answer_ = &answer;
}

Value Frame::compute(SlotId id) {
  WEIR_ASSERT(slots_ != nullptr && id < slots_->size());
  if (cells_.size() < slots_->size())
    cells_.resize(slots_->size());  // the table grew after begin()
  const Slot& slot = (*slots_)[id];
  Extracted got;
  switch (slot.kind) {
    case Slot::Kind::event:
      return event_.empty() ? Value::null() : Value::text(event_);
    case Slot::Kind::value:
      return value_;
    case Slot::Kind::limit:
      return limit_;
    case Slot::Kind::metric:
      return metrics_[slot.argument.index];
    case Slot::Kind::unread:
      return Value::null();
    case Slot::Kind::column:
      // A record's own columns hide these words; if it has none of the name, they mean the same as
      // always.
      if (slot.argument.name == "event")
        return event_.empty() ? Value::null() : Value::text(event_);
      if (slot.argument.name == "time") return Value::integer(to_ms(time_));
      got = Extracted::miss(MissReason::absent);
      break;
    case Slot::Kind::attribute:
      got = slot.extractor->read(*this, slot.argument);
      break;
    case Slot::Kind::computed:
      got.value = expr::evaluate(*slot.program, *this);
      if (slot.varies) return got.value;
      if (got.value.is_null() || got.value.is_error())
        got.why = why_missing(*slot.program, got.value);
      break;
  }
  cells_[id] = {got.value, epoch_, got.why};
  return got.value;
}

MissReason Frame::why_missing(const expr::Program& program, const Value& result) {
  if (result.is_error()) return expr::why_missed(program, *this).why;
  MissReason worst = MissReason::absent;
  for (const SlotId id : program.slots) {
    if (id < cells_.size() && cells_[id].epoch == epoch_) worst = worse(worst, cells_[id].why);
  }
  // A part that cannot be read, and on which null does not depend.
  return is_unread(worst) ? expr::why_missed(program, *this).why : worst;
}

MissReason Frame::why(SlotId id) {
  const Value value = load(id);
  if (!value.is_null() && !value.is_error()) return MissReason::none;
  const Slot& slot = (*slots_)[id];
  if (!slot.varies) return cells_[id].why;
  return slot.program ? why_missing(*slot.program, value) : MissReason::absent;
}

MissReason Frame::why(const Expression& expression, const Value& result) {
  if (!result.is_null() && !result.is_error()) return MissReason::none;
  return why_missing(*expression.program(), result);
}

void Frame::capture(std::span<const SlotId> slots, Captured& into) {
  into.entries_.clear();
  std::size_t bytes = 0;
  for (const SlotId id : slots) {
    // If a record has no column `event` of its own, the word is the name of the current event.
    const bool given = id < cells_.size() && cells_[id].epoch == epoch_;
    if ((*slots_)[id].names_event() && !given) continue;
    Captured::Entry entry{load(id), id, MissReason::none};
    if (entry.value.is(Type::json) || entry.value.is(Type::list)) {
      entry.value = Value::null();
      entry.why = MissReason::unread;
    } else {
      entry.why = why(id);
    }
    bytes += bytes_to_keep(entry.value);
    into.entries_.push_back(entry);
  }
  // The views are made only once the buffer has its size and will not move again.
  if (into.buffer_.size() < bytes) into.buffer_.resize(bytes);
  char* at = into.buffer_.data();
  for (Captured::Entry& entry : into.entries_) {
    if (entry.value.is(Type::text)) {
      const std::string_view text = entry.value.as_text();
      if (!text.empty()) std::memcpy(at, text.data(), text.size());
      entry.value = Value::text({at, text.size()});
      at += text.size();
    } else if (entry.value.is(Type::address)) {
      static_assert(alignof(Address) == 1);
      entry.value = Value::address(new (at) Address(entry.value.as_address()));
      at += sizeof(Address);
    }
  }
}

}  // namespace weir::policies
