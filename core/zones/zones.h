#pragma once

#include <cctz/time_zone.h>

#include <string>
#include <string_view>

/// Where the rules of time zones come from. A system has them as one file a zone; weir's image has
/// one compressed file of all zones, because 600 small files take more room than they hold.
namespace weir::zones {

/// The zone `name` (`Asia/Shanghai`, `UTC`): the system's (`$TZDIR`, else /usr/share/zoneinfo),
/// else that of `kArchive`. Returns false, and leaves `zone` as UTC, if neither has it, and for
/// a text that is no plain name (`../x`, `/x`). May read a file. Thread-safe.
bool load(const std::string& name, cctz::time_zone& zone);

/// The archive: gzip, of a line `NAME OFFSET SIZE` a zone, an empty line, and the zones' files
/// (TZif); OFFSET counts from the first of them. tools/zones.py writes it.
inline constexpr const char* kArchive = "/usr/share/weir/zones.gz";

/// The file of the zone `name` in the archive `path`; empty if the archive is not there, is
/// damaged, or has no such zone.
std::string in_archive(const char* path, std::string_view name);

}  // namespace weir::zones
