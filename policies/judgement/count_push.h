#pragma once

#include "limiter/exchange/sync_push.h"
#include "policies/judgement/store_ops.h"

namespace weir::policies {

/// Adds the operation that sends the counts of one key since the push before. The push must
/// outlive the operation.
inline void add_push(StoreOps& operations, const limiter::SyncPush& push) {
  StoreOps::Item& item =
      operations.add(push.verb, push.name, {push.amount, push.member, nullptr}, push.id);
  item.op.again = push.again;
  item.op.lifetime = push.lifetime;
  StoreOps::add_part(item, {push.counter.get(), {}, 0});
}

}  // namespace weir::policies
