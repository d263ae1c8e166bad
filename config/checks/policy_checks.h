#pragma once

#include "config/text/reader.h"

/// Checks of one policy as a whole, as far as no types are needed.
namespace weir::config {

/// The keys of `sequence` or `pair`, as written.
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
  const Node* metric = nullptr;  ///< the nodes of the keys, if given
  const Node* window = nullptr;
  PatternDraft pattern;
  std::vector<std::size_t> on_score;  ///< rungs that compare the request's score (`score_over`)
  bool has_watch = false;             ///< given, or meant by a misspelt key
  bool has_window = false;            ///< given, or meant by a misspelt key
  bool sound = false;                 ///< every key on its own is valid
};

/// Windows against metrics and rungs, and thresholds that can never hold.
void check_policy(Reader& reader, PolicyDraft& draft);

/// Checks what a place with a radius in the key requires of the rest of the policy.
void check_near(Reader& reader, const PolicyDef& policy);

}  // namespace weir::config
