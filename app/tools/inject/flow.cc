#include "app/tools/inject/flow.h"

#include <algorithm>

#include "core/text.h"

namespace weir::app {
namespace {

/// A scalar that is not a text: yaml-cpp marks quoted scalars with the tag `!`.
bool is_literal(const YAML::Node& node) {
  if (node.Tag() == "!") return false;
  const std::string& text = node.Scalar();
  if (text == "true" || text == "false" || text == "null") return true;
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos &&
         (text.size() == 1 || text[0] != '0');
}

bool is_plain(const std::string& text) {
  return !text.empty() && text.find_first_not_of(
                              "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "0123456789-_./=") == std::string::npos;
}

std::string scalar_text(const YAML::Node& node) {
  if (is_literal(node) || (node.Tag() != "!" && is_plain(node.Scalar()))) return node.Scalar();
  std::string out;
  append_json(out, node.Scalar());
  return out;
}

}  // namespace

std::string to_short(const YAML::Node& node) {
  std::string out;
  if (node.IsMap()) {
    for (const auto& member : node) {
      out += (out.empty() ? "" : ", ") + member.first.Scalar() + ": " + to_short(member.second);
    }
    return "{" + out + "}";
  }
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) out += (out.empty() ? "" : ", ") + to_short(item);
    return "[" + out + "]";
  }
  return scalar_text(node);
}

std::string to_flow(const YAML::Node& node) {
  std::string out;
  if (node.IsMap()) {
    for (const auto& member : node) {
      out += out.empty() ? "" : ", ";
      append_json(out, member.first.Scalar());
      out += ": " + to_flow(member.second);
    }
    return "{" + out + "}";
  }
  if (node.IsSequence()) {
    for (const YAML::Node& item : node) out += (out.empty() ? "" : ", ") + to_flow(item);
    return "[" + out + "]";
  }
  if (is_literal(node)) return node.Scalar();
  append_json(out, node.Scalar());
  return out;
}

std::string to_block(const YAML::Node& node, std::size_t indent) {
  if (!node.IsMap() && !node.IsSequence()) return scalar_text(node);
  const std::string line = "\n" + std::string(indent, ' ');
  std::string out;
  const auto append_value = [&](const YAML::Node& value, std::size_t deeper, bool own_line) {
    const bool nested = (value.IsMap() || value.IsSequence()) && value.size() != 0;
    if (nested && value.Style() != YAML::EmitterStyle::Flow) {
      if (own_line) out += "\n" + std::string(deeper, ' ');
      out += to_block(value, deeper);
    } else {
      out += (own_line ? " " : "") + to_short(value);
    }
  };
  if (node.IsMap()) {
    for (const auto& member : node) {
      out += (out.empty() ? "" : line) + member.first.Scalar() + ":";
      append_value(member.second, indent + 2, true);
    }
  } else {
    for (const YAML::Node& item : node) {
      out += (out.empty() ? "" : line) + "- ";
      append_value(item, indent + 2, false);
    }
  }
  return out;
}

}  // namespace weir::app
