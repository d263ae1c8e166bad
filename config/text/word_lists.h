#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "core/words.h"

/// The words of a table (core/words.h) as the configuration's schema, reference and messages spell
/// them, written by the compiler.
namespace weir::config {

/// How a row of a table is written where it is one of several allowed words.
template <class T>
constexpr std::string_view written(const Word<T>& word) noexcept {
  return word.name;
}
constexpr std::string_view written(const ActionRow& row) noexcept { return row.name; }
constexpr std::string_view written(const MetricRow& row) noexcept { return row.name; }
/// Another spelling of it, or nothing.
template <class T>
constexpr std::string_view also_written(const Word<T>& word) noexcept {
  return word.alias;
}
constexpr std::string_view also_written(const ActionRow& row) noexcept { return row.alias; }
constexpr std::string_view also_written(const MetricRow&) noexcept { return {}; }

template <class T>
constexpr T value_of(const Word<T>& word) noexcept {
  return word.value;
}
constexpr Action value_of(const ActionRow& row) noexcept { return row.action; }

/// Which rows a key takes.
struct AllRows {
  template <class Row>
  constexpr bool operator()(const Row&) const noexcept {
    return true;
  }
};
/// The values of `do`.
struct RungActions {
  constexpr bool operator()(const ActionRow& row) const noexcept {
    return row.action != Action::none;
  }
};
/// The values of a list's `effect`.
struct ListEffects {
  constexpr bool operator()(const ActionRow& row) const noexcept { return row.is_list_effect; }
};
/// The metrics of policies.
using PolicyMetrics = AllRows;
/// The metrics of views.
struct ViewMetrics {
  constexpr bool operator()(const MetricRow& row) const noexcept { return row.in_views; }
};
/// The metrics that can be counted within a radius.
struct RadiusMetrics {
  constexpr bool operator()(const MetricRow& row) const noexcept { return row.in_radius; }
};

namespace word_lists {

/// Calls put(text) with the pieces of the text.
template <const auto& Rows, class Takes, class Put>
constexpr void write_schema(Put put) {
  put(R"({"enum":[)");
  bool first = true;
  const auto word = [&](std::string_view name) {
    put(first ? "\"" : ",\"");
    put(name);
    put("\"");
    first = false;
  };
  for (const auto& row : Rows) {
    if (!Takes{}(row)) continue;
    word(written(row));
    if (!also_written(row).empty()) word(also_written(row));
  }
  put("]}");
}

/// `a`, `b` (or `c`) or `d`; `mark` is around each.
template <const auto& Rows, class Takes, class Put>
constexpr void write_choice(Put put, std::string_view mark, std::string_view last) {
  std::size_t left = 0;
  for (const auto& row : Rows) left += Takes{}(row) ? 1 : 0;
  const std::size_t all = left;
  for (const auto& row : Rows) {
    if (!Takes{}(row)) continue;
    if (left != all) put(left == 1 ? last : ", ");
    --left;
    put(mark);
    put(written(row));
    put(mark);
    if (mark.empty() || also_written(row).empty()) continue;
    put(" (or ");
    put(mark);
    put(also_written(row));
    put(mark);
    put(")");
  }
}

/// A pattern of metrics with their arguments; `()` may follow any.
template <class Takes, class Put>
constexpr void write_metric_schema(Put put) {
  put(R"({"type":"string","pattern":"^()");
  bool first = true;
  for (const MetricRow& row : kMetrics) {
    if (!Takes{}(row)) continue;
    put(first ? "" : "|");
    put(row.name);
    if (row.takes != weir::Takes::nothing) put(R"(\\(.+\\))");
    first = false;
  }
  put(R"JSON()(\\(\\))?$"})JSON");
}

/// `usage` (help), and so on.
template <class Takes, class Put>
constexpr void write_metrics(Put put) {
  bool first = true;
  for (const MetricRow& row : kMetrics) {
    if (!Takes{}(row)) continue;
    put(first ? "`" : ", `");
    put(row.usage);
    put("`");
    if (!row.help.empty()) {
      put(" (");
      put(row.help);
      put(")");
    }
    first = false;
  }
}

template <class Write>
struct Stored {
  static constexpr std::size_t kSize = [] {
    std::size_t size = 0;
    Write{}([&](std::string_view text) { size += text.size(); });
    return size;
  }();
  static constexpr std::array<char, kSize> kText = [] {
    std::array<char, kSize> out{};
    std::size_t at = 0;
    Write{}([&](std::string_view text) {
      for (const char c : text) out[at++] = c;
    });
    return out;
  }();
};

template <const auto& Rows, class Takes>
struct Schema {
  template <class Put>
  constexpr void operator()(Put put) const {
    write_schema<Rows, Takes>(put);
  }
};
template <const auto& Rows, class Takes>
struct Values {
  template <class Put>
  constexpr void operator()(Put put) const {
    write_choice<Rows, Takes>(put, "`", " or ");
  }
};
template <const auto& Rows, class Takes>
struct Names {
  template <class Put>
  constexpr void operator()(Put put) const {
    bool first = true;
    for (const auto& row : Rows) {
      if (!Takes{}(row)) continue;
      if (!first) put(" ");
      put(written(row));
      first = false;
    }
  }
};
template <class Takes>
struct MetricSchema {
  template <class Put>
  constexpr void operator()(Put put) const {
    write_metric_schema<Takes>(put);
  }
};
template <class Takes>
struct MetricValues {
  template <class Put>
  constexpr void operator()(Put put) const {
    write_metrics<Takes>(put);
  }
};

template <class Write>
inline constexpr std::string_view kStored{Stored<Write>::kText.data(), Stored<Write>::kSize};

}  // namespace word_lists

/// JSON Schema of a key that takes one of these words: `{"enum":["a","b"]}`.
template <const auto& Rows, class Takes = AllRows>
inline constexpr std::string_view kSchemaOf = word_lists::kStored<word_lists::Schema<Rows, Takes>>;

/// The same for people: "`a`, `b` or `c`".
template <const auto& Rows, class Takes = AllRows>
inline constexpr std::string_view kValuesOf = word_lists::kStored<word_lists::Values<Rows, Takes>>;

/// The names alone, with blanks between them.
template <const auto& Rows, class Takes = AllRows>
inline constexpr std::string_view kNamesOf = word_lists::kStored<word_lists::Names<Rows, Takes>>;

/// JSON Schema of a key that takes one of these metrics with its arguments, and the same for
/// people.
template <class Takes>
inline constexpr std::string_view kMetricSchemaOf =
    word_lists::kStored<word_lists::MetricSchema<Takes>>;
template <class Takes>
inline constexpr std::string_view kMetricValuesOf =
    word_lists::kStored<word_lists::MetricValues<Takes>>;

/// The words in a sentence: "a, b and c"; `last` precedes the last one.
template <const auto& Rows, class Takes = AllRows>
std::string sentence_of(std::string_view last) {
  std::string out;
  word_lists::write_choice<Rows, Takes>([&](std::string_view text) { out += text; }, "", last);
  return out;
}

}  // namespace weir::config
