#include "config/text/merge.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace weir::config {
namespace {

void append_text(std::string& out, std::string_view text) {
  out += std::to_string(text.size());
  out += ':';
  out += text;
}

std::string_view spelling_of(const FieldDef& def) { return def.expression.value; }
template <class Def>
std::string_view spelling_of(const Def& def) {
  return def.spelling;
}

template <class Def>
void merge(std::vector<Def>& defs) {
  std::unordered_map<std::string_view, const Def*> first;
  std::vector<bool> drop(defs.size());
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const auto [at, fresh] = first.emplace(defs[i].name.value, &defs[i]);
    drop[i] = !fresh && at->second->name.where.file != defs[i].name.where.file &&
              spelling_of(*at->second) == spelling_of(defs[i]);
  }
  std::size_t i = 0;
  std::erase_if(defs, [&](const Def&) { return drop[i++]; });
}

}  // namespace

std::string spelling(const Node& node) {
  std::string out;
  switch (node.kind) {
    case Node::Kind::null:
      return "~";
    case Node::Kind::scalar:
      out = node.plain ? "s" : "q";
      append_text(out, node.text);
      return out;
    case Node::Kind::list:
      out = "[";
      for (const Member& item : node.items) out += spelling(*item.value);
      return out += ']';
    case Node::Kind::map: {
      std::vector<std::string> members;
      for (const Member& m : node.items) {
        std::string& text = members.emplace_back();
        append_text(text, m.key->text);
        text += spelling(*m.value);
      }
      std::sort(members.begin(), members.end());
      out = "{";
      for (const std::string& text : members) out += text;
      return out += '}';
    }
  }
  return out;
}

void merge_equal(Model& model) {
  merge(model.fields);
  merge(model.events);
  merge(model.lists);
  merge(model.tables);
  merge(model.notify);
}

}  // namespace weir::config
