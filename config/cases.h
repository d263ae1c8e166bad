#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "config/text/reader.h"

/// The case files of `weir test` (docs/testing.md): events with times and answers, and the results
/// expected. In every text of a step `<n>` stands for the number of the repetition, from 1.
namespace weir::config {

/// A key that should be on a list: the list's name (or a policy's name, for any of its own lists),
/// and the key.
struct CaseEntry {
  Text list;
  std::vector<Text> key;
};

/// The matches of a pattern policy that should have happened so far: how many, or which.
struct CasePattern {
  struct Match {
    std::optional<Text> kind;  ///< matched, timeout or unmatched
    std::vector<Text> key;     ///< empty: any
    std::optional<Text> at;    ///< when it fired, as a step's `at`
    Where where;
  };
  Text policy;
  std::optional<std::size_t> count;
  std::vector<Match> matches;
  Where where;
};

/// A window that a view should show.
struct CaseView {
  Text view;
  std::optional<Text> end;  ///< of the window, as a step's `at`; none: the last complete one
  bool running = false;     ///< the window that is still open
  std::optional<Text> total;
  struct Row {
    std::vector<Text> parts;  ///< the key, then the value
    Where where;
  };
  std::optional<std::vector<Row>> rows;  ///< all of them, in order
  Where where;
};

struct CaseExpect {
  Where where;
  // Expectations about the event of the step.
  std::optional<Text> verdict;  ///< pass, flag, gray, delay, challenge, deny, exempt or refused
  std::optional<Text> by;       ///< the policy or list that decided
  std::optional<Located<std::int64_t>> rung;  ///< of that policy, from 0
  std::optional<Text> value, limit;
  std::optional<Located<int>> status;
  std::optional<Located<std::int64_t>> score;
  std::optional<Duration> hold;
  std::vector<std::pair<Text, Text>> upstream, headers;  ///< name and value of a header line
  std::optional<Text> body;                              ///< a part of it
  std::vector<std::pair<Text, Text>> values;             ///< policy or policy.metric: its reading
  // Expectations about the state after it.
  std::vector<CaseEntry> listed, not_listed;
  std::vector<std::pair<Text, std::size_t>> notified;  ///< notifications so far, by name
  std::vector<CasePattern> patterns;
  std::vector<CaseView> views;
  bool asks_event() const noexcept {
    return verdict || by || rung || value || limit || status || score || hold || body ||
           !upstream.empty() || !headers.empty() || !values.empty();
  }
};

/// The app's answer to a request that reaches it.
struct CaseAnswer {
  enum class End : std::uint8_t {
    answered,
    failed,   ///< the app gave no answer
    aborted,  ///< the client left before it
  };
  End end = End::answered;
  int status = 200;
  milliseconds after{0};  ///< after it got the request
  std::vector<std::pair<Text, Text>> headers;
  std::optional<Text> body;
};

struct CaseStep {
  Where where;
  std::optional<Text> at;         ///< an offset from the case's start, or a time
  std::optional<Duration> after;  ///< since the step before
  std::optional<Text> happened;   ///< the time that the event itself brings, as `at`
  // A request ...
  std::optional<Text> request;  ///< "POST /api/login?x=1"
  std::vector<std::pair<Text, Text>> headers;
  std::optional<Text> body;
  std::string content_type;  ///< of `json` and `form`
  std::optional<Text> ip;
  CaseAnswer answer;
  // ... or an event by its name.
  std::optional<Text> event;
  std::vector<std::pair<Text, Text>> fields;  ///< of it: name and value as JSON text
  // ... or a call of the rate limit service.
  std::optional<Text> domain;
  std::vector<std::vector<std::pair<Text, Text>>> descriptors;  ///< keys and values, in order
  std::int64_t hits_addend = 1;
  std::int64_t repeat = 1;
  milliseconds every{0};  ///< between repetitions
  std::optional<CaseExpect> expect;
};

struct Case {
  Text name;
  std::optional<Located<TimePoint>> start;
  std::vector<CaseStep> steps;
};

struct CaseFile {
  std::optional<Text> config;  ///< path, beside the case file unless it begins with `/`
  std::optional<Located<TimePoint>> start;
  std::vector<Case> cases;
};

/// Where the times of a case begin unless it says otherwise: a Monday, midnight UTC.
inline constexpr TimePoint kCaseStart = from_ms(1'767'571'200'000);  // 2026-01-05

/// Reads a case file; `file`: the index that its problems bear. Whole only without errors.
CaseFile parse_cases(std::string_view text, std::uint32_t file, Problems& problems);

/// The keys of case files, for the reference page.
const std::vector<TableDoc>& case_tables();

/// A JSON text of a YAML value: plain numbers, true, false and null as such, all else as strings.
std::string json_of(const Node& node);

}  // namespace weir::config
