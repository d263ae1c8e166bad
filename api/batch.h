#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "api/line_judge.h"

namespace weir::api {

/// The body of one request and the answer to it as it grows. Worked off in slices, so that a batch
/// of 10,000 events holds up a proxied request for a millisecond and not for a hundred.
class Batch {
 public:
  static constexpr std::size_t kEventsMax = 10'000;
  static constexpr std::size_t kSlice = 64;  ///< events
  static constexpr std::size_t kSliceBytes = 64 << 10;
  static constexpr std::size_t kAnswerBytes = 8 << 20;  ///< then the rest is not judged

  enum class Form : std::uint8_t {
    object,  ///< one JSON object, on any number of lines
    lines,  ///< NDJSON: one on each line, empty lines ignored, CRLF or LF, the last with or without
  };
  Batch(std::string body, Form form, Ask ask);

  /// Whether it has more lines than kEventsMax.
  bool too_many() const noexcept { return too_many_; }
  enum class Left : std::uint8_t {
    nothing,  ///< all are done
    some,     ///< call again, when others have had their turn
    waits,    ///< call again after the asker's resume()
    moves,    ///< call again on the worker to which the asker goes
  };
  /// Judges the next events. The same asker each time.
  Left work(LineJudge& judge, TimePoint now, Asker& asker);

  const std::string& answer() const noexcept { return answer_; }
  /// The problem of a batch of Form::object; line is 0 if there is none.
  struct Problem {
    std::size_t line = 0, column = 0;
    std::string what;
  };
  const Problem& problem() const noexcept { return problem_; }

 private:
  void add_error(const Problem& problem);

  std::string body_;
  Form form_;
  Ask ask_;
  bool too_many_ = false;
  std::size_t at_ = 0;
  std::size_t line_ = 0;
  std::string answer_;
  Problem problem_;
};

}  // namespace weir::api
