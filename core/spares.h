#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weir {

/// A pool of objects. The pool makes an object when none is free, and keeps all objects until its
/// end: after a while nothing is allocated. A borrowed object does not move. Not thread-safe.
template <class T>
class Spares {
 public:
  /// Borrows a free object in the state in which it was returned, or makes a new one from
  /// `arguments`.
  template <class... Arguments>
  T& lend(Arguments&&... arguments) {
    if (free_.empty()) [[unlikely]]
      return make(std::forward<Arguments>(arguments)...);
    T& out = *free_.back();
    free_.pop_back();
    return out;
  }
  void take_back(T& lent) noexcept { free_.push_back(&lent); }  // there is room for all of them

  const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }
  bool is_any_lent() const noexcept { return free_.size() != all_.size(); }

 private:
  /// Out of line: it happens while the pool grows, and lend() is on the path of every request.
  template <class... Arguments>
  [[gnu::noinline]] T& make(Arguments&&... arguments) {
    // First: a pool without room for all of its objects could not take one back.
    if (free_.capacity() <= all_.size()) free_.reserve(2 * all_.size() + 1);
    all_.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
    return *all_.back();
  }

  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

}  // namespace weir
