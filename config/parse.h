#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "config/text/tree.h"

namespace weir::config {

/// One file as it was read. Owns its text.
struct SourceText {
  std::string name;  ///< as the user named it
  std::string text;
  bool rate_limits = false;  ///< a file of envoyproxy/ratelimit, not in weir's language
  std::vector<Server::LimitadorLimit> limits{};  ///< of limitador, if its policies implement them
};

/// Names and values, as `environ` has them; only WEIR_* are looked at.
using Environment = std::map<std::string, std::string>;

/// Reads the texts, the main file first, and then the environment into one Model; problems of all
/// of them go into `problems`, sorted. The Model is whole only if there are no errors. Asks
/// for no time, and opens no files but those of time zones. Linear in the size of the texts.
Model parse(const std::vector<SourceText>& texts, const Environment& environment,
            Problems& problems);

/// The patterns of other files in a main file, unresolved, with their places.
struct FilePatterns {
  std::vector<Text> included;      ///< `include:`
  std::vector<RemoteDef> remotes;  ///< of `include:`, the remote texts
  std::vector<Text> rate_limits;   ///< `ratelimit: {files: ...}`
  std::vector<Text> limitador;     ///< `ratelimit: {limitador: ...}`: one or none
};
/// Does not report errors in the text: parse() does.
FilePatterns file_patterns(std::string_view main_text);

}  // namespace weir::config
