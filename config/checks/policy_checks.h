#pragma once

#include "config/text/reader.h"

/// What can be wrong in one policy beyond each key by itself, as far as no types are needed.
namespace weir::config {

/// What `sequence` or `pair` and the words beside it said; keys where they stand.
struct PatternDraft {
  PatternDef def;
  const Node* key = nullptr;  ///< `sequence` or `pair`; null: no pattern
  const Node* within = nullptr;
  const Node* sides = nullptr;  ///< `within` as a map
  const Node* strict = nullptr;
  const Node* among = nullptr;
  const Node* overlap = nullptr;
};

struct PolicyDraft {
  PolicyDef policy;
  const Node* map = nullptr;     ///< the whole policy
  const Node* metric = nullptr;  ///< keys, where they stand
  const Node* window = nullptr;
  PatternDraft pattern;
  bool has_watch = false;   ///< stands there, or was meant
  bool has_window = false;  ///< stands there, or was meant
  bool sound = false;       ///< every key by itself was right
};

/// Windows against metrics and rungs, and thresholds that can never hold.
void check_policy(Reader& reader, PolicyDraft& draft);

/// What a place with a radius in the key asks of the rest of the policy.
void check_near(Reader& reader, const PolicyDef& policy);

}  // namespace weir::config
