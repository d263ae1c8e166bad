#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "config/text/reader.h"
#include "config/text/shapes.h"

/// Rows of keys that are a number within bounds. From the one description follow the reader, the
/// error that names the bounds, the schema, the bounds on the reference page, and whether a changed
/// value waits for the next start.
namespace weir::config {

/// When a changed value of a key takes effect.
enum class TakesEffect : std::uint8_t { at_reload, at_start };

// --- whether two values are equal, whatever their places in the files ---

template <class T>
bool says_same(const T& a, const T& b) {
  return a == b;
}
template <class T>
bool says_same(const Located<T>& a, const Located<T>& b) {
  return says_same(a.value, b.value);
}
template <class T>
bool says_same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || says_same(*a, *b));
}
template <class T>
bool says_same(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!says_same(a[i], b[i])) return false;
  }
  return true;
}

template <auto Member>
struct MemberOf;
template <class Owner, class Value, Value Owner::*Member>
struct MemberOf<Member> {
  using owner = Owner;
};
template <auto Member>
using OwnerOf = typename MemberOf<Member>::owner;

/// For a row whose value takes effect at the next start.
template <auto First, auto... Others>
bool same(const OwnerOf<First>& a, const OwnerOf<First>& b) {
  return says_same(a.*First, b.*First) && (says_same(a.*Others, b.*Others) && ...);
}
/// The same for a row whose value is a table: that of all rows of the table.
template <const auto& Rows, class T>
bool same_in(const T& a, const T& b) {
  for (const auto& row : Rows) {
    if (row.same != nullptr && !row.same(a, b)) return false;
  }
  return true;
}
/// Adds `section.key` for each row that differs and takes effect at the next start.
template <const auto& Rows, class T>
void add_changes(std::string_view section, const T& a, const T& b, std::vector<std::string>& out) {
  for (const auto& row : Rows) {
    if (row.same == nullptr || row.same(a, b)) continue;
    out.push_back((section.empty() ? "" : std::string(section) + ".") + std::string(row.doc.name));
  }
}

// --- bounds in words ---

namespace fields {

enum class Unit : std::uint8_t { one, ms, byte };

/// A text of the compiler's.
struct ShortText {
  std::array<char, 80> bytes{};
  std::size_t size = 0;
  constexpr void add(std::string_view text) {
    for (const char c : text) bytes[size++] = c;
  }
  constexpr void add(std::int64_t number) {
    std::array<char, 20> digits{};
    std::size_t n = 0;
    do {
      digits[n++] = static_cast<char>('0' + number % 10);
      number /= 10;
    } while (number != 0);
    while (n > 0) bytes[size++] = digits[--n];
  }
  constexpr std::string_view view() const { return {bytes.data(), size}; }
};

struct Step {
  std::int64_t size;
  std::string_view name;
};

/// As human_duration() and format_size() write it.
constexpr void add_amount(ShortText& out, std::int64_t amount, Unit unit) {
  constexpr std::array<Step, 5> kTimes{
      Step{86'400'000, "d"}, {3'600'000, "h"}, {60'000, "m"}, {1'000, "s"}, {1, "ms"}};
  constexpr std::array<Step, 4> kSizes{
      Step{1 << 30, "GiB"}, {1 << 20, "MiB"}, {1 << 10, "KiB"}, {1, "B"}};
  if (unit == Unit::one) return out.add(amount);
  if (unit == Unit::byte) {
    for (const Step& step : kSizes) {
      if (amount % step.size != 0 || amount == 0) continue;
      out.add(amount / step.size);
      return out.add(step.name);
    }
    return out.add("0B");
  }
  if (amount == 0) return out.add("0s");
  for (const Step& step : kTimes) {
    const bool day = step.size == kTimes[0].size;  // people write `24h`
    if (amount < step.size || (day && (amount < 2 * step.size || amount % step.size != 0)))
      continue;
    out.add(amount / step.size);
    out.add(step.name);
    amount %= step.size;
  }
}

template <Unit unit, std::int64_t Least, std::int64_t Most>
struct Bounds {
  static constexpr ShortText kWords = [] {
    ShortText out;
    if (unit == Unit::ms) out.add("duration, ");
    if (unit == Unit::byte) out.add("size, ");
    add_amount(out, Least, unit);
    out.add(" to ");
    add_amount(out, Most, unit);
    return out;
  }();
  static constexpr ShortText kSchema = [] {
    ShortText out;
    out.add(R"({"type":"integer","minimum":)");
    out.add(Least);
    out.add(R"(,"maximum":)");
    out.add(Most);
    out.add("}");
    return out;
  }();
};

/// The description of such a key, and its reader, for rows that do more with the value than keep
/// it.
template <Unit unit, std::int64_t Least, std::int64_t Most>
struct Ranged {
  static constexpr KeyDoc doc(std::string_view name, std::string_view fallback,
                              std::string_view help) {
    using In = Bounds<unit, Least, Most>;
    return {name,
            unit == Unit::ms     ? shape::kDuration
            : unit == Unit::byte ? shape::kSize
                                 : In::kSchema.view(),
            In::kWords.view(), fallback, help};
  }
  static auto read(Reader& reader, const Member& m) {
    if constexpr (unit == Unit::ms) {
      return reader.duration(m, milliseconds{Least}, milliseconds{Most});
    } else if constexpr (unit == Unit::byte) {
      return reader.size(m, Least, Most);
    } else {
      return reader.integer(m, Least, Most);
    }
  }
};

template <auto Field, Unit unit, std::int64_t Least, std::int64_t Most>
constexpr Row<OwnerOf<Field>> row(std::string_view name, std::string_view fallback,
                                  std::string_view help, TakesEffect when) {
  using Key = Ranged<unit, Least, Most>;
  return {Key::doc(name, fallback, help),
          [](Reader& reader, const Member& m, OwnerOf<Field>& out) {
            set(Key::read(reader, m), out.*Field);
          },
          when == TakesEffect::at_start ? same<Field> : nullptr};
}

}  // namespace fields

// --- keys within bounds ---

/// In ms, as the bounds of durations are.
inline constexpr std::int64_t kSecond = 1'000, kMinute = 60 * kSecond, kHour = 60 * kMinute,
                              kDay = 24 * kHour;

template <std::int64_t Least, std::int64_t Most>
using WholeNumber = fields::Ranged<fields::Unit::one, Least, Most>;
/// The bounds are in ms.
template <std::int64_t Least, std::int64_t Most>
using TimeSpan = fields::Ranged<fields::Unit::ms, Least, Most>;

// --- rows ---

/// A whole number.
template <auto Field, std::int64_t Least, std::int64_t Most>
constexpr auto number(std::string_view name, std::string_view fallback, std::string_view help,
                      TakesEffect when = TakesEffect::at_reload) {
  return fields::row<Field, fields::Unit::one, Least, Most>(name, fallback, help, when);
}
/// A duration; the bounds are in ms.
template <auto Field, std::int64_t Least, std::int64_t Most>
constexpr auto duration(std::string_view name, std::string_view fallback, std::string_view help,
                        TakesEffect when = TakesEffect::at_reload) {
  return fields::row<Field, fields::Unit::ms, Least, Most>(name, fallback, help, when);
}
/// A size in bytes.
template <auto Field, std::int64_t Least, std::int64_t Most>
constexpr auto size(std::string_view name, std::string_view fallback, std::string_view help,
                    TakesEffect when = TakesEffect::at_reload) {
  return fields::row<Field, fields::Unit::byte, Least, Most>(name, fallback, help, when);
}

}  // namespace weir::config
