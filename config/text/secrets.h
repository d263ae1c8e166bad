#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

/// Masks secrets in texts that people paste into tickets. Pure.
namespace weir::config {

/// The kind of keys in a line. `settings`: values may be secrets. `names`: names and expressions of
/// policies, such as `fields: {token: body.token}`. `secret`: the line continues a secret of an
/// earlier line.
enum class LineKeys : std::uint8_t { settings, names, secret };

/// How to cover a line.
struct LineMask {
  LineMask(LineKeys k = LineKeys::settings) : keys(k) {}  // NOLINT: most lines have nothing else
  LineKeys keys;
  bool flow = true;       ///< it may begin within brackets, so that a comma ends a plain text
  bool anchored = false;  ///< it has an anchor that is the secret of another line
  bool hooks = false;     ///< of `notify:`, where the path of each URL is a secret
  std::size_t cut = 0;    ///< where a quoted text begins that the next line continues; 0: none
};

/// Classifies the keys of a file's lines, from its first line to its last. In doubt a key is
/// a setting: masking too much does no harm.
class LineSections {
 public:
  LineSections() = default;
  /// Masks lines of this whole text. With it the values of anchors are secrets as well, if a secret
  /// is an alias of them: `x: &a hunter2` and `password: *a`.
  explicit LineSections(std::string_view text);
  LineMask next(std::string_view line);

 private:
  /// The uses of the anchors in a text.
  struct Anchors {
    std::set<std::string, std::less<>> secrets;
    bool all = false;       ///< they all are secrets: the aliases of aliases have no end
    bool settings = false;  ///< settings use an anchor among names: no text is a name then
  };
  bool note_anchors(std::string_view text);

  /// The secret that the next line may continue: all lines that are deeper than its key, a
  /// quoted text, a list or map in brackets, or words or a value in brackets.
  enum class Inside : std::uint8_t { nothing, deeper, quote, brackets, flow };

  LineKeys section_of(std::string_view line) const;
  std::size_t end_of_secret(std::string_view line, std::size_t text);
  std::size_t end_of_secret_at(std::string_view line, std::size_t at);
  void look_for_secrets(std::string_view line, std::size_t from);
  bool look_for_cut_text(std::string_view line, std::size_t at);
  bool is_secret(std::string_view anchor) const;
  void look_for_expression(std::string_view line);

  LineKeys section_ = LineKeys::settings;
  std::size_t depth_ = 0;  // open brackets
  bool comma_ = false;     // the last thing was a comma outside of brackets
  Inside inside_ = Inside::nothing;
  std::size_t column_ = 0;  // of the secret's key
  bool items_ = false;      // its value may be a list in the same column
  char quote_ = '"';
  std::size_t open_ = 0;  // brackets of the secret itself
  Anchors anchors_;
  bool anchored_ = false;  // this line has the anchor of a secret
  std::size_t cut_ = 0;    // LineMask::cut
  bool hooks_ = false;     // the section is `notify:`
};

/// A line of a configuration as others may see it: of the same length, with `*` for each byte of
/// the values of keys such as `password`, `secret`, `token` or `authorization`, also mistyped ones
/// (not of keys that name a file), of passwords and queries in URLs, of the paths of webhooks and
/// of all URLs of `notify:`, and of the texts of expressions that name such a key.
std::string without_secrets(std::string_view line, LineMask mask = {});
/// The same of a whole text, line by line.
std::string text_without_secrets(std::string_view text);
/// The same of a message about a value or a key: passwords and queries in URLs, and the text
/// after such a key within quotes.
std::string without_secrets_of_message(std::string_view text);

}  // namespace weir::config
