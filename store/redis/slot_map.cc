#include "store/redis/slot_map.h"

#include <algorithm>

namespace weir::store {

Node* SlotMap::node_of(unsigned slot) const noexcept {
  const std::uint16_t at = owners_[slot];
  return at == 0 ? nullptr : &nodes_[at - 1U];
}

std::uint16_t SlotMap::index_of(const Node* node) const noexcept {
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (&nodes_[i] == node) return static_cast<std::uint16_t>(i + 1);
  }
  return 0;
}

Node* SlotMap::target_of(Node& from, const Redirect& to) {
  Endpoint endpoint = to.to;
  if (endpoint.host.empty()) endpoint.host = from.connection().endpoint().host;
  Node* const target = nodes_.at(endpoint);
  if (target != nullptr && !to.ask) owners_[to.slot] = index_of(target);
  return target;
}

bool SlotMap::admit() const noexcept {
  return std::all_of(owners_.begin(), owners_.end(),
                     [this](std::uint16_t at) { return at != 0 && nodes_[at - 1U].admits(); });
}

TimePoint SlotMap::want(TimePoint now) {
  wanted_ = true;
  if (now < asked_ + kAgain) return asked_ + kAgain;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    Node& node = nodes_[(turn_ + i) % nodes_.size()];
    if (!node.connection().ready()) continue;
    turn_ += i + 1;
    asked_ = now;
    wanted_ = false;
    node.ask_slots();
    break;
  }
  return now + kAgain;
}

TimePoint SlotMap::look(TimePoint now) {
  return wanted_ || now - known_ >= kEvery ? want(now) : known_ + kEvery;
}

bool SlotMap::take(Node& node, const Reply& reply, TimePoint now) {
  if (reply.is_error()) {  // asked again in a while, of another
    why_ = node.refusal(reply.text());
    return false;
  }
  const std::string& here = node.connection().endpoint().host;
  std::vector<std::uint16_t> fresh(kSlots, 0);
  const bool good = read_slots(reply, [&](unsigned first, unsigned last, const Endpoint& master) {
    Endpoint endpoint = master;
    if (endpoint.host.empty()) endpoint.host = here;
    std::fill(fresh.begin() + first, fresh.begin() + last + 1, index_of(nodes_.at(endpoint)));
  });
  if (!good) return false;
  owners_.swap(fresh);
  why_.clear();
  retire();
  known_ = now;
  return true;
}

void SlotMap::retire() {
  std::vector<bool> owns(nodes_.size());
  for (const std::uint16_t at : owners_) {
    if (at != 0) owns[at - 1U] = true;
  }
  nodes_.retire(owns);
}

}  // namespace weir::store
