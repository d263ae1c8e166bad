#include "app/doors/front_doors.h"

#include <algorithm>
#include <utility>

#include "app/doors/settings.h"
#include "net/socket.h"

namespace weir::app {

std::string FrontDoors::make(const DoorPlan& plan) {
  for (const DoorRow& row : door_rows()) {
    DoorAddress address = row.address(plan.settings);
    if (!address.at) continue;
    std::string why;
    auto door = row.make(plan, why);
    if (door == nullptr) return why;
    front_doors_.push_back({&row, std::move(door), std::move(address)});
  }
  return {};
}

std::vector<std::unique_ptr<WorkerDoor>> FrontDoors::on_worker(const DoorParts& parts) {
  std::vector<std::unique_ptr<WorkerDoor>> out;
  for (const OpenDoor& door : front_doors_) out.push_back(door.door->on_worker(parts));
  return out;
}

boost::system::error_code FrontDoors::open_one(std::size_t door, std::size_t workers,
                                               const Listen& listen) {
  const auto address = door_address(*front_doors_[door].address.at, nullptr);
  if (!address) return address.error();
  if (const auto taken = is_taken(*address)) return taken;
  auto sockets = net::open_listeners(*address, workers);
  if (!sockets) return sockets.error();
  const auto started = listen(std::move(*sockets), door);
  return started ? boost::system::error_code() : started.error();
}

std::optional<FrontDoors::Refused> FrontDoors::open(std::size_t workers, const Listen& listen,
                                                    Log& log) {
  for (std::size_t i = 0; i < front_doors_.size(); ++i) {
    OpenDoor& door = front_doors_[i];
    const boost::system::error_code error = open_one(i, workers, listen);
    door.listens = !error;
    if (!error) continue;
    const std::string name = door.row->name;
    const std::string at = endpoint_text(*door.address.at);
    if (door.address.is_asked_for || error != boost::system::errc::address_in_use) {
      return Refused{door.row->name, at, error};
    }
    // The address is a default: a second weir on this machine runs without the door.
    log.write(Level::warn,
              LogLine("no " + std::string(door.row->title) + " door: its port is taken")
                  .add("address", at)
                  .add("hint", "set " + name + ".listen to another one, or to none"));
  }
  return std::nullopt;
}

void FrontDoors::reload(const config::Server& settings, Log& log) {
  for (const OpenDoor& door : front_doors_) door.door->reload(settings, log);
}

void FrontDoors::say_where(LogLine& line) const {
  for (const DoorRow& row : door_rows()) {
    const auto is_open = [&](const OpenDoor& one) { return one.row == &row && one.listens; };
    const auto one = std::find_if(front_doors_.begin(), front_doors_.end(), is_open);
    line.add(row.name, one == front_doors_.end() ? "none" : endpoint_text(*one->address.at));
  }
}

}  // namespace weir::app
