#include "policies/explain/rate_headers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace weir::policies {
namespace {

// Bounds of RFC 9651: integers of 15 digits, decimals of 12 digits before and 3 after the point.
constexpr std::int64_t kIntegerMax = 999'999'999'999'999;
constexpr double kDecimalMax = 999'999'999'999.999;

void append_integer(std::string& out, std::int64_t value) {
  char buffer[24];
  const auto bounded = std::clamp(value, -kIntegerMax, kIntegerMax);
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, bounded).ptr);
}

void append_number(std::string& out, Number number) {
  if (!number.is_real() || number.as_real() == std::trunc(number.as_real())) {
    const double real = number.as_real();
    append_integer(out, !number.is_real()        ? number.integer()
                        : std::abs(real) >= 1e15 ? (real < 0 ? -kIntegerMax : kIntegerMax)
                                                 : static_cast<std::int64_t>(real));
    return;
  }
  char buffer[32];
  const double bounded = std::clamp(number.as_real(), -kDecimalMax, kDecimalMax);
  auto end =
      std::to_chars(buffer, buffer + sizeof buffer, bounded, std::chars_format::fixed, 3).ptr;
  while (end[-1] == '0' && end[-2] != '.') --end;
  out.append(buffer, end);
}

void append_string_item(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

void separate(std::string& list) {
  if (!list.empty()) list += ", ";
}

}  // namespace

std::int64_t whole_seconds(milliseconds time) noexcept {
  return std::max<std::int64_t>(1, (time.count() + 999) / 1000);
}

void append_policy_item(std::string& list, const ReadingText& reading) {
  separate(list);
  // Names of policies and lists are letters, digits, `_` and `-`, first a letter or `_`: a token
  // unless the first is `_`, which only a string may begin with.
  if (reading.name.starts_with('_')) {
    append_string_item(list, reading.name);
  } else {
    list += reading.name;
  }
  if (reading.value) append_number(list += ";value=", *reading.value);
  if (reading.limit) append_number(list += ";limit=", *reading.limit);
  if (reading.window.count() > 0) {
    append_number(list += ";window=",
                  reading.window.count() % 1000 == 0
                      ? Number{reading.window.count() / 1000}
                      : Number::real(static_cast<double>(reading.window.count()) / 1000));
  }
  if (reading.possible) list += ";possible";
}

void append_retry_after(std::string& lines, milliseconds wait) {
  lines += "Retry-After: ";
  append_integer(lines, whole_seconds(wait));
  lines += "\r\n";
}

void append_quota(std::string& policy_list, std::string& limit_list, const Quota& quota) {
  separate(policy_list);
  append_string_item(policy_list, quota.name);
  append_integer(policy_list += ";q=", std::max<std::int64_t>(0, quota.allowed));
  if (quota.window.count() > 0) append_integer(policy_list += ";w=", whole_seconds(quota.window));
  separate(limit_list);
  append_string_item(limit_list, quota.name);
  append_integer(limit_list += ";r=", std::max<std::int64_t>(0, quota.remaining));
  if (quota.reset.count() > 0) append_integer(limit_list += ";t=", whole_seconds(quota.reset));
}

}  // namespace weir::policies
