#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "store/redis/node.h"

namespace weir::store {

/// The servers of a store, of which a Cluster has many. None is ever destroyed before the store:
/// one that has retired is off, and another address takes its place.
class NodeList {
 public:
  static constexpr std::size_t kMost = 256;

  NodeList(net::Worker& worker, const Settings& settings, PendingBatches& pending,
           Node::Owner& owner, std::uint64_t seed)
      : worker_(worker), settings_(settings), pending_(pending), owner_(owner), seed_(seed) {}

  /// At no address yet.
  Node& add(Connection::Greeting greeting);
  /// The one of this address, made if need be. Null: there are too many.
  Node* at(const Endpoint& endpoint);
  /// The nodes that are known now never retire.
  void keep() noexcept { kept_ = all_.size(); }
  /// Retires the nodes that have left, perhaps for another address, as they do in Kubernetes.
  /// `owns`: for each index, whether the node has not left.
  void retire(const std::vector<bool>& owns);

  void start();
  void stop();  ///< sends as much as possible
  void end_turn();

  bool is_away() const noexcept;  ///< no server takes operations now
  std::uint64_t connects() const noexcept;

  auto begin() const noexcept { return all_.begin(); }
  auto end() const noexcept { return all_.end(); }
  std::size_t size() const noexcept { return all_.size(); }
  Node& operator[](std::size_t i) const noexcept { return *all_[i]; }

 private:
  net::Worker& worker_;
  const Settings& settings_;
  PendingBatches& pending_;
  Node::Owner& owner_;
  const std::uint64_t seed_;
  std::vector<std::unique_ptr<Node>> all_;
  std::size_t kept_ = 0;
  bool running_ = false;
};

}  // namespace weir::store
