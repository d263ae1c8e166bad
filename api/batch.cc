#include "api/batch.h"

#include <algorithm>

#include "core/text.h"

namespace weir::api {

Batch::Batch(std::string body, Form form, Ask ask)
    : body_(std::move(body)), form_(form), ask_(ask) {
  if (form_ != Form::lines) return;
  const auto ends = static_cast<std::size_t>(std::count(body_.begin(), body_.end(), '\n'));
  too_many_ = ends + (body_.ends_with('\n') ? 0 : 1) > kEventsMax;
}

Batch::Left Batch::work(LineJudge& judge, TimePoint now, Asker& asker) {
  if (form_ == Form::object) {
    if (const auto wrong = judge.judge(body_, ask_, now, answer_, asker)) {
      const std::string_view before = std::string_view(body_).substr(0, wrong->at);
      problem_.line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
      const std::size_t begin = before.rfind('\n');
      problem_.column = before.size() - (begin == std::string_view::npos ? 0 : begin + 1) + 1;
      problem_.what = wrong->what;
    } else if (asker.waits() || asker.goes_to()) {
      return asker.waits() ? Left::waits : Left::moves;
    } else {
      answer_.push_back('\n');
    }
    return Left::nothing;
  }
  const std::size_t slice_end = at_ + kSliceBytes;
  for (std::size_t events = 0; at_ < body_.size() && events < kSlice && at_ < slice_end;) {
    const std::size_t begin = at_;
    ++line_;
    const std::size_t end = std::min(body_.find('\n', at_), body_.size());
    const auto line = std::string_view(body_).substr(at_, end - at_);
    at_ = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    ++events;
    if (answer_.size() > kAnswerBytes) {
      add_error({line_, 1, "not judged: the answer has become too long; send fewer events"});
    } else if (const auto wrong = judge.judge(line, ask_, now, answer_, asker)) {
      add_error({line_, wrong->at + 1, wrong->what});
    } else if (asker.waits() || asker.goes_to()) {
      --line_;
      at_ = begin;
      return asker.waits() ? Left::waits : Left::moves;
    } else {
      answer_.push_back('\n');
    }
  }
  return at_ < body_.size() ? Left::some : Left::nothing;
}

void Batch::add_error(const Problem& problem) {
  answer_.append("{\"error\":");
  append_json(answer_, problem.what);
  answer_.append(",\"line\":").append(std::to_string(problem.line));
  answer_.append(",\"column\":").append(std::to_string(problem.column)).append("}\n");
}

}  // namespace weir::api
