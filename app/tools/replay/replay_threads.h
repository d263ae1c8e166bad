#pragma once

#include <string>

#include "replay/replay.h"
#include "replay/split.h"

namespace weir::app {

/// How many threads a replay may have.
struct Threads {
  std::size_t asked = 0;  ///< the flag; 0: one for each core that this process may use
  unsigned most = 1;
  std::string why;  ///< why `most` is 1, if that is known before the policies are read
};

/// A small input is not worth a second thread. `store`: a Redis is asked about each event, in their
/// order.
Threads threads_for(std::size_t asked, const replay::Plan& plan, bool store);

/// Says on stderr that more threads were asked for than can be used, and why; `verbose`: in any
/// case how the work is shared out.
void tell_threads(const replay::Split& split, const Threads& threads, bool verbose);

/// On how many threads the replays of a configuration can run, for people.
std::string threads_text(const policies::PolicySet& set);
std::string threads_json(const policies::PolicySet& set);

}  // namespace weir::app
