#pragma once

#include <memory>
#include <string>
#include <vector>

#include "store/redis/script_sharer.h"
#include "store/views/view_sync.h"

namespace weir::store {

/// A view that replicas share, as a policy set names it.
struct ViewToShare {
  std::string name;
  Hash128 identity;  ///< the same at every replica
  std::shared_ptr<limiter::SharedView> view;
  friend bool operator==(const ViewToShare&, const ViewToShare&) = default;
};

/// Shares views with other replicas through Redis (see ScriptSharer). One call a second and view;
/// the calls of all views go out in one write.
class ViewSharer final : public ScriptSharer {
 public:
  /// `secret`: the one that all replicas hash keys with. `origin`: random, of this process.
  /// `fold_age`: ViewSync::kFoldAge but in tests.
  ViewSharer(net::Worker& worker, const HashSecret& secret, Settings settings, std::uint64_t origin,
             milliseconds fold_age = ViewSync::kFoldAge);

  /// Shares these views from now on; views that stay continue without interruption.
  void use(const std::vector<ViewToShare>& views);

 private:
  class ViewSide;

  const HashSecret secret_;
  const std::uint64_t origin_;
  const milliseconds fold_age_;
};

}  // namespace weir::store
