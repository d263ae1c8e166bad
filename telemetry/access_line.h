#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "telemetry/request_facts.h"

namespace weir::telemetry {

/// The fields of a line of the access log.
enum class AccessField : std::uint8_t {
  time,
  request_id,
  client,
  peer,
  method,
  host,
  path,
  query,
  route,
  status,
  bytes_in,
  bytes_out,
  head_ms,
  judge_ms,
  wait_ms,
  connect_ms,
  first_byte_ms,
  total_ms,
  verdict,
  policy,
  upstream,
  end,
  user_agent,
  referer,
  trace_id,
};

/// A row of the table that the configuration, the reference and the writer walk.
struct AccessFieldRow {
  AccessField field;
  std::string_view name;
  bool by_default;
  std::string_view help;
};
std::span<const AccessFieldRow> access_fields() noexcept;
std::optional<AccessField> access_field_named(std::string_view name) noexcept;
std::vector<AccessField> default_access_fields();

/// Which requests get a line in the access log.
struct AccessSettings {
  double sample = 1;           ///< 0 to 1: which part of the requests
  bool always_refused = true;  ///< refused and held requests are logged in addition
  bool always_errors =
      false;  ///< and answers of weir or the app with 400 or 5xx of its own, or cut ones
  std::vector<AccessField> fields = default_access_fields();
};

/// Writes lines of JSON with these fields, in their order; unknown values are left out. No
/// allocation once its memory has grown. Not thread-safe.
class AccessLine {
 public:
  explicit AccessLine(const std::vector<AccessField>& fields);
  ~AccessLine();
  AccessLine(const AccessLine&) = delete;
  AccessLine& operator=(const AccessLine&) = delete;
  /// A line with its newline; lives until the next call. The text of `facts.upstream` may
  /// not change while there are lines to write.
  std::string_view write(const RequestFacts& facts);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace weir::telemetry
