#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "limiter/exchange/shared_op.h"

namespace weir::policies {

/// Whether an operation counts the event, or reserves for it.
inline bool adds(limiter::SharedVerb verb) {
  return verb == limiter::SharedVerb::add || verb == limiter::SharedVerb::reserve;
}

/// Whether two events count the same.
inline bool is_same(const limiter::Amount& a, const limiter::Amount& b) {
  return a.amount == b.amount && a.member == b.member && a.datum == b.datum;
}

/// Operations for the shared store, one for each key, and the replies of the store.
/// Reused: keeps its memory. Movable by swap; the operations stay where they are.
class StoreOps {
 public:
  /// One operation, and the memory behind its views.
  struct Item {
    limiter::SharedOp op;
    std::array<limiter::SharedPart, limiter::SharedOp::kPartsMax> parts;
    std::string key;
    limiter::Datum datum;
    std::string text;
    limiter::PatternAsk pattern;
    std::string place, payload;
  };
  StoreOps() = default;
  StoreOps(StoreOps&&) = default;
  StoreOps& operator=(StoreOps&&) = default;

  bool empty() const noexcept { return size_ == 0; }
  std::size_t size() const noexcept { return size_; }
  void clear() noexcept {
    size_ = 0;
    owners_.clear();
  }

  /// Keeps the owner of the operations' counters alive until clear(): for operations that may
  /// outlive their policies.
  void keep(const std::shared_ptr<const void>& owner);

  /// A new operation on this key, without parts. Copies the event's datum.
  Item& add(limiter::SharedVerb verb, std::string_view key, const limiter::Amount& event,
            const limiter::SharedId& id);
  /// A new operation on a pattern. Copies its texts.
  Item& add_pattern(limiter::SharedVerb verb, std::string_view key, const limiter::PatternAsk& ask,
                    const limiter::SharedId& id);
  /// Adds a counter to an operation that has room.
  static void add_part(Item& item, const limiter::SharedPart& part) noexcept;
  Item& operator[](std::size_t i) noexcept { return *items_[i]; }
  const Item& operator[](std::size_t i) const noexcept { return *items_[i]; }

  /// The data of all operations, for their submitter: valid until the next add() or clear().
  std::span<const limiter::SharedOp> ops();
  std::span<limiter::SharedReply> replies();
  const limiter::SharedReply& reply(std::size_t i) const noexcept { return replies_[i]; }

 private:
  std::vector<std::unique_ptr<Item>> items_;
  std::size_t size_ = 0;
  std::vector<std::shared_ptr<const void>> owners_;
  std::vector<limiter::SharedOp> ops_;
  std::vector<limiter::SharedReply> replies_;
};

}  // namespace weir::policies
