#pragma once

#include <memory>
#include <utility>
#include <vector>

namespace weir {

/// Things that are lent and come back, made when there is none to lend and kept until the end: once
/// there are enough, nothing is allocated. What is lent stays where it is. Not thread-safe.
template <class T>
class Spares {
 public:
  /// One that is free, as it came back, or a new one made of `arguments`.
  template <class... Arguments>
  T& lend(Arguments&&... arguments) {
    if (free_.empty()) {
      all_.push_back(std::make_unique<T>(std::forward<Arguments>(arguments)...));
      free_.reserve(all_.capacity());
      return *all_.back();
    }
    T& out = *free_.back();
    free_.pop_back();
    return out;
  }
  void take_back(T& lent) noexcept { free_.push_back(&lent); }  // there is room for all of them

  const std::vector<std::unique_ptr<T>>& all() const noexcept { return all_; }
  bool is_any_lent() const noexcept { return free_.size() != all_.size(); }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
};

}  // namespace weir
