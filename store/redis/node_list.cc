#include "store/redis/node_list.h"

namespace weir::store {
namespace {

constexpr std::uint64_t kSeedStep = 7919;  // so that each node's jitter is its own

}  // namespace

Node& NodeList::add(Connection::Greeting greeting) {
  return *all_.emplace_back(std::make_unique<Node>(worker_, settings_, greeting, pending_, owner_,
                                                   seed_ + all_.size() * kSeedStep));
}

Node* NodeList::at(const Endpoint& endpoint) {
  Node* free = nullptr;
  for (auto& node : all_) {
    if (running_ && node->connection().is_off()) free = node.get();
    if (node->connection().endpoint() != endpoint) continue;
    if (running_) node->connection().start();
    return node.get();
  }
  if (free == nullptr) {
    if (all_.size() >= kMost) return nullptr;
    free = &add(Connection::Greeting::ping);
  }
  free->connection().set_endpoint(endpoint);
  if (running_) free->connection().start();
  return free;
}

void NodeList::retire(const std::vector<bool>& owns) {
  for (std::size_t i = kept_; i < all_.size(); ++i) {
    Node& node = *all_[i];
    if (!owns[i] && !node.connection().ready() && node.in_flight() == 0) node.connection().stop();
  }
}

void NodeList::start() {
  running_ = true;
  for (auto& node : all_) node->connection().start();
}

void NodeList::stop() {
  running_ = false;
  for (auto& node : all_) {
    node->end_turn();
    node->connection().stop();
  }
}

/// By index: a connection that drops may make the list longer.
void NodeList::end_turn() {
  for (std::size_t i = 0; i < all_.size(); ++i) all_[i]->end_turn();
}

bool NodeList::is_away() const noexcept {
  return std::none_of(all_.begin(), all_.end(), [](const auto& node) { return node->admits(); });
}

std::uint64_t NodeList::connects() const noexcept {
  std::uint64_t out = 0;
  for (const auto& node : all_) out += node->connection().connects();
  return out;
}

}  // namespace weir::store
