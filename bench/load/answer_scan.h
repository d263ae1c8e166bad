#pragma once

#include <cstdint>
#include <string_view>

namespace weir::load {

/// The facts of an answer's head that the generator needs, or of a request's head that the backend
/// needs: enough to find the end of the message and to check it. Not a strict parser: the measured
/// product must be one.
struct HeadScan {
  enum class Status : std::uint8_t { incomplete, complete, malformed };
  Status status = Status::incomplete;
  std::size_t head_bytes = 0;    ///< up to and with the empty line
  int code = 0;                  ///< of an answer
  std::uint64_t body_bytes = 0;  ///< Content-Length, 0 without one
  bool has_length = false;
  bool closes = false;  ///< Connection: close
};

/// `answer`: the first line is a status line. Chunked messages are malformed here: neither our
/// backend nor our generator sends them, and a proxy has no reason to invent them.
HeadScan scan_head(std::string_view bytes, bool answer) noexcept;

}  // namespace weir::load
