#pragma once

#include <bitset>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/text/tree.h"
#include "config/text/units.h"
#include "config/text/word_lists.h"

/// The parts of every section's table of keys. A key is one row: its name, its possible values, one
/// line of help, and the function that reads it. The parser, `weir schema` and the reference page
/// read the same rows.
namespace weir::config {

/// The documentation of a key for people and editors.
struct KeyDoc {
  std::string_view name;
  std::string_view schema;    ///< JSON Schema of its value
  std::string_view values;    ///< the same in words, for the reference page
  std::string_view fallback;  ///< the default in words; "required"; empty: none
  std::string_view help;      ///< one line
};

class Reader;

template <class T>
struct Row {
  KeyDoc doc;
  /// Null: a word of the language that is not built yet, refused at its place.
  void (*read)(Reader&, const Member&, T&);
  /// Set: a changed value takes effect at the next start (config/text/fields.h); compares the value
  /// of two configurations.
  bool (*same)(const T&, const T&) = nullptr;
};

/// A table without its type, for readers of its texts.
struct TableDoc {
  std::string_view id;     ///< in the schema: `#/$defs/<id>`
  std::string_view what;   ///< in messages: "a policy"
  std::string_view title;  ///< on the reference page
  std::string_view intro;
  std::size_t size;
  bool (*row)(std::size_t, KeyDoc&);  ///< false: not built yet
};
/// Every table, outermost first.
const std::vector<TableDoc>& all_tables();

/// The rows of a table that the map has, or that a misspelt key means.
using Seen = std::bitset<64>;

/// Reads nodes into values and reports their errors. One per load; knows only the problems.
class Reader {
 public:
  explicit Reader(Problems& problems) : problems_(problems) {}
  Problems& problems() noexcept { return problems_; }
  void error(const Node& node, std::string message, std::string hint = {}) {
    problems_.error(node.where, std::move(message), std::move(hint));
  }

  /// Walks a map along its table: reports unknown keys, missing required ones, and words of later
  /// versions; the row of every other key reads it.
  template <class T, std::size_t N>
  Seen walk(const Node& node, std::string_view what, const Row<T> (&rows)[N], T& out) {
    static_assert(N <= 64);
    Seen seen;
    bool foreign = false;  // a word of a later version: then its required keys are not known
    if (!is_map(node, what)) return seen.set();
    for (const Member& m : node.items) {
      const std::size_t i = find(
          m, what, N, [&](std::size_t r) { return rows[r].doc.name; },
          [&](std::size_t r) { return rows[r].read != nullptr; }, seen);
      if (i == N) continue;
      if (rows[i].read == nullptr) {
        later(*m.key, m.key->text);
        foreign = true;
      } else {
        rows[i].read(*this, m, out);
      }
    }
    for (std::size_t i = 0; i < N; ++i) {
      if (rows[i].doc.fallback == "required" && !seen[i] && !foreign)
        missing(node, what, rows[i].doc.name);
    }
    return seen;
  }
  template <class T, std::size_t N>
  static bool has(const Seen& seen, const Row<T> (&rows)[N], std::string_view name) {
    for (std::size_t i = 0; i < N; ++i) {
      if (rows[i].doc.name == name) return seen[i];
    }
    return false;
  }

  /// `"near" is not supported yet`
  void later(const Node& node, std::string_view word);

  bool is_map(const Node& node, std::string_view what);
  /// A scalar's text; reports a null, list or map.
  std::optional<std::string_view> scalar(const Member& m);
  std::optional<Text> text(const Member& m);
  /// An expression: any non-empty text.
  std::optional<Text> expression(const Member& m);
  std::optional<Text> name(const Member& m, std::string_view what, bool dash);
  std::vector<Text> texts(const Member& m);  ///< one, or a list of them
  std::optional<bool> boolean(const Member& m);
  std::optional<std::int64_t> integer(const Member& m, std::int64_t least, std::int64_t most);
  std::optional<milliseconds> duration(const Member& m, milliseconds least, milliseconds most);
  std::optional<std::uint64_t> size(const Member& m, std::uint64_t least, std::uint64_t most);

  /// Takes a parsed value, or reports why there is none.
  template <class T>
  std::optional<T> take(const Node& node, Parsed<T> parsed) {
    if (!parsed) error(node, std::move(parsed.message), std::move(parsed.hint));
    return std::move(parsed.value);
  }

  template <class T>
  struct Choice {
    std::string_view name;
    std::optional<T> value;  ///< none: a word that is not built yet
  };
  /// One of the words of a table, by any of its spellings (config/text/word_lists.h).
  template <class Rows, class Takes = AllRows>
  auto word(const Member& m, const Rows& rows, Takes takes = {})
      -> std::optional<decltype(value_of(rows[0]))> {
    const auto text = scalar(m);
    if (!text) return std::nullopt;
    std::vector<std::string_view> allowed;
    for (const auto& row : rows) {
      if (!takes(row)) continue;
      if (written(row) == *text || (!text->empty() && also_written(row) == *text))
        return value_of(row);
      allowed.push_back(written(row));
    }
    not_one_of(m, *text, allowed);
    return std::nullopt;
  }
  /// One of several words.
  template <class T>
  std::optional<T> choice(const Member& m, std::initializer_list<Choice<T>> choices) {
    const auto word = scalar(m);
    if (!word) return std::nullopt;
    std::vector<std::string_view> allowed;
    for (const auto& c : choices) {
      if (c.name == *word) {
        if (!c.value) later(*m.value, *word);
        return c.value;
      }
      if (c.value) allowed.push_back(c.name);
    }
    not_one_of(m, *word, allowed);
    return std::nullopt;
  }

 private:
  template <class Name, class Built>
  std::size_t find(const Member& m, std::string_view what, std::size_t count, Name name,
                   Built built, Seen& seen) {
    for (std::size_t i = 0; i < count; ++i) {
      if (name(i) == m.key->text) {
        seen.set(i);
        return i;
      }
    }
    std::vector<std::string_view> known, allowed;
    for (std::size_t i = 0; i < count; ++i) {
      known.push_back(name(i));
      if (built(i)) allowed.push_back(name(i));
    }
    const std::string_view meant = unknown_key(*m.key, what, known, allowed);
    for (std::size_t i = 0; i < count; ++i) {
      if (name(i) == meant) seen.set(i);
    }
    return count;
  }
  std::string_view unknown_key(const Node& key, std::string_view what,
                               const std::vector<std::string_view>& known,
                               const std::vector<std::string_view>& allowed);
  void missing(const Node& node, std::string_view what, std::string_view name);
  void not_one_of(const Member& m, std::string_view word,
                  const std::vector<std::string_view>& allowed);

  Problems& problems_;
  std::size_t unknown_keys_ = 0;
};

template <class T>
Located<T> located(const Member& m, T value) {
  return {std::move(value), m.value->where};
}

/// Stores a value that was read; else leaves the default.
template <class T, class U>
void set(std::optional<T> from, U& to) {
  if (from) to = static_cast<U>(std::move(*from));
}
template <class T, class U>
void set(const Member& m, std::optional<T> from, U& to) {
  if (from) to = located(m, std::move(*from));
}

}  // namespace weir::config
