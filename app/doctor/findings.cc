#include "app/doctor/findings.h"

#include <algorithm>

#include "core/text.h"

namespace weir::app::doctor {
namespace {

std::string_view colour_of(State state) noexcept {
  return state == State::ok ? "\x1b[32m" : state == State::warning ? "\x1b[33m" : "\x1b[31m";
}

}  // namespace

std::string_view name_of(State state) noexcept {
  return state == State::ok ? "ok" : state == State::warning ? "warning" : "problem";
}

std::size_t Findings::count(State state) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(all_.begin(), all_.end(), [&](const Finding& f) { return f.state == state; }));
}

std::string Findings::to_text(bool colours) const {
  std::size_t width = 0;
  for (const Finding& finding : all_) width = std::max(width, finding.check.size());
  std::string out;
  for (const Finding& finding : all_) {
    std::string state(name_of(finding.state));
    state.resize(8, ' ');
    out += colours ? std::string(colour_of(finding.state)) + state + "\x1b[0m" : state;
    out += "  " + finding.check + std::string(width - finding.check.size() + 2, ' ');
    append_plain(out, finding.what);
    out += '\n';
    if (finding.advice.empty()) continue;
    out += std::string(8 + 2 + width + 2, ' ') + "-> ";
    append_plain(out, finding.advice);
    out += '\n';
  }
  const std::size_t problems = count(State::problem), warnings = count(State::warning);
  out += counted(problems, "problem", "problems") + ", " +
         counted(warnings, "warning", "warnings") + "\n";
  return out;
}

std::string Findings::to_json() const {
  std::string out = "{\"ok\":";
  out += count(State::problem) == 0 ? "true" : "false";
  out += ",\"problems\":" + std::to_string(count(State::problem));
  out += ",\"warnings\":" + std::to_string(count(State::warning)) + ",\"findings\":[";
  for (const Finding& finding : all_) {
    if (out.back() != '[') out += ',';
    out += "{\"check\":";
    append_json(out, finding.check);
    out += ",\"state\":";
    append_json(out, name_of(finding.state));
    out += ",\"what\":";
    append_json(out, finding.what);
    out += ",\"advice\":";
    append_json(out, finding.advice);
    out += '}';
  }
  return out + "]}\n";
}

}  // namespace weir::app::doctor
