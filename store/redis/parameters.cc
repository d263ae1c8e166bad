#include "store/redis/parameters.h"

#include <algorithm>

#include "core/chars/ascii.h"

namespace weir::store {
namespace {

using limiter::SharedForm;
using limiter::SharedPart;

double length(const SharedPart& part) {
  return static_cast<double>(part.counter->spec.length.count());
}
double keep(const SharedPart& part) { return static_cast<double>(part.counter->spec.keep); }
double entries(const SharedPart& part) {
  return part.counter->spec.window == limiter::Window::events ? part.counter->spec.events
                                                              : keep(part);
}
double quantum(const SharedPart& part) { return static_cast<double>(part.counter->rule.quantum); }
double span(const SharedPart& part) { return static_cast<double>(part.counter->rule.span); }
double capacity(const SharedPart& part) { return part.counter->spec.capacity.as_real(); }
double drain(const SharedPart& part) {
  return static_cast<double>(part.counter->spec.drain.count());
}
double drains(const SharedPart& part) { return part.counter->spec.drains; }

constexpr Parameter kNone{{}, nullptr};
constexpr Parameter kLength{"length", length};
constexpr std::array kOfWindow{kLength};
constexpr std::array kOfEntries{kLength, Parameter{"keep", entries}};
constexpr std::array kOfMembers{kLength, kNone, kNone, kNone, Parameter{"keep", keep}};
constexpr std::array kOfRing{Parameter{"quantum", quantum}, Parameter{"span", span}};
constexpr std::array kOfLeaky{Parameter{"capacity", capacity}, Parameter{"drain", drain},
                              Parameter{"keep", keep}, Parameter{"drains", drains}};

bool is_of_name(char c) noexcept { return ascii::is_lower(c) || c == '_'; }

}  // namespace

std::span<const Parameter> parameters_of(SharedForm form) noexcept {
  switch (form) {
    case SharedForm::ring:
      return kOfRing;
    case SharedForm::log:
    case SharedForm::near:
      return kOfEntries;
    case SharedForm::members:
      return kOfMembers;
    case SharedForm::leaky:
      return kOfLeaky;
    default:
      return kOfWindow;
  }
}

std::optional<std::size_t> place_of(std::string_view name, SharedForm form) noexcept {
  if (name.empty()) return std::nullopt;
  const std::span<const Parameter> own = parameters_of(form);
  for (std::size_t i = 0; i < own.size(); ++i) {
    if (own[i].name == name) return i;
  }
  const auto edge = std::ranges::find(kEdges, name);
  if (edge == kEdges.end()) return std::nullopt;
  return static_cast<std::size_t>(edge - kEdges.begin());
}

std::string with_places(std::string_view text, SharedForm form, bool are_locals) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("p.");
    out += text.substr(0, at);
    if (at == text.npos) break;
    const bool begins = out.empty() || !(is_of_name(out.back()) || out.back() == '.');
    text.remove_prefix(at + 2);
    std::size_t size = 0;
    while (size < text.size() && is_of_name(text[size])) ++size;
    const auto place = begins ? place_of(text.substr(0, size), form) : std::nullopt;
    if (!place || !are_locals) out += "p.";
    if (place) {
      out += static_cast<char>('a' + *place);
      text.remove_prefix(size);
    }
  }
  return out;
}

}  // namespace weir::store
