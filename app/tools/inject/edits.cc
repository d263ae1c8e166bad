#include "app/tools/inject/edits.h"

#include <algorithm>

#include "app/tools/inject/flow.h"

namespace weir::app {
namespace {

std::size_t at(const YAML::Node& node) { return static_cast<std::size_t>(node.Mark().pos); }
std::size_t column(const YAML::Node& node) { return static_cast<std::size_t>(node.Mark().column); }

}  // namespace

YAML::Node key_node(const YAML::Node& map, std::string_view key) {
  for (const auto& member : map) {
    if (member.first.IsScalar() && member.first.Scalar() == key) return member.first;
  }
  return YAML::Node(YAML::NodeType::Undefined);
}

// Two at one place: the first stays the first.
void Edits::insert(std::size_t at, std::string text) { edits_.push_back({at, 0, std::move(text)}); }

// An anchor or a tag may stand before it.
std::size_t Edits::open_of(const YAML::Node& node, char bracket) const {
  return text_.find(bracket, at(node)) + 1;
}

void Edits::add_key(const YAML::Node& map, std::string_view before, const std::string& key,
                    const YAML::Node& value) {
  if (is_flow(map)) {
    insert(open_of(map, '{'), "\"" + key + "\": " + to_flow(value) + (map.size() == 0 ? "" : ", "));
    return;
  }
  YAML::Node next = key_node(map, before);
  if (!next.IsDefined()) next = map.begin()->first;
  const std::size_t indent = column(next);
  const bool nested = (value.IsMap() || value.IsSequence()) && !is_flow(value);
  const std::string line = "\n" + std::string(indent, ' ');
  insert(at(next),
         key + ":" + (nested ? line + "  " + to_block(value, indent + 2) : " " + to_short(value)) +
             line);
}

void Edits::add_first(const YAML::Node& list, const YAML::Node& item) {
  if (is_flow(list)) {
    const std::size_t place = open_of(list, '[');
    if (list.size() != 0) return insert(place, to_flow(item) + ", ");
    const bool second = std::any_of(edits_.begin(), edits_.end(),
                                    [&](const Edit& edit) { return edit.at == place; });
    return insert(place, (second ? ", " : "") + to_flow(item));
  }
  const std::size_t indent = column(list);
  YAML::Node one;
  one.push_back(item);
  insert(at(list), to_block(one, indent) + "\n" + std::string(indent, ' '));
}

void Edits::add_last(const YAML::Node& list, const YAML::Node& item) {
  if (is_flow(list)) return add_first(list, item);
  const std::size_t indent = column(list);
  YAML::Node one;
  one.push_back(item);
  const std::size_t end = end_of_block(at(list), indent);
  const bool needs_line = end > 0 && text_[end - 1] != '\n';
  insert(end, (needs_line ? "\n" : "") + std::string(indent, ' ') + to_block(one, indent) + "\n");
}

/// The place behind the last line of a list whose dashes stand in that column: its lines begin with
/// a dash there, or further to the right. Blank lines and comments behind it are not part of it.
std::size_t Edits::end_of_block(std::size_t at, std::size_t column) const {
  std::size_t line =
      text_.rfind('\n', at) == std::string_view::npos ? 0 : text_.rfind('\n', at) + 1;
  std::size_t end = line;
  while (line < text_.size()) {
    const std::size_t next = std::min(text_.find('\n', line), text_.size() - 1) + 1;
    const std::string_view content = text_.substr(line, next - line);
    const std::size_t indent = content.find_first_not_of(" \r\n");
    if (indent != std::string_view::npos) {
      const bool comment = content[indent] == '#';
      const bool dash =
          indent == column && content[indent] == '-' && content.substr(indent, 3) != "---";
      if (!comment && indent <= column && !dash) break;
      if (!comment || indent > column) end = next;
    }
    line = next;
  }
  return end;
}

bool Edits::replace(const YAML::Node& map, std::string_view key, const std::string& with) {
  const YAML::Node name = key_node(map, key);
  const YAML::Node value = name.IsDefined() ? map[std::string(key)] : name;
  if (!value.IsDefined() || !value.IsScalar()) return false;
  // Behind the key: a colon, blanks, and the value itself.
  std::size_t from = text_.find(':', at(name) + key.size());
  if (from != std::string_view::npos) from = text_.find_first_not_of(" \t", from + 1);
  if (from == std::string_view::npos || from != at(value)) return false;
  std::size_t size = value.Scalar().size();
  if (text_[from] == '"' || text_[from] == '\'') {
    size = text_.find(text_[from], from + 1) + 1 - from;
  } else if (text_.substr(from, size) != value.Scalar()) {
    return false;
  }
  edits_.push_back({from, size, with});
  return true;
}

std::string Edits::apply() const {
  const bool returns = text_.find("\r\n") != std::string_view::npos;
  std::vector<const Edit*> order;
  order.reserve(edits_.size());
  for (const Edit& edit : edits_) order.push_back(&edit);
  std::stable_sort(order.begin(), order.end(),
                   [](const Edit* a, const Edit* b) { return a->at < b->at; });
  std::string out;
  std::size_t from = 0;
  for (const Edit* edit : order) {
    out += text_.substr(from, edit->at - from);
    for (const char c : edit->text) {
      if (c == '\n' && returns) out += '\r';
      out += c;
    }
    from = edit->at + edit->erase;
  }
  return out + std::string(text_.substr(from));
}

}  // namespace weir::app
