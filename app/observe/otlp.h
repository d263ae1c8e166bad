#pragma once

#include <span>
#include <string>
#include <string_view>

#include "telemetry/request_facts.h"

namespace weir::app {

/// The service that spans belong to.
struct SpanSource {
  std::string service;  ///< `service.name`
  std::string version;
};

/// Appends the two spans of a request, as OTLP writes them in JSON, with a comma before all but the
/// first: the server's, and within it the exchange with the app, if there was one.
void append_spans(std::string& out, const telemetry::RequestFacts& facts, bool first);
/// The text before and after the spans of one export request.
std::string spans_head(const SpanSource& source);
std::string_view spans_tail() noexcept;

}  // namespace weir::app
