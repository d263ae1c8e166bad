#include "app/doors/doors.h"

#include <algorithm>
#include <array>

#include "app/doors/grpc/door.h"
#include "app/doors/settings.h"

namespace weir::app {
namespace {

constexpr std::array kDoorRows{
    DoorRow{"grpc", "gRPC", grpc_address, make_grpc_door},
};

}  // namespace

std::span<const DoorRow> door_rows() noexcept { return kDoorRows; }

std::size_t wanted_doors(const config::Server& settings) {
  return static_cast<std::size_t>(
      std::count_if(kDoorRows.begin(), kDoorRows.end(),
                    [&](const DoorRow& row) { return row.address(settings).at.has_value(); }));
}

bool asks_for_door(const config::Server& settings) {
  return std::any_of(kDoorRows.begin(), kDoorRows.end(),
                     [&](const DoorRow& row) { return row.address(settings).is_asked_for; });
}

OpenDoors doors_of(const config::Server& settings) {
  OpenDoors out{wanted_doors(settings), has_doors(settings), !settings.api.none};
  if (settings.redis)
    out.stores = std::max<std::size_t>(
        {1, settings.redis->sentinels.size() + 1, settings.redis->cluster.size()});
  return out;
}

bool is_asked(const config::Server& settings) {
  return asks_for_door(settings) || has_doors(settings) || has_rate_limit_paths(settings);
}

}  // namespace weir::app
