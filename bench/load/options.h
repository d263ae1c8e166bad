#pragma once

#include <optional>

#include "bench/load/backend.h"
#include "bench/load/endpoint.h"
#include "bench/load/generator.h"
#include "bench/load/requests.h"

namespace weir::load {

/// The command line, checked. With a target it generates, with a backend it answers, with both it
/// does both in one loop. Always bounded: by `seconds` (at most an hour) or by a number of
/// requests.
struct Options {
  std::optional<Endpoint> target, backend;
  Generator::Options generator;
  Backend::Options app;
  Requests::Options request;
  double seconds = 10, warmup = 0, grace = 5;  ///< grace: patience for the last answers
  int proxy_pid = 0;                           ///< the process whose CPU time is measured; 0 = none
  bool json = false;
};

/// Throws UsageError; exits by itself for --help.
Options read_options(int argc, char** argv);

}  // namespace weir::load
