#pragma once

#include <span>
#include <string_view>

#include "policies/lang/extractors.h"
#include "policies/lang/slots.h"

namespace weir {

namespace policies {
class Arena;
}

/// What a proxy that asks about a request says of it beside HTTP: Envoy's constants of the route
/// and the metadata of its filters. No client can put anything there. Alive as long as the Request;
/// views in what it gives live as long, or until the arena is reset.
class AskedFacts {
 public:
  virtual policies::Extracted context(std::string_view name) const noexcept = 0;
  /// The first step names the filter's namespace.
  virtual policies::Extracted metadata(policies::Arena& arena,
                                       std::span<const policies::PathStep> path) const noexcept = 0;

 protected:
  ~AskedFacts() = default;
};

}  // namespace weir
