#include "config/text/http_method.h"

#include "config/text/edit_distance.h"

namespace weir::config {
namespace {

constexpr std::size_t kShort = 4;    // GET, PUT, HEAD, POST: one letter makes another word of them
constexpr std::size_t kLongest = 8;  // OPTIONS and one letter more

bool has_the_letters_of(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::is_permutation(a.begin(), a.end(), b.begin());
}

}  // namespace

std::string_view meant_http_method(std::string_view text) {
  if (text.size() > kLongest || is_http_method(text)) return {};
  for (const std::string_view method : kHttpMethods) {
    if (edit_distance(text, method, 1) > 1) continue;
    const bool replaced = text.size() == method.size() && !has_the_letters_of(text, method);
    if (!replaced || method.size() > kShort) return method;
  }
  return {};
}

}  // namespace weir::config
