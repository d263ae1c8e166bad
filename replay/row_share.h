#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/key.h"
#include "policies/lang/frame.h"
#include "replay/formats.h"

namespace weir::replay {

/// Says which of several threads a row belongs to: that of its value of one field, by a hash. Rows
/// without a value are one thread's. Every thread has its own. Not thread-safe.
class RowShare {
 public:
  /// `set` must outlive it; `places` as Split has them.
  RowShare(const policies::PolicySet& set, const std::map<std::string, policies::KeySlot>& places,
           const HashSecret& secret, unsigned threads);

  /// `event`: the one that the row's file is of.
  unsigned owner(const Row& row, policies::EventIndex event);

 private:
  const policies::PolicySet& set_;
  HashSecret secret_;
  unsigned threads_;
  std::vector<std::optional<policies::KeySlot>> places_;  // by event
  policies::Frame frame_;
  KeyBuilder builder_;
};

}  // namespace weir::replay
