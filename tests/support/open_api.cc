#include "tests/support/open_api.h"

#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <charconv>
#include <optional>
#include <regex>

namespace weir::test {
namespace {

namespace json = boost::json;

json::value scalar(const YAML::Node& node) {
  const std::string& text = node.Scalar();
  if (node.Tag() == "!") return json::value(text);  // quoted, or a block
  if (text == "null" || text == "~" || text.empty()) return nullptr;
  if (text == "true") return true;
  if (text == "false") return false;
  std::int64_t integer = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), integer);
  if (error == std::errc{} && end == text.data() + text.size()) return integer;
  double real = 0;
  auto [real_end, real_error] = std::from_chars(text.data(), text.data() + text.size(), real);
  if (real_error == std::errc{} && real_end == text.data() + text.size()) return real;
  return json::value(text);
}

json::value to_json(const YAML::Node& node) {
  if (node.IsMap()) {
    json::object out;
    for (const auto& member : node) out[member.first.Scalar()] = to_json(member.second);
    return out;
  }
  if (node.IsSequence()) {
    json::array out;
    for (const auto& item : node) out.push_back(to_json(item));
    return out;
  }
  return node.IsScalar() ? scalar(node) : json::value();
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

bool is_type(const json::value& value, std::string_view type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_bool();
  if (type == "null") return value.is_null();
  if (type == "integer") return value.is_int64() || value.is_uint64();
  return type == "number" && value.is_number();
}

bool is_method(std::string_view name) {
  return name == "get" || name == "post" || name == "delete" || name == "put" || name == "patch";
}

}  // namespace

const OpenApi& OpenApi::admin() {
  static const OpenApi api("openapi.yaml");
  return api;
}

const OpenApi& OpenApi::events() {
  static const OpenApi api("openapi_events.yaml");
  return api;
}

OpenApi::OpenApi(std::string_view file)
    : root_(to_json(YAML::LoadFile(std::string(WEIR_SOURCE_DIR) + "/docs/" + std::string(file)))) {}

std::set<std::string> OpenApi::operations() const {
  std::set<std::string> out;
  for (const auto& [path, item] : root_.at("paths").as_object()) {
    for (const auto& [name, operation] : item.as_object()) {
      if (!is_method(name)) continue;
      std::string method(name);
      std::transform(method.begin(), method.end(), method.begin(),
                     [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
      out.insert(method + " " + std::string(path));
    }
  }
  return out;
}

json::value OpenApi::resolve(const json::value& node) const {
  if (!node.is_object() || !node.as_object().contains("$ref")) return node;
  std::string_view path = node.at("$ref").as_string();
  const json::value* at = &root_;
  for (path.remove_prefix(2); !path.empty();) {
    const std::string_view step = path.substr(0, path.find('/'));
    at = &at->at(step);
    path.remove_prefix(std::min(step.size() + 1, path.size()));
  }
  return resolve(*at);
}

namespace {

/// Numbers, lengths and patterns.
std::string check_bounds(const json::object& rules, const json::value& value,
                         const std::string& where) {
  const auto bound = [&](std::string_view name) -> std::optional<double> {
    const json::value* const found = rules.if_contains(name);
    return found == nullptr ? std::nullopt : std::optional(found->to_number<double>());
  };
  const auto outside = [&](double size, std::string_view least, std::string_view most) {
    const auto low = bound(least), high = bound(most);
    return (low && size < *low) || (high && size > *high);
  };
  const auto told = [&] { return where + ": " + json::serialize(value) + " is out of bounds"; };
  if (value.is_number() && outside(value.to_number<double>(), "minimum", "maximum")) return told();
  if (value.is_string() &&
      outside(static_cast<double>(value.as_string().size()), "minLength", "maxLength"))
    return told();
  if (value.is_array() &&
      outside(static_cast<double>(value.as_array().size()), "minItems", "maxItems"))
    return told();
  const json::value* const pattern = rules.if_contains("pattern");
  if (pattern != nullptr && value.is_string() &&
      !std::regex_search(std::string(value.as_string()),
                         std::regex(std::string(pattern->as_string()))))
    return where + ": " + json::serialize(value) + " is not like " + json::serialize(*pattern);
  return {};
}

}  // namespace

std::string OpenApi::check(const json::value& given, const json::value& value,
                           const std::string& where) const {
  const json::value schema = resolve(given);
  const json::object& rules = schema.as_object();
  if (const json::value* type = rules.if_contains("type")) {
    bool fits = false;
    if (type->is_string()) fits = is_type(value, type->as_string());
    if (type->is_array()) {
      for (const auto& each : type->as_array()) fits = fits || is_type(value, each.as_string());
    }
    if (!fits) return where + ": " + json::serialize(value) + " is no " + json::serialize(*type);
  }
  if (const json::value* words = rules.if_contains("enum")) {
    const auto& all = words->as_array();
    if (std::find(all.begin(), all.end(), value) == all.end()) return where + ": not in the enum";
  }
  if (rules.contains("format") && value.is_string() &&
      rules.at("format") == json::value("date-time")) {
    static const std::regex form(R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)");
    if (!std::regex_match(std::string(value.as_string()), form)) return where + ": no time";
  }
  if (value.is_array() && rules.contains("items")) {
    for (const auto& item : value.as_array()) {
      if (auto wrong = check(rules.at("items"), item, where + "[]"); !wrong.empty()) return wrong;
    }
  }
  if (const json::value* const constant = rules.if_contains("const");
      constant != nullptr && *constant != value)
    return where + ": is no " + json::serialize(*constant);
  if (auto wrong = check_bounds(rules, value, where); !wrong.empty()) return wrong;
  for (const char* const word : {"oneOf", "anyOf"}) {
    const json::value* const choices = rules.if_contains(word);
    if (choices == nullptr) continue;
    std::string first;
    bool fits = false;
    for (const auto& choice : choices->as_array()) {
      const std::string wrong = check(choice, value, where);
      fits = fits || wrong.empty();
      if (first.empty()) first = wrong;
    }
    if (!fits) return first;
  }
  if (const json::value* const parts = rules.if_contains("allOf")) {
    for (const auto& each : parts->as_array())
      if (auto wrong = check(each, value, where); !wrong.empty()) return wrong;
  }
  if (!value.is_object()) return {};
  if (const json::value* required = rules.if_contains("required")) {
    for (const auto& name : required->as_array()) {
      if (!value.as_object().contains(name.as_string())) {
        return where + " lacks " + std::string(name.as_string());
      }
    }
  }
  const json::value* const properties = rules.if_contains("properties");
  const json::value* const more = rules.if_contains("additionalProperties");
  for (const auto& [name, member] : value.as_object()) {
    const std::string inside = where + "." + std::string(name);
    const json::value* known =
        properties != nullptr ? properties->as_object().if_contains(name) : nullptr;
    if (known == nullptr && more != nullptr && more->is_object()) known = more;
    if (known == nullptr) {
      // An object that says what it has, has nothing else, unless it says so.
      const bool open = more != nullptr ? more->as_bool() : properties == nullptr;
      if (!open) return where + " has an undescribed " + std::string(name);
      continue;
    }
    if (auto wrong = check(*known, member, inside); !wrong.empty()) return wrong;
  }
  return {};
}

std::string OpenApi::check_answer(std::string_view method, std::string_view pattern, int status,
                                  std::string_view content_type, std::string_view body) const {
  const auto& responses =
      root_.at("paths").at(pattern).at(lower(method)).at("responses").as_object();
  const json::value* response = responses.if_contains(std::to_string(status));
  if (response == nullptr && status >= 400) response = responses.if_contains("default");
  if (response == nullptr) return "status " + std::to_string(status) + " is not described";
  const json::value described = resolve(*response);
  const std::string type(content_type.substr(0, content_type.find(';')));
  const json::value* const media = described.at("content").as_object().if_contains(type);
  if (media == nullptr) return "content type " + type + " is not described";
  boost::system::error_code error;
  const json::value value = type == "text/plain" ? json::value(body) : json::parse(body, error);
  if (error) return "no JSON: " + std::string(body);
  return check(media->at("schema"), value, "body");
}

std::string OpenApi::check_examples() const {
  for (const auto& [path, item] : root_.at("paths").as_object()) {
    for (const auto& [name, operation] : item.as_object()) {
      if (!is_method(name)) continue;
      std::vector<json::value> bodies;
      if (const auto* request = operation.as_object().if_contains("requestBody"))
        bodies.push_back(resolve(*request));
      for (const auto& [status, response] : operation.at("responses").as_object()) {
        bodies.push_back(resolve(response));
      }
      for (const json::value& body : bodies) {
        for (const auto& [type, media] : body.at("content").as_object()) {
          const json::value* example = media.as_object().if_contains("example");
          if (example == nullptr) continue;
          const std::string where = std::string(name) + " " + std::string(path);
          if (auto wrong = check(media.at("schema"), *example, where); !wrong.empty()) return wrong;
        }
      }
    }
  }
  return {};
}

std::string OpenApi::method_summary(std::string_view method, std::string_view pattern) const {
  return std::string(root_.at("paths").at(pattern).at(lower(method)).at("summary").as_string());
}

}  // namespace weir::test
