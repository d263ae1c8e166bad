#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/parse.h"

/// `weir import`: converts limits of other programs into a configuration of weir, for people to
/// read and keep. Pure: texts in, a text out; linear in their size. Each importer reads as much as
/// it can, and lists the omissions.
namespace weir::config {

struct ImportNote {
  std::size_t line = 0;  ///< in the file that was read, from 1; 0: none
  std::string what;      ///< the text in the file
  std::string why;       ///< and what can be done
};

struct Imported {
  std::string yaml;                  ///< a main file, with the notes as comments; empty: see error
  std::vector<ImportNote> left_out;  ///< in the order of the file
  std::string error;                 ///< why nothing was read: not such a file
  /// The first expression that the other program cannot parse either, and its place: that program
  /// would refuse to start with the file.
  std::string broken;
  bool none = false;                           ///< limits were read, and none could be carried over
  std::vector<Server::LimitadorLimit> limits;  ///< from limitador: those that became policies
};

/// A rule of the file that is imported.
struct ImportPlace {
  std::size_t line = 0;  ///< from 1
  std::size_t nth = 1;   ///< of the rules that begin on this line
  friend auto operator<=>(const ImportPlace&, const ImportPlace&) = default;
};
/// Rules that cannot be policies, and why.
using RefusedRules = std::map<ImportPlace, std::string>;

/// Files of envoyproxy/ratelimit.
Imported import_envoy_rate_limits(const std::vector<SourceText>& files);
/// Its environment, `NAME=VALUE` a line (or as /proc/PID/environ): the settings that it means,
/// which read its files where they lie. Variables of other programs are ignored.
Imported import_envoy_environment(std::string_view text);
/// A file of limitador's limits, without those that are `refused`. Each policy has the place of its
/// limit above it, as a comment.
Imported import_limitador(std::string_view text, const RefusedRules& refused = {});
/// The rule from which import_limitador or import_haproxy wrote a line; none: it is above all.
std::optional<ImportPlace> imported_from(std::string_view yaml, std::size_t line);
/// Why RE2 does not compile a pattern; empty: it does.
using PatternCheck = std::function<std::string(std::string_view pattern)>;
/// limit_req, limit_conn and their settings. Patterns that `check` refuses are left out.
Imported import_nginx(std::string_view text, const PatternCheck& check = {});
/// stick-tables, and the rules that read them, without those that are `refused`. Each policy has
/// the line of its rule above it, as a comment.
Imported import_haproxy(std::string_view text, const RefusedRules& refused = {});

}  // namespace weir::config
