#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "limiter/patterns/pattern.h"
#include "replay/replay.h"

/// The results of a replay, as data for people: the texts, pages and JSON are made from it. It
/// contains no clock and nothing random: equal replays give equal reports.
namespace weir::replay {

struct RungReport {
  std::string text;  ///< `over 5: flag`
  std::string action;
  bool shadow = false;
  std::uint64_t verdicts = 0;
  std::optional<double> limit;       ///< if it is one number for all
  std::optional<double> keys_share;  ///< of the keys whose hardest reading held it; needs the limit
};

/// A bar of the histogram of the hardest reading per key: readings in (above, upto].
struct Bar {
  double above = 0, upto = 0;
  std::string label;  ///< `3-4`
  std::uint64_t keys = 0;
};

struct KeyReport {
  std::string key;
  TimePoint first{};
  std::string value;
  std::string rung;
  std::uint64_t verdicts = 0;
};

/// Verdicts by a limit of a table: the cells that hold it.
struct CellReport {
  std::string cell, limit;
  std::uint64_t verdicts = 0;
};

struct PolicyReport {
  /// `12 events of 3 keys; 4 verdicts on 2 keys`; of a pattern `3 matched, 1 unmatched of 4 keys`.
  std::string summary() const;

  std::string name;
  std::string
      counter;  ///< `count over the last 10m`; of a pattern what it waits for; empty: a plain rule
  std::string key;  ///< `ip, user`; empty: one counter for all
  bool shadow = false;
  std::uint64_t events = 0, keys = 0, keys_hit = 0, verdicts = 0, missing = 0, late = 0;
  std::uint64_t amounts_refused = 0;  ///< negative or not finite
  std::uint64_t listed = 0;           ///< events whose verdict was its own list's
  std::uint64_t remembered = 0;       ///< events that it listed or notified of without a verdict
  std::uint64_t unread = 0;           ///< events that it refused for a missing or unreadable field
  std::vector<CellReport> cells;
  bool keys_estimated = false;
  bool pattern = false;                                       ///< events are its matches
  std::array<std::uint64_t, limiter::kMatchKinds> matches{};  ///< by limiter::MatchKind
  std::vector<RungReport> rungs;
  std::vector<KeyReport> hardest;
  bool lowest = false;  ///< the hardest reading is the lowest: rungs are `under`; else the highest
  std::vector<Bar> bars;
  std::uint64_t bar_keys = 0;  ///< of all bars
};

/// A policy's keys beside those that are confirmed (`--labels`).
struct LabelReport {
  std::string policy;
  std::uint64_t hit = 0, confirmed = 0;  ///< keys that a rung held; those of them that are labels
  std::uint64_t labels = 0;              ///< all of them
  std::optional<double> precision() const {
    return hit == 0 ? std::nullopt
                    : std::optional(static_cast<double>(confirmed) / static_cast<double>(hit));
  }
  std::optional<double> recall() const {
    return labels == 0
               ? std::nullopt
               : std::optional(static_cast<double>(confirmed) / static_cast<double>(labels));
  }
};

/// The last window that a view has shown.
struct ViewReport {
  std::string name, what;  ///< `count over ...`
  std::vector<std::string> columns;
  std::uint64_t windows = 0, missing = 0, late = 0;
  TimePoint start{}, end{};
  bool complete = false;
  std::string total;
  std::size_t rows = 0;
  std::vector<std::vector<std::string>> shown;  ///< key parts, then the value
};

struct FileReport {
  std::string event, path;
  std::uint64_t rows = 0, bad = 0;
  std::vector<std::string> faults;  ///< `access.log:7:12: the time does not have this format`
  std::uint64_t shown = 0;          ///< of the bad rows, in `faults`
};

/// One policy in both configurations.
struct Difference {
  std::string policy;
  bool here = false, there = false;
  std::uint64_t verdicts_here = 0, verdicts_there = 0;
  std::uint64_t only_here = 0, only_there = 0, both = 0;     ///< keys that a rung held
  std::vector<std::string> keys_only_here, keys_only_there;  ///< some of them, by text
};

/// The text after the number of requests that the proxy refuses whatever their key.
inline constexpr std::string_view kRefusedByProxy =
    " that the proxy would refuse (400: their path has no one meaning, or it takes no such method "
    "or host)";

struct Report {
  std::vector<FileReport> files;
  std::uint64_t rows = 0, bad = 0, late = 0, dropped = 0, events = 0;
  std::uint64_t refused_paths = 0;  ///< requests with a path or method that the proxy refuses
  std::optional<TimePoint> first, last;
  struct Effect {
    std::string name;
    std::uint64_t events = 0;
    std::size_t action = 0;  ///< the Action that it is
  };
  std::vector<Effect> effects;  ///< results of the events, the severest last
  std::vector<PolicyReport> policies;
  std::vector<ViewReport> views;
  struct Listed {
    std::string list;
    std::uint64_t events = 0;
  };
  std::vector<Listed> listed;  ///< named lists, and how many events had their verdict
  Timeline timeline;
  std::vector<LabelReport> labels;
  std::string other;                  ///< the configuration compared with; empty: none
  std::vector<Effect> other_effects;  ///< results of the same events by the other configuration
  std::vector<Difference> differences;
  std::vector<std::string> unknown;  ///< facts that replay cannot know
};

Report make_report(const Replay& replay, const std::vector<Plan::Source>& sources,
                   std::string other);

std::string report_text(const Report& report, bool colours);
std::string report_json(const Report& report);
/// One self-contained page: no script, nothing from elsewhere.
std::string report_html(const Report& report, std::string_view title);

}  // namespace weir::replay
