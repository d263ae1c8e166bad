#pragma once

#include "config/reader.h"

/// What can be wrong in one policy beyond each key by itself, as far as no types are needed.
namespace weir::config {

struct PolicyDraft {
  PolicyDef policy;
  const Node* map = nullptr;     ///< the whole policy
  const Node* metric = nullptr;  ///< keys, where they stand
  const Node* window = nullptr;
  bool has_window = false;  ///< stands there, or was meant
  bool sound = false;       ///< every key by itself was right
};

/// Windows against metrics and rungs, and thresholds that can never hold.
void check_policy(Reader& reader, const PolicyDraft& draft);

}  // namespace weir::config
