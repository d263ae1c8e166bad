#include "policies/judgement/trace.h"

namespace weir::policies {

std::string_view skip_text(Skip skip) noexcept {
  switch (skip) {
    case Skip::disabled:
      return "it is disabled";
    case Skip::not_watched:
      return "no event that it watches happened";
    case Skip::when_false:
      return "its `when` is false";
    case Skip::when_null:
      return "its `when` reads something missing";
    case Skip::when_unread:
      return "it cannot be decided whether its `when` or its event's holds";
    case Skip::key_missing:
      return "a key part is missing";
    case Skip::amount_missing:
      return "the amount is missing";
    case Skip::amount_refused:
      return "the amount is negative or not finite";
    case Skip::exempt:
      return "an allow list ended judging";
    case Skip::listed:
      return "its own list refuses the key; not counted";
    case Skip::denied:
      return "a deny list refuses the request; nothing else is judged";
    case Skip::late:
      return "it comes later than `late` allows; not counted";
  }
  return "";
}

}  // namespace weir::policies
