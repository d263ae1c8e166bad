#include "app/serve/few_files.h"

#include "app/doors/doors.h"

namespace weir::app {

void warn_of_few_files(Log& log, const config::Server& settings, const ConnectionShares& shares,
                       std::uint64_t open_files, std::size_t workers) {
  if (shares.clients < settings.limits.connections) {
    log.write(Level::warn,
              LogLine("too few open files for limits.connections: fewer connections are taken")
                  .add("open_files", static_cast<std::int64_t>(open_files))
                  .add("connections", static_cast<std::int64_t>(shares.clients)));
  }
  if (shares.fit) return;
  const std::uint64_t needed = open_files_for(shares.clients, workers, doors_of(settings));
  log.write(Level::warn,
            LogLine("too few open files for all doors: if all of them are full, weir runs out")
                .add("open_files", static_cast<std::int64_t>(open_files))
                .add("needed", static_cast<std::int64_t>(needed)));
}

}  // namespace weir::app
