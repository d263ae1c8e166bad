#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/time_pattern.h"

namespace weir::replay {

/// `--map ts.millis=time,path=uri,ip="client,address"`: which member of a JSON line, or column of a
/// csv file, is which part of an HTTP request.
struct Mapping {
  enum class Part : std::uint8_t {
    time,
    request,  ///< a whole request line: `GET /path HTTP/1.1`
    method,
    url,  ///< with its query; also spelled `path`
    query,
    host,
    ip,
    status,
    bytes,
    header,
    cookie,
    body,  ///< a member of the request's body
    answer_header,
    answer_body,
  };
  struct Field {
    Part part = Part::time;
    std::string name;               ///< of header to answer_body: as the request has it
    std::vector<std::string> path;  ///< of a body's member: the names on the way to it
    std::string source;             ///< of the member or column
    std::optional<TimeForm> form;   ///< of time; nothing: found out row by row
  };
  std::vector<Field> fields;  ///< members of one object of a body are adjacent

  bool has(Part part) const noexcept;
  /// Nothing: `problem` says why.
  static std::optional<Mapping> parse(std::string_view text, std::string& problem);
};

}  // namespace weir::replay
