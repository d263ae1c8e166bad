#include "proxy/eviction.h"

#include <algorithm>
#include <tuple>

#include "proxy/context.h"
#include "proxy/session.h"

namespace weir::proxy {

void make_room(Context& context) {
  net::BlockPool& blocks = context.worker.blocks();
  std::vector<Session*>& all = context.evictable;
  all.clear();
  const net::ConnectionList<Session>& sessions = context.sessions;
  for (Session* s = sessions.newest(); s != nullptr; s = sessions.older_than(*s)) {
    if (s->held_bytes() != 0) all.push_back(s);
  }
  std::sort(all.begin(), all.end(), [](const Session* a, const Session* b) {
    return std::make_tuple(a->eviction_rank(), a->time()) <
           std::make_tuple(b->eviction_rank(), b->time());
  });
  for (Session* s : all) {
    if (blocks.in_use() <= blocks.low_water()) return;
    s->evict();  // may close others
  }
}

}  // namespace weir::proxy
