#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/imported.h"

/// Writes YAML for the importers.
namespace weir::config {

/// A YAML scalar that reads back as this text: bare where it is a plain word, else in quotes.
std::string yaml_text(std::string_view text);
/// A string of the expression language.
std::string expression_text(std::string_view text);
/// `# ` before each line.
std::string as_comment(std::string_view text);
/// Bytes that a comment must not contain are shown as `?`.
std::string shown(std::string_view text);

/// Names that the language takes, each given once: other characters become `_` (or `-`).
class ImportNames {
 public:
  explicit ImportNames(bool dash) : dash_(dash) {}
  std::string make(std::string_view asked);

 private:
  bool dash_;
  std::map<std::string, std::size_t, std::less<>> taken_;
};

/// A policy as it is written.
struct ImportedPolicy {
  std::string name;
  std::string comment;  ///< where it comes from; may be empty
  std::string watch;    ///< YAML text: `asked`, `{domain: ...}`
  std::string when;
  std::vector<std::string> key;
  std::string missing;  ///< YAML text; may be empty
  std::string metric;
  std::string window;  ///< YAML text
  bool always = false;
  bool shadow = false;
  std::vector<std::string> rungs;  ///< YAML texts
};
std::string written(const ImportedPolicy& policy);

/// The whole file: its origin, the list of omissions, then the text.
std::string written_file(std::string_view of, const std::vector<ImportNote>& left_out,
                         std::string_view sections);

}  // namespace weir::config
