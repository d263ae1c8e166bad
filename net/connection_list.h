#pragma once

#include <cstddef>
#include <new>
#include <utility>
#include <vector>

namespace weir::net {

/// The place of a connection in the ConnectionList of its server.
template <class Connection>
struct ConnectionLink {
  Connection* older = nullptr;  ///< of a closed one: the next one that is closed, or free
  Connection* newer = nullptr;
};

/// The connections of one server on one worker, in the order in which they were opened. One that is
/// closed stays as it is until the turn ends, because events of the turn may still name it; then
/// the next client gets it. Owns all of them: call clear() in the end. Nothing but take() and
/// for_each_open() allocates. A `Connection` has a ConnectionLink `link_`, and the list as its
/// friend. Not thread-safe.
template <class Connection>
class ConnectionList {
 public:
  ConnectionList() = default;
  ConnectionList(const ConnectionList&) = delete;
  ConnectionList& operator=(const ConnectionList&) = delete;

  // Those that are open.
  std::size_t size() const noexcept { return size_; }
  Connection* oldest() const noexcept { return oldest_; }
  Connection* newest() const noexcept { return newest_; }
  static Connection* older_than(const Connection& c) noexcept { return c.link_.older; }
  static Connection* newer_than(const Connection& c) noexcept { return c.link_.newer; }
  /// `step` may close any of them.
  template <class Step>
  void for_each_open(Step step) const {
    std::vector<Connection*> all;
    for (Connection* c = newest_; c != nullptr; c = older_than(*c)) all.push_back(c);
    for (Connection* c : all) step(*c);
  }

  /// One for another client, before it is opened. Null: there is no memory.
  template <class Context>
  Connection* take(Context& context) {
    return free_ != nullptr ? pop(free_) : new (std::nothrow) Connection(context);
  }
  void open(Connection& c) noexcept {
    link(c);
    ++size_;
  }
  void renew(Connection& c) noexcept {  ///< it is the newest from now on
    unlink(c);
    link(c);
  }
  void close(Connection& c) noexcept {
    unlink(c);
    --size_;
    push(closed_, c);
  }
  /// At the end of the turn. `last_step`: for each that was closed.
  template <class Step>
  void reclaim(Step last_step) {
    while (closed_ != nullptr) {
      Connection& c = *pop(closed_);
      last_step(c);
      push(free_, c);
    }
  }
  void reclaim() {
    reclaim([](Connection&) {});
  }
  /// After reclaim(), when none is open.
  void clear() noexcept {
    while (free_ != nullptr) delete pop(free_);
  }

 private:
  static void push(Connection*& list, Connection& c) noexcept {
    c.link_.older = std::exchange(list, &c);
  }
  static Connection* pop(Connection*& list) noexcept {
    return std::exchange(list, list->link_.older);
  }
  void link(Connection& c) noexcept {
    c.link_ = {newest_, nullptr};
    (newest_ != nullptr ? newest_->link_.newer : oldest_) = &c;
    newest_ = &c;
  }
  void unlink(Connection& c) noexcept {
    const auto [older, newer] = c.link_;
    (older != nullptr ? older->link_.newer : oldest_) = newer;
    (newer != nullptr ? newer->link_.older : newest_) = older;
  }

  Connection* oldest_ = nullptr;
  Connection* newest_ = nullptr;
  Connection* closed_ = nullptr;  // in this turn
  Connection* free_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace weir::net
