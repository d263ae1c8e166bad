#pragma once

#include <vector>

#include "policies/judge/key_hashing.h"
#include "policies/judgement/prepared.h"

namespace weir::policies {

/// Computes the part of a judgement that depends on the request alone: its routes and the hashes of
/// its keys. So a thread that reads requests can do this work for the thread that judges them. One
/// per thread; no allocation after warm-up.
class Preparing final {
 public:
  /// Both must outlive it.
  Preparing(const PolicySet& set, const HashSecret& secret);

  void prepare(const Request& request, Prepared& out);

 private:
  struct Key {
    KeyId id;
    const std::vector<KeySlot>* parts;  // the set's
  };
  void note(EventIndex event, const std::vector<KeySlot>& parts, KeyId id);
  void hash_keys(EventIndex base, Prepared& out);

  const PolicySet& set_;
  std::vector<std::vector<Key>> keys_of_;  // by base event: all keys that may be needed
  Frame frame_;
  KeyHashing hashing_;
};

}  // namespace weir::policies
