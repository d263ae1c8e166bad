#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/clock.h"

/// Text that came from elsewhere, made fit for a log line or a terminal. Pure.
namespace weir {

/// Appends a JSON string with its quotes. Hidden characters (core/visible.h) become \u00XX, and
/// invalid UTF-8 becomes U+FFFD: no input can break the line, control a terminal or look like
/// another.
void append_json(std::string& out, std::string_view text);

/// Appends text for people: as append_json without quotes around it, but quotes stay as they are.
void append_plain(std::string& out, std::string_view text);

/// 2026-11-21T08:00:00.123Z
std::string iso_time(TimePoint time);
/// Room for the text of any time that a TimePoint holds.
using IsoRoom = std::array<char, 48>;
/// The same without an allocation: a view into `room`.
std::string_view iso_time(TimePoint time, IsoRoom& room) noexcept;
/// 08:00:00.123, UTC
std::string clock_time(TimePoint time);

/// `1.5 MiB`, `640 KiB`, `12 B`: rounded, for people.
std::string human_size(std::uint64_t bytes);
/// `12,345,678`
std::string human_count(std::uint64_t n);
/// `1 key`, `2 keys`.
std::string counted(std::uint64_t n, std::string_view one, std::string_view many);
/// `90 s` -> `1m30s`, `15m`, `36h`, `2d`, `250ms`; 0 and less: `0s`. The configuration
/// reads each of them.
std::string human_duration(milliseconds duration);

}  // namespace weir
