#pragma once

#include <memory>
#include <span>
#include <string>

#include "app/doors/door.h"
#include "app/support/machine.h"

namespace weir::app {

/// A kind of front door. To add one: a folder here with its code, and its row in doors.cc. The
/// start, reloads, the drain, the log and the budget of connections read the rows.
struct DoorRow {
  const char* name;   ///< of the section of its settings, and in the log
  const char* title;  ///< for people
  DoorAddress (*address)(const config::Server& settings);
  /// Null: it cannot be made, and `why` names the setting and the reason.
  std::unique_ptr<FrontDoor> (*make)(const DoorPlan& plan, std::string& why);
};
std::span<const DoorRow> door_rows() noexcept;

/// How many of them this configuration wants, and whether it asks for one by name.
std::size_t wanted_doors(const config::Server& settings);
bool asks_for_door(const config::Server& settings);
/// The descriptors that share_connections() must reserve for the doors.
OpenDoors doors_of(const config::Server& settings);
/// Whether others ask here, at whatever door, so that weir need not be a proxy itself.
bool is_asked(const config::Server& settings);

}  // namespace weir::app
