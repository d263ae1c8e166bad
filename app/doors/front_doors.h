#pragma once

#include <boost/system/error_code.hpp>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/doors/doors.h"

namespace weir::app {

/// The doors of door_rows() that this configuration wants: makes and opens them, and
/// passes reloads on to them. Lives on the control thread.
class FrontDoors {
 public:
  /// The error that keeps a configured door from opening.
  struct Refused {
    const char* name;
    std::string at;
    boost::system::error_code error;
  };
  /// Each worker's part of this door listens on a socket of its own.
  using Listen = std::function<Result<void>(std::vector<net::Fd> sockets, std::size_t door)>;

  /// Empty: they are made; else why not.
  std::string make(const DoorPlan& plan);
  /// The parts of one worker, in the order of the doors.
  std::vector<std::unique_ptr<WorkerDoor>> on_worker(const DoorParts& parts);
  /// When the workers run. A door at its default address stays closed if another process has the
  /// address.
  std::optional<Refused> open(std::size_t workers, const Listen& listen, Log& log);
  void reload(const config::Server& settings, Log& log);
  /// Adds where each kind of door listens, or "none".
  void say_where(LogLine& line) const;

 private:
  struct OpenDoor {
    const DoorRow* row;
    std::unique_ptr<FrontDoor> door;
    DoorAddress address;
    bool listens = false;
  };
  boost::system::error_code open_one(std::size_t door, std::size_t workers, const Listen& listen);

  std::vector<OpenDoor> front_doors_;
};

}  // namespace weir::app
