#include "config/import/nginx_key.h"

#include <algorithm>

#include "config/sections/key_parts.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

/// A variable of nginx in weir.
struct Field {
  std::string name;       ///< empty: the same for all requests
  bool empty = false;     ///< nginx may have no text for it
  bool may_miss = false;  ///< weir may have none
  std::string_view why;   ///< a note: the difference
};

std::optional<Field> field_of(const std::string& name) {
  constexpr std::string_view kForwarded =
      "weir counts only by the client's address: proxy.client_ip says which proxies are trusted";
  constexpr std::string_view kHop = "weir counts by the client's address, and not by the hop's";
  static const std::map<std::string, Field> kFields{
      // nginx counts each IPv6 address by itself.
      {"binary_remote_addr", {"ip/32,128", false, false, {}}},
      {"remote_addr", {"ip/32,128", false, false, {}}},
      {"realip_remote_addr", {"ip/32,128", false, false, kHop}},
      {"proxy_add_x_forwarded_for", {"ip/32,128", false, false, kForwarded}},
      // Without the header nginx takes the name of the server.
      {"host", {"host", false, true, {}}},
      {"http_host", {"host", true, true, {}}},
      {"uri", {"path", false, false, {}}},
      {"document_uri", {"path", false, false, {}}},
      {"request_uri", {"url", false, false, {}}},
      {"request_method", {"method", false, false, {}}},
      {"scheme", {"scheme", false, false, {}}},
      {"server_port", {"", false, false, {}}},
      {"server_addr", {"", false, false, {}}},
      {"hostname", {"", false, false, {}}}};
  if (const auto found = kFields.find(name); found != kFields.end()) return found->second;
  for (const auto& [start, family] : {std::pair{"http_", "header."}, std::pair{"arg_", "query."},
                                      std::pair{"cookie_", "cookie."}}) {
    const std::string_view text = start;
    if (name.starts_with(text) && is_name(name.substr(text.size()), false))
      return Field{family + name.substr(text.size()), true, true, {}};
  }
  return std::nullopt;
}

/// The parts of a text with variables: `$name` without its sign, or the text between.
struct Part {
  bool variable = false;
  std::string text;
};

std::vector<Part> parts_of(std::string_view rest) {
  std::vector<Part> out;
  while (!rest.empty()) {
    if (rest.front() != '$') {
      const std::size_t next = std::min(rest.find('$'), rest.size());
      out.push_back({false, std::string(rest.substr(0, next))});
      rest.remove_prefix(next);
      continue;
    }
    std::size_t end = 1;
    const bool braces = rest.size() > 1 && rest[1] == '{';
    if (braces) {
      end = std::min(rest.find('}'), rest.size());
    } else {
      while (end < rest.size() &&
             (is_name(rest.substr(end, 1), false) || ascii::is_digit(rest[end])))
        ++end;
    }
    const std::size_t from = std::min<std::size_t>(braces ? 2 : 1, end);
    out.push_back({true, std::string(rest.substr(from, end - from))});
    rest.remove_prefix(std::min(end + (braces ? 1 : 0), rest.size()));
  }
  return out;
}

}  // namespace

bool is_by_server(const NginxZone& zone) {
  const auto parts = parts_of(zone.variables);
  return std::any_of(parts.begin(), parts.end(),
                     [](const Part& part) { return part.variable && part.text == "server_name"; });
}

NginxKey nginx_key(const NginxZone& zone, const std::string& server, const NginxFile& file) {
  NginxKey key;
  bool always = false;  // nginx has a text for it
  bool may_miss = false;
  std::vector<std::string> filled;
  for (const Part& part : parts_of(zone.variables)) {
    if (!part.variable || part.text == "server_name") {
      always = always || !part.variable || !server.empty();
      continue;
    }
    auto field = field_of(part.text);
    if (!field) {
      key.known = false;
      key.what = "zone with $" + part.text;
      key.why = file.mapped.contains("$" + part.text)
                    ? "a map or geo block sets it: write the condition under `when`, or a table"
                    : "weir has no such field: give it one under `fields`";
      return key;
    }
    if (!field->why.empty()) {
      key.what = "zone with $" + part.text;
      key.why = field->why;
    }
    always = always || !field->empty;
    may_miss = may_miss || field->may_miss;
    if (field->name.empty() ||
        std::find(key.fields.begin(), key.fields.end(), field->name) != key.fields.end())
      continue;
    if (field->empty) filled.push_back("has(" + field->name + ") && " + field->name + " != \"\"");
    key.fields.push_back(std::move(field->name));
  }
  if (key.fields.size() > kKeyPartsMax) {
    key.known = false;
    key.what = "zone with " + zone.variables;
    key.why = "it has more than " + std::to_string(kKeyPartsMax) +
              " variables; a key in weir has no more";
    return key;
  }
  if (key.fields.empty() && !always) {
    key.known = false;
    key.what = "zone with " + (zone.variables.empty() ? "\"\"" : zone.variables);
    key.why = "its key is always empty: nginx counts nothing";
    return key;
  }
  if (may_miss && (always || key.fields.size() > 1)) key.missing = "same";
  if (always) return key;
  if (filled.size() == 1) {
    key.when = key.fields.front() + " != \"\"";
    return key;
  }
  for (const std::string& one : filled) key.when += (key.when.empty() ? "" : " || ") + one;
  key.when = "(" + key.when + ")";
  return key;
}

}  // namespace weir::config
