#include "policies/lang/slots.h"

#include <algorithm>

#include "policies/lang/expr/expression.h"
#include "policies/lang/expr/program.h"
#include "policies/lang/extractors.h"

namespace weir::policies {
namespace {

Slot special(Slot::Kind kind, Type type, std::string text) {
  Slot slot;
  slot.kind = kind;
  slot.type = type;
  slot.varies = true;
  slot.text = std::move(text);
  return slot;
}

}  // namespace

SlotTable::SlotTable() {
  intern(special(Slot::Kind::event, Type::text, "event"));
  intern(special(Slot::Kind::value, Type::dyn, "value"));
  intern(special(Slot::Kind::limit, Type::dyn, "limit"));
}

SlotId SlotTable::intern(Slot slot) {
  const auto found = by_text_.find(slot.text);
  if (found != by_text_.end()) return found->second;
  if (slots_.size() >= kMax) {
    full_ = true;
    return static_cast<SlotId>(slots_.size() - 1);
  }
  const auto id = static_cast<SlotId>(slots_.size());
  by_text_.emplace(slot.text, id);
  if (slot.type == Type::address && slot.kind != Slot::Kind::attribute) addresses_.push_back(id);
  slots_.push_back(std::make_unique<const Slot>(std::move(slot)));
  return id;
}

SlotId SlotTable::attribute(const ExtractorRow& row, Argument argument) {
  Slot slot;
  slot.kind = Slot::Kind::attribute;
  slot.type = row.type;
  slot.side = row.side;
  slot.needs_body = row.needs_body && row.side == Side::request;
  slot.needs_answer_body = row.needs_body && row.side == Side::answer;
  slot.client_asserted = row.client_asserted;
  slot.reads_header = row.form == ArgumentForm::header && row.side == Side::request;
  slot.text = attribute_text(row, argument);
  slot.extractor = &row;
  slot.argument = std::move(argument);
  const SlotId id = intern(std::move(slot));
  if (row.name == "ip" && !full_) client_ = id;
  return id;
}

SlotId SlotTable::segment(std::uint32_t k) {
  Argument argument;
  argument.index = k;
  return attribute(*find_extractor("segment"), std::move(argument));
}

SlotId SlotTable::entry(std::uint32_t k) {
  Argument argument;
  argument.index = k;
  return attribute(*find_extractor("entry"), std::move(argument));
}

SlotId SlotTable::metric(std::uint32_t k) {
  Slot slot = special(Slot::Kind::metric, Type::dyn, "metric " + std::to_string(k));
  slot.argument.index = k;
  return intern(std::move(slot));
}

SlotId SlotTable::unread() {
  Slot slot;
  slot.kind = Slot::Kind::unread;
  slot.text = "(unread)";
  return intern(std::move(slot));
}

SlotId SlotTable::column(std::string_view source, std::string_view name, Type type) {
  Slot slot;
  slot.kind = Slot::Kind::column;
  slot.type = type;
  slot.source = source;
  slot.argument.name = name;
  slot.text = "column " + slot.source + "." + slot.argument.name;
  return intern(std::move(slot));
}

std::optional<SlotId> SlotTable::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  if (found == by_text_.end()) return std::nullopt;
  return found->second;
}

SlotId SlotTable::computed(const Expression& expression) {
  if (const auto slot = expression.slot()) return *slot;
  Slot slot;
  slot.kind = Slot::Kind::computed;
  slot.type = expression.type();
  slot.side = expression.side();
  slot.needs_body = expression.needs_body();
  slot.needs_answer_body = expression.needs_answer_body();
  slot.client_asserted = expression.client_asserted();
  slot.reads_header = std::any_of(expression.slots().begin(), expression.slots().end(),
                                  [this](SlotId id) { return slots_[id]->reads_header; });
  slot.varies = expression.varies();
  slot.depth = expression.program()->depth;
  slot.text = expression.canonical();
  slot.program = expression.program();
  return intern(std::move(slot));
}

}  // namespace weir::policies
