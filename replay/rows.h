#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "policies/judgement/pattern_sink.h"
#include "policies/judgement/row_sink.h"
#include "policies/set/policy_set.h"
#include "replay/row_pieces.h"

namespace weir::replay {

/// Writes rows of NDJSON or csv (docs/replay.md): for every event its readings, then its verdicts,
/// keys remembered without one, the refusals by policies' own lists, then the matches that it
/// completes; csv has no rows of views and no summary. Also a RowSink. Gives whole lines, some 64
/// KiB at a time.
class RowWriter final : public policies::RowSink {
 public:
  using Out = std::function<void(std::string_view)>;
  /// `readings[p]`: the readings of policy p are wanted.
  enum class Form : std::uint8_t { ndjson, csv };
  RowWriter(Out out, std::vector<bool> readings, Form form = Form::ndjson);
  /// The writer of one of several threads: its rows stay in `pieces`, until merge_pieces() puts the
  /// pieces of all threads in order. `pieces` must outlive it.
  RowWriter(RowPieces& pieces, std::vector<bool> readings, Form form);

  /// The event that is judged next.
  void begin(TimePoint time, std::uint64_t line) noexcept {
    time_ = time;
    line_ = line;
  }
  /// To which step of the replay belongs what follows (RowPieces).
  void set_step(std::uint64_t step) noexcept { step_ = step; }
  void reading(const Row& row) override;
  void verdict(const Row& row, const policies::Rung& rung, std::size_t index,
               std::optional<Number> limit) override;
  void remembered(const Row& row, const policies::Rung& rung, std::size_t index,
                  std::optional<Number> limit) override;
  void listed(const Row& row, const policies::List& list) override;
  /// A match that the event completes; `answered`: by its answer.
  void pattern(const policies::MatchedPattern& match, bool answered);
  /// The event is judged: its rows go out.
  void end();
  /// A whole line of another kind, without its end.
  void line(std::string_view json);
  /// One that the watermark has brought about, in the order of time, then of rank.
  void timed(TimePoint time, std::uint32_t rank, std::string_view json);
  /// Whole lines that are made already.
  void lines(std::string_view text);
  void flush();

 private:
  enum class Kind : std::uint8_t { reading, verdict, remembered, listed, pattern };
  /// The text to which a row of this kind is appended.
  std::string& place_of(Kind kind);
  /// The row begins at `begin`. Readings and verdicts are in the order of policies, those that
  /// an answer causes after the others.
  void written(Kind kind, std::size_t begin, std::size_t policy, bool answered);
  void head(std::string& out, std::string_view type, const Row& row) const;
  void rung_row(std::string& out, std::string_view type, const Row& row, const policies::Rung& rung,
                std::size_t index, std::optional<Number> limit) const;
  void csv_head(std::string& out, std::string_view type, const Row& row) const;

  Out out_;
  std::vector<bool> readings_;
  Form form_;
  RowPieces* pieces_ = nullptr;
  TimePoint time_{};
  std::uint64_t line_ = 0, step_ = 0;
  std::string buffer_, verdicts_, remembered_, listed_, patterns_;
};

/// `{"type":"pattern",...}`, without the line's end.
void append_pattern(std::string& out, const policies::MatchedPattern& match);
/// `matched`, `timeout`, `unmatched`.
std::string_view match_word(limiter::MatchKind kind) noexcept;

/// A value of a row: integers bare, doubles shortest, what is beyond all doubles as Number::finite.
void append_value(std::string& out, const Value& value);

}  // namespace weir::replay
