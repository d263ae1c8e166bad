#pragma once

#include <span>
#include <string_view>

#include "policies/lang/extractors.h"
#include "policies/lang/slots.h"

namespace weir {

namespace policies {
class Arena;
}

/// Facts about a request, beside HTTP, from a proxy that asks weir: Envoy's constants of the route
/// and the metadata of its filters. No client can write them. Alive as long as the Request; the
/// views that it returns live as long, or until the arena is reset.
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
