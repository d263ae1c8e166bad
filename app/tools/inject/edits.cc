#include "app/tools/inject/edits.h"

#include <algorithm>
#include <iterator>

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

bool Edits::is_taken(std::size_t place) const {
  return std::any_of(edits_.begin(), edits_.end(),
                     [&](const Edit& edit) { return edit.at == place; });
}

// An anchor or a tag may precede it.
std::size_t Edits::open_of(const YAML::Node& node, char bracket) const {
  return text_.find(bracket, at(node)) + 1;
}

void Edits::add_key(const YAML::Node& map, std::string_view before, const std::string& key,
                    const YAML::Node& value) {
  if (is_flow(map)) {
    const std::size_t place = open_of(map, '{');
    const std::string member = "\"" + key + "\": " + to_flow(value);
    if (map.size() != 0) return insert(place, member + ", ");
    return insert(place, (is_taken(place) ? ", " : "") + member);
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

std::string_view Edits::null_behind(const YAML::Node& name, std::string_view key) const {
  if (!name.IsDefined()) return {};
  const std::size_t colon = text_.find(':', at(name) + key.size());
  if (colon == std::string_view::npos) return {};
  const std::size_t from = colon + 1;
  const std::size_t token = std::min(text_.find_first_not_of(" \t", from), text_.size());
  const std::size_t end = std::min(text_.find_first_of(" \t\r\n,}", token), text_.size());
  const std::string_view said = text_.substr(token, end - token);
  if (said == "null" || said == "~" || said == "Null" || said == "NULL")
    return text_.substr(from, end - from);
  return said.empty() || said[0] == '#' ? text_.substr(from, 0) : std::string_view{};
}

bool Edits::can_fill(const YAML::Node& map, std::string_view key) const {
  return null_behind(key_node(map, key), key).data() != nullptr;
}

bool Edits::fill(const YAML::Node& map, std::string_view key, const YAML::Node& value) {
  const YAML::Node name = key_node(map, key);
  const std::string_view gone = null_behind(name, key);
  if (gone.data() == nullptr) return false;
  const bool flow = is_flow(map);
  const bool nested = (value.IsMap() || value.IsSequence()) && !is_flow(value) && !flow;
  const std::size_t indent = column(name) + 2;
  edits_.push_back({static_cast<std::size_t>(gone.data() - text_.data()), gone.size(),
                    nested ? "\n" + std::string(indent, ' ') + to_block(value, indent)
                           : " " + (flow ? to_flow(value) : to_short(value))});
  return true;
}

void Edits::add_first(const YAML::Node& list, const YAML::Node& item) {
  if (is_flow(list)) {
    const std::size_t place = open_of(list, '[');
    if (list.size() != 0) return insert(place, to_flow(item) + ", ");
    return insert(place, (is_taken(place) ? ", " : "") + to_flow(item));
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

/// The place after the last line of a list whose dashes are in that column: its lines begin with
/// a dash there, or further to the right. Blank lines and comments after it are not part of it.
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

void Edits::erase(std::size_t from, std::size_t to) { edits_.push_back({from, to - from, {}}); }

std::size_t Edits::line_of(std::size_t at) const {
  const std::size_t end = at == 0 ? std::string_view::npos : text_.rfind('\n', at - 1);
  return end == std::string_view::npos ? 0 : end + 1;
}

/// The start of a key, or of an item: in block form with its dash.
std::size_t Edits::start_of(const YAML::Node& of, std::size_t member) const {
  if (of.IsMap()) return at(std::next(of.begin(), static_cast<std::ptrdiff_t>(member))->first);
  const std::size_t item = at(of[member]);
  if (is_flow(of)) return item;
  // An anchor, a tag or a comment may be between, with dashes of its own.
  std::size_t dash = text_.rfind('-', item);
  while (dash != std::string_view::npos && dash > 0 && dash - line_of(dash) != column(of))
    dash = text_.rfind('-', dash - 1);
  return dash;
}

bool Edits::remove(const YAML::Node& of, const std::set<std::size_t>& which) {
  const bool flow = is_flow(of);
  if (which.empty()) return true;
  if (which.size() == of.size() && !flow) return false;
  for (auto each = which.begin(); each != which.end();) {
    const std::size_t first = *each;
    std::size_t last = first;
    for (++each; each != which.end() && *each == last + 1; ++each) ++last;
    if (flow)
      remove_flow(of, first, last);
    else if (!remove_block(of, first, last))
      return false;
  }
  return true;
}

bool Edits::remove_block(const YAML::Node& of, std::size_t first, std::size_t last) {
  const std::size_t from = start_of(of, first);
  if (last + 1 < of.size()) {
    erase(from, before_comments(from, start_of(of, last + 1)));
    return true;
  }
  const std::size_t line = line_of(from);
  if (text_.substr(line, from - line).find_first_not_of(' ') != std::string_view::npos)
    return false;
  erase(line, end_of_member(start_of(of, last)));
  return true;
}

/// Up to `to`, or to the comments on lines of their own before it. A line that is
/// indented deeper than the members belongs to the member before, a comment or not: a text of `|`
/// may look like one.
std::size_t Edits::before_comments(std::size_t from, std::size_t to) const {
  std::size_t out = to;
  const std::size_t column = to - line_of(to);
  for (std::size_t line = line_of(to); line > from;) {
    line = line_of(line - 1);
    const std::size_t begin = text_.find_first_not_of(" \r\n", line);
    const std::size_t end = text_.find('\n', line);
    if (line <= from || (begin < end && (text_[begin] != '#' || begin - line > column))) break;
    if (begin < end) out = begin;
  }
  return out;
}

/// The place after the last line of a member that begins here: its other lines are further to
/// the right, or are the items of its list.
std::size_t Edits::end_of_member(std::size_t at) const {
  const std::size_t column = at - line_of(at);
  const bool is_item = text_[at] == '-';
  std::size_t line = std::min(text_.find('\n', at), text_.size() - 1) + 1;
  std::size_t end = line;
  while (line < text_.size()) {
    const std::size_t next = std::min(text_.find('\n', line), text_.size() - 1) + 1;
    const std::string_view content = text_.substr(line, next - line);
    const std::size_t indent = content.find_first_not_of(" \r\n");
    if (indent != std::string_view::npos) {
      const bool dash = !is_item && indent == column && content[indent] == '-' &&
                        content.substr(indent, 3) != "---";
      if (indent <= column && !dash) break;
      end = next;
    }
    line = next;
  }
  return end;
}

/// With the comma before or after, and the text between it and the next one.
void Edits::remove_flow(const YAML::Node& of, std::size_t first, std::size_t last) {
  const std::size_t from = start_of(of, first);
  const std::size_t end = end_of_flow(start_of(of, last));
  if (last + 1 == of.size())
    return erase(first == 0 ? from : end_of_flow(start_of(of, first - 1)), end);
  std::size_t to = text_.find(',', end) + 1;
  const std::size_t line = line_of(from);
  const std::size_t rest = text_.find_first_not_of(" \r", to);
  const bool own_lines = line > 0 && rest != std::string_view::npos && text_[rest] == '\n' &&
                         text_.find_first_not_of(" \t", line) == from;
  if (own_lines) return erase(line, rest + 1);
  if (to < text_.size() && text_[to] == ' ') ++to;
  erase(from, to);
}

/// The end of a member of a flow form: before its comma, or the bracket after it.
std::size_t Edits::end_of_flow(std::size_t at) const {
  std::size_t depth = 0;
  bool fresh = true;  // a quote would begin a text here
  std::size_t end = at;
  for (std::size_t i = at; i < text_.size(); ++i) {
    const char c = text_[i];
    const bool closes = c == ']' || c == '}';
    if (depth == 0 && (closes || c == ',')) break;
    if (c == '#' && i > at && (text_[i - 1] == ' ' || text_[i - 1] == '\n')) {
      i = std::min(text_.find('\n', i), text_.size()) - 1;
      continue;
    }
    if (fresh && (c == '"' || c == '\'')) {
      for (++i; i < text_.size() && text_[i] != c; ++i)
        if (c == '"' && text_[i] == '\\') ++i;
    }
    if (closes) --depth;
    if (c == '[' || c == '{') ++depth;
    const bool blank = c == ' ' || c == '\t' || c == '\r' || c == '\n';
    if (!blank) {
      fresh = c == '[' || c == '{' || c == ',' || c == ':';
      end = i + 1;
    }
  }
  return std::min(end, text_.size());
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
