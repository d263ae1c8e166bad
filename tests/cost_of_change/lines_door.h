#pragma once

#include <memory>
#include <string>

#include "app/doors/door.h"

namespace weir::app {

/// Answers lines over TCP: `METHOD PATH ADDRESS` with `pass`, or with the status of the refusal.
DoorAddress lines_address(const config::Server& settings);
std::unique_ptr<FrontDoor> make_lines_door(const DoorPlan& plan, std::string& why);

}  // namespace weir::app
