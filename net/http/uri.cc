#include "net/http/uri.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "core/chars/percent.h"

namespace weir::net {
namespace {

bool is_port_or_empty(std::string_view text) {
  return text.size() <= 5 && std::all_of(text.begin(), text.end(), ascii::is_digit);
}

/// Returns the text before the first `mark`, or all of it; removes both from `text`.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

}  // namespace

std::optional<std::vector<std::string>> split_path(std::string_view path) {
  if (!path.starts_with('/')) return std::nullopt;
  std::vector<std::string> out;
  for (std::size_t at = 1; at <= path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    auto segment = percent_decode(path.substr(at, end - at), false);
    if (!segment || segment->empty() || *segment == "." || *segment == "..") return std::nullopt;
    out.push_back(std::move(*segment));
    at = end + 1;
  }
  return out;
}

std::optional<Query> Query::parse(std::string_view text) {
  Query out;
  while (!text.empty()) {
    std::string_view rest = cut(text, '&');
    if (rest.empty()) continue;
    auto name = percent_decode(cut(rest, '='), true);
    auto value = percent_decode(rest, true);
    if (!name || !value || out.parameters_.size() == kParametersMax) return std::nullopt;
    out.parameters_.emplace_back(std::move(*name), std::move(*value));
  }
  return out;
}

bool lacks_escapes(std::string_view url) noexcept {
  return std::any_of(url.begin(), url.end(),
                     [](char c) { return c == ' ' || c == '#' || ascii::is_control(c); });
}

std::vector<std::string_view> Query::all(std::string_view name) const {
  std::vector<std::string_view> out;
  for (const auto& [key, value] : parameters_) {
    if (key == name) out.emplace_back(value);
  }
  return out;
}

std::optional<std::string_view> Query::one(std::string_view name) const {
  const auto values = all(name);
  if (values.size() != 1) return std::nullopt;
  return values.front();
}

std::optional<std::string> Query::take(std::string_view name) {
  for (auto it = parameters_.begin(); it != parameters_.end(); ++it) {
    if (it->first != name) continue;
    std::string value = std::move(it->second);
    parameters_.erase(it);
    return value;
  }
  return std::nullopt;
}

std::optional<std::string_view> Query::unknown(
    std::initializer_list<std::string_view> known) const {
  for (const auto& [name, value] : parameters_) {
    if (std::find(known.begin(), known.end(), name) == known.end()) return name;
  }
  return std::nullopt;
}

std::optional<std::string> host_of_authority(std::string_view authority) {
  std::string_view host = authority, port;
  if (authority.starts_with('[')) {
    const std::size_t close = authority.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    host = authority.substr(1, close - 1);
    const std::string_view rest = authority.substr(close + 1);
    if (!rest.empty() && !rest.starts_with(':')) return std::nullopt;
    port = rest.substr(std::min<std::size_t>(1, rest.size()));
  } else if (const std::size_t colon = authority.find(':'); colon != std::string_view::npos) {
    host = authority.substr(0, colon);
    port = authority.substr(colon + 1);
  }
  if (host.empty() || !is_port_or_empty(port)) return std::nullopt;
  return ascii::lowered(host);
}

}  // namespace weir::net
