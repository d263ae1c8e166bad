#pragma once

#include <memory>
#include <string>

#include "app/doors/door.h"

namespace weir::app {

/// The door for Envoy and others that ask by gRPC: external authorization, the rate limit service,
/// health.
DoorAddress grpc_address(const config::Server& settings);
std::unique_ptr<FrontDoor> make_grpc_door(const DoorPlan& plan, std::string& why);

}  // namespace weir::app
