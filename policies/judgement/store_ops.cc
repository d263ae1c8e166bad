#include "policies/judgement/store_ops.h"

#include "core/assert.h"

namespace weir::policies {

StoreOps::Item& StoreOps::add(limiter::SharedVerb verb, std::string_view key,
                              const limiter::Amount& event, const limiter::SharedId& id) {
  if (size_ == items_.size()) items_.push_back(std::make_unique<Item>());
  Item& item = *items_[size_];
  item.op = {};
  item.op.verb = verb;
  item.key = key;
  item.op.key = item.key;
  item.op.event = event;
  item.op.id = id;
  if (event.datum != nullptr) {
    item.datum = *event.datum;
    item.text = event.datum->text;
    item.datum.text = item.text;
    item.op.event.datum = &item.datum;
  }
  ++size_;  // last: without memory for it, there is no half of an operation
  return item;
}

StoreOps::Item& StoreOps::add_pattern(limiter::SharedVerb verb, std::string_view key,
                                      const limiter::PatternAsk& ask, const limiter::SharedId& id) {
  Item& item = add(verb, key, {}, id);
  --size_;  // as in add()
  item.pattern = ask;
  item.place = ask.key;
  item.payload = ask.event.payload;
  item.pattern.key = item.place;
  item.pattern.event.payload = item.payload;
  item.op.pattern = &item.pattern;
  ++size_;
  return item;
}

void StoreOps::add_part(Item& item, const limiter::SharedPart& part) noexcept {
  const std::size_t size = item.op.parts.size();
  WEIR_ASSERT(size < item.parts.size());
  item.parts[size] = part;
  item.op.parts = {item.parts.data(), size + 1};
}

void StoreOps::keep(const std::shared_ptr<const void>& owner) {
  if (owners_.empty() || owners_.back() != owner) owners_.push_back(owner);
}

std::span<const limiter::SharedOp> StoreOps::ops() {
  ops_.clear();
  for (std::size_t i = 0; i < size_; ++i) ops_.push_back(items_[i]->op);
  return ops_;
}

std::span<limiter::SharedReply> StoreOps::replies() {
  if (replies_.size() < size_) replies_.resize(size_);
  return {replies_.data(), size_};
}

}  // namespace weir::policies
