#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/address.h"
#include "core/clock.h"

namespace weir {

/// One header field, as received on the wire (value without surrounding blanks).
struct HeaderField {
  std::string_view name;
  std::string_view value;
};

/// How much of a body its reader may look at.
enum class BodyState : std::uint8_t {
  not_read,   ///< no policy reads it
  complete,   ///< all of it (also: there is none, and the view is empty)
  too_large,  ///< over `limits.body`
  encoded,    ///< has a Content-Encoding that the reader does not decode
  broken,     ///< cut short, a damaged coding, or a part only (206)
};

struct PathReadings;

/// Facts about a request, beside HTTP, from a proxy that asks weir (policies/lang/asked_facts.h).
class AskedFacts;

/// A request as a front door saw it: views into the door's buffers, alive for one judgement. A text
/// whose data() is null is not known (null in expressions).
struct Request {
  /// When its head was complete: `time` in expressions. Counters count it at the instant of its
  /// judgement, which may be later (policies/judgement/judgement.h).
  TimePoint time;
  std::string_view method;  ///< "GET"
  std::string_view target;  ///< origin-form in normal form, with the query: `url`
  std::string_view path;    ///< normal form (RFC 3986), without the query: policies match it
  /// `path` with the letters as the app gets them, where proxy.path folds them. Empty: as in
  /// `path`.
  std::string_view cased_path;
  std::string_view query;                ///< after '?', undecoded, without it
  std::string_view host;                 ///< lower case, without port
  std::string_view scheme;               ///< "http" or "https"
  Address client;                        ///< as the client-address rules determine it
  std::span<const HeaderField> headers;  ///< as received, in order
  BodyState body_state = BodyState::not_read;
  std::string_view body;              ///< if complete
  const AskedFacts* facts = nullptr;  ///< null: there are none
  std::string_view id;  ///< X-Request-Id: a trusted peer's, or the door's own; may be empty
  /// How servers may read the path; null: all read it in the same way (PathReadings::is_plain()).
  const PathReadings* readings = nullptr;
};

/// The answer of the app.
struct Answer {
  int status = 0;  ///< 0: unknown
  std::span<const HeaderField> headers;
  BodyState body_state = BodyState::not_read;
  std::string_view body;
};

}  // namespace weir
