#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "api/event_reader.h"
#include "app/tools/cases/case_run.h"

namespace weir::app {

/// One event of a case, from its step to the app's answer.
struct CaseRun::Flight {
  const config::CaseStep* step = nullptr;
  std::int64_t number = 1;  ///< of the repetition
  RequestDraft draft;
  std::string json;                          ///< of an event: as an app would send it
  std::unique_ptr<api::EventReader> reader;  ///< has read it; null: it is a request
  policies::Judgement judgement;
  bool judged = false;  ///< policies have seen it
  TimePoint asked;      ///< when it was sent first

  bool is_event() const noexcept { return step->request || step->event || step->domain; }
  /// The method of the request; empty: none is known.
  std::string_view method() const noexcept {
    if (reader == nullptr) return draft.request().method;
    const Request* const request = reader->record().request;
    return request != nullptr ? request->method : std::string_view{};
  }
  /// An event may bring its answer along: `status`, or `response`.
  bool says_answer() const noexcept {
    if (reader == nullptr) return false;
    const Answer& answer = reader->answer();
    return answer.status != 0 || !answer.headers.empty() || !answer.body.empty();
  }
  /// The text with every `<n>` replaced.
  std::string fill(std::string_view text) const;
};

/// Equal as texts, or as numbers, up to the precision of a decimal text.
bool same_value(std::string_view wanted, std::string_view came);

/// Replaces every `<n>`.
std::string with_number(std::string_view text, std::int64_t number);

}  // namespace weir::app
