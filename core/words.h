#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

/// The words of the language that more than one room uses, each defined once: the name of an action
/// or a metric, and its properties for the rooms. The configuration, its schema, the counters, the
/// statistics and the reports walk these tables. A new word is an enumerator and its row; the order
/// of rows is that of the enumerators.
namespace weir {

/// A word that has a name and nothing else.
template <class T>
struct Word {
  T value;
  std::string_view name;
  std::string_view alias = {};  ///< another spelling of it in the configuration; may be empty
};

/// A limit that nothing reaches, in files, in the admin API and for people.
inline constexpr std::string_view kUnlimited = "unlimited";

enum class Mode : std::uint8_t { enforce, shadow, disabled };
inline constexpr std::array kModes{
    Word<Mode>{Mode::enforce, "enforce"},
    Word<Mode>{Mode::shadow, "shadow"},
    Word<Mode>{Mode::disabled, "disabled"},
};
constexpr std::string_view name_of(Mode mode) noexcept {
  return kModes[static_cast<std::size_t>(mode)].name;
}

/// How much a refused caller learns.
enum class Tell : std::uint8_t { full, retry, nothing };
inline constexpr std::array kTells{
    Word<Tell>{Tell::full, "full"},
    Word<Tell>{Tell::retry, "retry"},
    Word<Tell>{Tell::nothing, "nothing"},
};

enum class ListKind : std::uint8_t { allow, gray, deny };
inline constexpr std::array kListKinds{
    Word<ListKind>{ListKind::allow, "allow"},
    Word<ListKind>{ListKind::gray, "gray", "graylist"},
    Word<ListKind>{ListKind::deny, "deny"},
};
constexpr std::string_view name_of(ListKind kind) noexcept {
  return kListKinds[static_cast<std::size_t>(kind)].name;
}

/// The treatment of an event whose key or amount is missing.
enum class Missing : std::uint8_t { skip, same, deny };
inline constexpr std::array kMissings{
    Word<Missing>{Missing::skip, "skip"},
    Word<Missing>{Missing::same, "same"},
    Word<Missing>{Missing::deny, "deny"},
};

/// How weir reads a body. `none`: weir reads nothing of this kind; in an event, `none` means that
/// Content-Type decides.
enum class BodyKind : std::uint8_t { none, json, form, multipart };

/// How a view counts different members.
enum class Method : std::uint8_t { exact, bloom, hll };
inline constexpr std::array kMethods{
    Word<Method>{Method::exact, "exact"},
    Word<Method>{Method::bloom, "bloom"},
    Word<Method>{Method::hll, "hll"},
};

/// How a rung compares the value with its limit; none: it has no limit.
enum class Compare : std::uint8_t { none, over, at, under };
inline constexpr std::array kCompares{
    Word<Compare>{Compare::none, ""},
    Word<Compare>{Compare::over, "over"},
    Word<Compare>{Compare::at, "at"},
    Word<Compare>{Compare::under, "under"},
};
constexpr std::string_view name_of(Compare compare) noexcept {
  return kCompares[static_cast<std::size_t>(compare)].name;
}

/// The unit of a number that is a time since 1970.
enum class EpochUnit : std::uint8_t { seconds, millis, micros, nanos };
struct EpochUnitRow {
  EpochUnit value;
  std::string_view name;    ///< in a configuration
  std::string_view noun;    ///< in a sentence
  std::string_view apache;  ///< `sec` of `%{sec}t`; may be empty
  std::int64_t per_second;
};
inline constexpr std::array kEpochUnits{
    EpochUnitRow{EpochUnit::seconds, "seconds", "seconds", "sec", 1},
    EpochUnitRow{EpochUnit::millis, "millis", "milliseconds", "msec", 1'000},
    EpochUnitRow{EpochUnit::micros, "micros", "microseconds", "usec", 1'000'000},
    EpochUnitRow{EpochUnit::nanos, "nanos", "nanoseconds", "", 1'000'000'000},
};
constexpr const EpochUnitRow& row_of(EpochUnit unit) noexcept {
  return kEpochUnits[static_cast<std::size_t>(unit)];
}

// --- actions ---

/// In order of severity: of all effects that apply to a request, the severest wins.
enum class Action : std::uint8_t { none, flag, graylist, delay, challenge, deny };

/// A row of the table of actions.
struct ActionRow {
  Action action;
  std::string_view name;
  std::string_view alias;    ///< another spelling of it in the configuration; may be empty
  bool refuses;              ///< nothing goes upstream
  bool remembers;            ///< with `for`, the key goes on a list
  bool is_list_effect;       ///< a gray list may have it as its effect
  ListKind memory;           ///< of what kind a policy's own list then is
  int status;                ///< when it refuses, by default
  Tell tell;                 ///< likewise
  std::string_view verdict;  ///< X-Weir-Verdict upstream; empty: no header
  std::string_view done;     ///< what it does to a caller: "is denied"; may be empty
  std::string_view help;
};

inline constexpr std::array kActions{
    ActionRow{Action::none, "none", "", false, false, true, ListKind::gray, 0, Tell::nothing, "",
              "", "No visible effect: the rung only scores, clears, notifies or remembers."},
    ActionRow{Action::flag, "flag", "", false, false, true, ListKind::gray, 0, Tell::nothing,
              "flag", "flagged",
              "Passes; the app learns it from X-Weir-Verdict, X-Weir-Policy and X-Weir-Score."},
    ActionRow{Action::graylist, "graylist", "gray", false, true, false, ListKind::gray, 0,
              Tell::nothing, "gray", "gray-listed",
              "The key goes on a list for `for`; its requests get the list's effect (flag unless "
              "it says otherwise)."},
    ActionRow{Action::delay, "delay", "", false, true, true, ListKind::gray, 429, Tell::retry,
              "delay", "delayed",
              "Held for `hold`, then passed; the number of held requests is capped."},
    ActionRow{Action::challenge, "challenge", "", true, true, true, ListKind::gray, 403,
              Tell::nothing, "challenge", "challenged",
              "Answered with the configured challenge: a status and body, or a redirect."},
    ActionRow{Action::deny, "deny", "", true, true, true, ListKind::deny, 429, Tell::retry, "deny",
              "denied",
              "Refused with 429 (or `status`) and Retry-After; with `for` the list refuses "
              "the key for that time."},
};

constexpr const ActionRow& row_of(Action action) noexcept {
  return kActions[static_cast<std::size_t>(action)];
}
/// A number, or anything else, for each action.
template <class T>
using ByAction = std::array<T, kActions.size()>;
constexpr bool refuses(Action action) noexcept { return row_of(action).refuses; }
constexpr std::uint8_t severity(Action action) noexcept {
  return static_cast<std::uint8_t>(action);
}

// --- metrics ---

/// The measure over a window.
enum class Metric : std::uint8_t {
  count,      ///< events
  sum,        ///< amounts, 64-bit integers or doubles
  distinct,   ///< different members
  in_flight,  ///< events that have begun and not ended; has no window
  average,    ///< of amounts; no value without events
  minimum,    ///< of amounts; no value without events
  maximum,    ///< of amounts; no value without events
  exists,     ///< 1 if an earlier event of the window had this member, else 0
  last,       ///< the datum of the previous event of the window; no value without one
  score,      ///< of the request: the score that all rungs give it; no counter, no window
};

/// The input that a metric reads from each event.
enum class Takes : std::uint8_t { nothing, amount, members, datum };

/// A row of the table of metrics.
struct MetricRow {
  Metric metric;
  std::string_view name;
  Takes takes;
  std::size_t arguments_most;  ///< of its expressions; one at least, if it takes anything
  bool in_views;
  bool in_radius;             ///< may count what happened within a radius
  std::string_view alone;     ///< why replicas cannot exchange it, in any window; empty: they can
  std::string_view identity;  ///< in the canonical text of a counter, which never changes
  std::string_view noun;      ///< of its value, in a sentence
  std::string_view usage;     ///< as it is written, with its arguments
  std::string_view help;      ///< what it measures; empty: the name is enough
};

inline constexpr std::array kMetrics{
    MetricRow{Metric::count, "count", Takes::nothing, 0, true, true, "", "count", "count", "count",
              ""},
    MetricRow{Metric::sum, "sum", Takes::amount, 1, true, true, "", "sum", "sum", "sum(f)", ""},
    MetricRow{Metric::distinct, "distinct", Takes::members, 8, true, true, "", "distinct",
              "number of different values", "distinct(f[, g])", ""},
    MetricRow{Metric::in_flight, "in_flight", Takes::nothing, 0, false, false, "", "in_flight",
              "number in flight", "in_flight", ""},
    MetricRow{Metric::average, "avg", Takes::amount, 1, true, true, "", "average", "average",
              "avg(f)", ""},
    MetricRow{Metric::minimum, "min", Takes::amount, 1, true, true, "", "minimum", "minimum",
              "min(f)", ""},
    MetricRow{Metric::maximum, "max", Takes::amount, 1, true, true, "", "maximum", "maximum",
              "max(f)", ""},
    MetricRow{Metric::exists, "exists", Takes::members, 8, false, true,
              "whether another replica has seen it is known only by asking", "exists", "value",
              "exists(f[, g])", "1 if f equals f of an earlier event in the window"},
    MetricRow{Metric::last, "last", Takes::datum, 1, false, false,
              "each replica would know its own previous event only", "last", "value", "last(f)",
              "f of the event before"},
    MetricRow{Metric::score, "score", Takes::nothing, 0, false, false, "", "", "value", "score",
              "what the rungs of all policies give this request"},
};

constexpr const MetricRow& row_of(Metric metric) noexcept {
  return kMetrics[static_cast<std::size_t>(metric)];
}
constexpr std::string_view name_of(Metric metric) noexcept { return row_of(metric).name; }
constexpr bool takes_amount(Metric metric) noexcept {
  return row_of(metric).takes == Takes::amount;
}
constexpr bool takes_members(Metric metric) noexcept {
  return row_of(metric).takes == Takes::members;
}

/// The row with this name or alias; null: there is none.
template <class Row, std::size_t N>
constexpr const Row* find_word(const std::array<Row, N>& rows, std::string_view name) noexcept {
  if (name.empty()) return nullptr;
  for (const Row& row : rows) {
    if (row.name == name) return &row;
    if constexpr (requires { row.alias; }) {
      if (row.alias == name) return &row;
    }
  }
  return nullptr;
}

/// Whether each row is at the index of its enumerator.
template <class Rows, class Of>
constexpr bool rows_in_order(const Rows& rows, Of of) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (static_cast<std::size_t>(of(rows[i])) != i) return false;
  }
  return true;
}
static_assert(rows_in_order(kActions, [](const ActionRow& row) { return row.action; }));
static_assert(rows_in_order(kMetrics, [](const MetricRow& row) { return row.metric; }));
static_assert(rows_in_order(kModes, [](const Word<Mode>& word) { return word.value; }));
static_assert(rows_in_order(kTells, [](const Word<Tell>& word) { return word.value; }));
static_assert(rows_in_order(kMethods, [](const Word<Method>& word) { return word.value; }));
static_assert(rows_in_order(kCompares, [](const Word<Compare>& word) { return word.value; }));
static_assert(rows_in_order(kEpochUnits, [](const EpochUnitRow& row) { return row.value; }));
static_assert(rows_in_order(kListKinds, [](const Word<ListKind>& word) { return word.value; }));
static_assert(rows_in_order(kMissings, [](const Word<Missing>& word) { return word.value; }));

}  // namespace weir
