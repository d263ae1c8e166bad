#pragma once

#include <string>
#include <string_view>

#include "core/key.h"

namespace weir::store {

/// The beginning of the names of the keys of one list or view: `weir:<what>:<name>:{<hash>}`, with
/// `id` as the hash. All of them lie in one slot of a cluster.
std::string key_stem(std::string_view what, std::string_view name, const Hash128& id);

}  // namespace weir::store
