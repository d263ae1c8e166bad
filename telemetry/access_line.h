#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "telemetry/request_facts.h"

namespace weir::telemetry {

/// What a line of the access log may say.
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

/// What the access log wants.
struct AccessSettings {
  double sample = 1;           ///< 0 to 1: which part of the requests
  bool always_refused = true;  ///< what a policy or list refused or held is logged besides
  bool always_errors =
      false;  ///< and what weir or the app answered with 400 or 5xx of its own, or cut
  std::vector<AccessField> fields = default_access_fields();
};

/// Writes lines of JSON with these fields, in their order; what is not known is left out. No
/// allocation once its memory has grown. Not thread-safe.
class AccessLine {
 public:
  explicit AccessLine(std::vector<AccessField> fields);
  /// A line with its newline; lives until the next call.
  std::string_view write(const RequestFacts& facts);

 private:
  std::vector<AccessField> fields_;
  std::string room_;
  std::string escaped_;
  struct Second {
    std::int64_t number = -1;
    std::array<char, 20> text{};  // 2026-11-24T08:00:00.
  } second_;
};

}  // namespace weir::telemetry
