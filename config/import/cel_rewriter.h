#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::config {

/// How weir reads a key of a descriptor as limitador does: of entries with the same key the last
/// one counts.
std::string descriptor_field(const std::string& key);

/// Rewrites a condition or a variable of limitador as an expression of weir, which has the same
/// words, except that a missing value is null here, and an error there, which makes the condition
/// false. So a comparison that null would fulfil gets `has(...)` before it.
class CelRewriter {
 public:
  /// `id`, `name`: of the limit that it belongs to.
  CelRewriter(std::string_view text, std::optional<std::string> id, std::optional<std::string> name)
      : text_(text), levels_(1), id_(std::move(id)), name_(std::move(name)) {}

  /// None: `why` says which part weir does not have.
  std::optional<std::string> rewrite();

  std::string why;
  std::string named_key;  ///< of the descriptor, which it asked last

 private:
  /// The text between two grouping parentheses, and its current part between two of `&&`, `||`, `?`
  /// and `:`.
  struct Level {
    std::size_t part = 0;                    ///< in out_, where the part begins
    bool guards = false;                     ///< null might fulfil the part
    std::vector<std::string> fields;         ///< that the part asks for
    std::vector<std::string> before, asked;  ///< fields of the parts before; those of a has()
  };
  struct Literal {
    std::string spelled, text;
  };

  void symbol();
  void comment();
  void parenthesis();
  void equality();
  void end_part(std::size_t length);
  void close_part();
  void end_group();

  std::optional<Literal> take_literal(bool raw);
  void literal(bool raw);
  void number();
  void name();
  std::string take_name();
  void old_name(const std::string& word);
  void of_limit();
  void indexed();
  void key_in_brackets();
  void whole_descriptor();
  void field(const std::string& named);

  bool begins(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  char next() const;
  void blanks();
  void take(std::size_t length);
  bool is_constant_before() const;
  bool is_constant_after() const;

  std::string_view text_;
  std::size_t at_ = 0;
  std::string out_;
  std::vector<Level> levels_;
  std::vector<bool> groups_;  // of the parentheses that are open: not those of a function
  std::optional<std::string> id_, name_;
  std::string descriptor_;       // which one it asks
  std::string last_text_;        // of the last literal
  std::size_t last_begins_ = 0;  // in out_
  std::size_t last_ends_ = 0;
  bool calls_ = false;  // a function's name came last
  bool has_ = false;    // which is has()
};

}  // namespace weir::config
