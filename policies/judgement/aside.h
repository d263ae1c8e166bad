#pragma once

#include <cstdint>
#include <memory>

#include "policies/judgement/asking.h"
#include "policies/judgement/loaded.h"
#include "policies/judgement/plan.h"

namespace weir::policies {

/// A judgement that waits for the shared store. Reused: keeps its memory.
struct Aside {
  std::shared_ptr<const Loaded> loaded;
  Plan plan;
  Asking asking;
  Instant at{};
  TimePoint happened{};
  std::uint64_t line = 0;
};

}  // namespace weir::policies
