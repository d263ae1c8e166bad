#pragma once

#include <string>
#include <string_view>

#include "core/key.h"
#include "core/value.h"

/// The value of a column of a record for both readers: the event API and a replay.
namespace weir::test {

struct RecordValue {
  const char* json;
  const char* read;  ///< `{..}`: a list or map, that expressions look into
  bool is_key;       ///< it may be a part of a key
};

inline constexpr RecordValue kRecordValues[] = {
    {R"("u")", "u", true},
    {R"("")", "", true},
    {"null", "null", false},
    {"true", "true", true},
    {"false", "false", true},
    {"7", "7", true},
    {"-7", "-7", true},
    {"9223372036854775807", "9223372036854775807", true},
    {"9223372036854775808", "null", false},
    {"-9223372036854775809", "null", false},
    {"123456789012345678901234567890", "null", false},
    {"1.5", "1.5", true},
    {"2.0", "2", true},
    {"1e3", "1000", true},
    {"1.5E-1", "0.15", true},
    {"1e999", "null", false},
    {"-1e999", "null", false},
    {"[1]", "{..}", false},
    {"[]", "{..}", false},
    {R"({"a":1})", "{..}", false},
    {"{}", "{..}", false},
};

inline std::string record_value_text(const Value& value) {
  std::string out;
  if (!append_canonical(out, value)) out = value.is(Type::json) ? "{..}" : "null";
  return out;
}

}  // namespace weir::test
