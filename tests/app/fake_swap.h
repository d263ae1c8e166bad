#pragma once

#include <string>
#include <vector>

#include "app/change/operator_changes.h"

namespace weir::app {

/// Notes what is put in use, or refuses it.
struct FakeSwap final : Swap {
  boost::asio::awaitable<std::string> put_in_use(const Configuration& next) override {
    if (!refusal.empty()) co_return refusal;
    in_use.push_back(next.set->source_hash);
    co_return std::string();
  }
  std::vector<std::string> in_use;
  std::string refusal;
};

}  // namespace weir::app
