#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "store/redis/node_list.h"
#include "store/redis/slots.h"

namespace weir::store {

/// Which node of a Cluster has which slot, and when to ask for it. Time is an argument.
class SlotMap {
 public:
  explicit SlotMap(NodeList& nodes) : nodes_(nodes), owners_(kSlots, 0) {}

  /// Null: unknown.
  Node* node_of(unsigned slot) const noexcept;
  /// Where `from` sends an operation or call instead; MOVED is remembered. Null: too many nodes.
  Node* target_of(Node& from, const Redirect& to);
  /// Whether all slots have a node that admits operations.
  bool admit() const noexcept;

  /// Asks a node for the map, unless one was asked just now. Returns when to look again.
  TimePoint want(TimePoint now);
  /// Asks if it is time to. Returns when to look again.
  TimePoint look(TimePoint now);
  bool is_wanted() const noexcept { return wanted_; }
  /// The answer. False: it was none.
  bool take(Node& node, const Reply& reply, TimePoint now);
  /// Why the map is unknown, for people; empty: it is known.
  const std::string& why() const noexcept { return why_; }

 private:
  static constexpr milliseconds kAgain{100};  ///< between two questions, at least
  static constexpr milliseconds kEvery{5'000};

  std::uint16_t index_of(const Node* node) const noexcept;
  void retire();

  NodeList& nodes_;
  std::vector<std::uint16_t> owners_;  // of each slot: the node's index + 1, 0: unknown
  TimePoint asked_{}, known_{};
  bool wanted_ = false;
  std::size_t turn_ = 0;  // the next node to ask
  std::string why_;
};

}  // namespace weir::store
