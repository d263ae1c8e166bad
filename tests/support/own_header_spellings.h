#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/chars/own_headers.h"

namespace weir::test {

/// The headers of weir as a client can spell them for an app that folds marks: with another mark
/// for all hyphens, for the first one, and for the last one. Without the names themselves.
inline std::vector<std::string> own_header_spellings() {
  std::vector<std::string> out;
  for (const std::string_view header : kHeadersForApp) {
    for (const char mark : std::string_view("!#$%&'*+.^_`|~")) {
      std::string all(header), first(header), last(header);
      for (char& c : all) c = c == '-' ? mark : c;
      first[first.find('-')] = mark;
      last[last.rfind('-')] = mark;
      out.insert(out.end(), {all, first, last});
    }
  }
  return out;
}

}  // namespace weir::test
