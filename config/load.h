#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/imported.h"
#include "config/inputs.h"
#include "config/model.h"
#include "config/parse.h"
#include "config/text/problem.h"
#include "config/text/render.h"

namespace weir::config {

struct SourceFile {
  std::string name;  ///< as in Model::files: a path, or `$NAME` of an environment variable
  std::string text;  ///< the text; empty for an environment variable
  std::string hash;  ///< of the content, 32 hex digits; empty for an environment variable
};

/// How a text that is included from elsewhere is had: the text, or why there is none.
struct RemoteRead {
  std::string text, problem;
};
using RemoteReader = std::function<RemoteRead(const RemoteDef& remote)>;

/// Reads a file of limitador's limits. It may leave out limits that cannot be compiled.
using LimitsReader = std::function<Imported(std::string_view text)>;

/// One pattern of `include:`.
struct IncludePattern {
  Text pattern;
  std::size_t files = 0;  ///< that it matches
};

/// The result of a load: a model, or the reasons why there is none, and the texts that they refer
/// to.
struct Loaded {
  std::optional<Model> model;  ///< only without errors
  /// With errors: the readable parts, to look for more errors in them; never run.
  std::optional<Model> draft;
  Problems problems;              ///< sorted; holds warnings beside a model too
  std::vector<SourceFile> files;  ///< the main file first; indices are those of Where::file
  std::string hash;               ///< over names and contents of all files, 32 hex digits
  std::vector<IncludePattern> includes;
  Inputs inputs;  ///< the files and patterns that were read

  std::vector<FileView> views() const;  ///< for render.h; valid as long as this
};

/// Reads the main file and its includes. Blocks on file I/O: call it off the workers. Patterns
/// are those of glob(3), relative to the main file's directory, sorted by bytes; hidden files and
/// `*_test.yaml` (cases of `weir test`) are left out.
/// `remote`: for remote includes; without it they are errors. `limits`: none:
/// import_limitador().
Loaded load_file(const std::string& path, const Environment& environment,
                 const RemoteReader& remote = {}, const LimitsReader& limits = {});

/// The same from memory; `include:` is not followed.
Loaded load_text(std::string_view name, std::string_view text);

/// Names of settings that differ and take effect at the next start only: `proxy.listen`, ...; the
/// rows of the server's tables define which do.
std::vector<std::string> needs_restart(const Server& running, const Server& next);
/// Several texts: the main file first, then as if it included the others.
Loaded load_texts(std::vector<SourceText> texts, const Environment& environment = {});

}  // namespace weir::config
