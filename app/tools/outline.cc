#include "app/tools/outline.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <boost/json/value.hpp>

#include "core/number.h"
#include "core/text.h"
#include "core/visible.h"

namespace weir::app {
namespace {

namespace json = boost::json;

void append_scalar(std::string& out, const json::value& value) {
  if (value.is_string()) {
    append_plain(out, std::string_view(value.get_string().data(), value.get_string().size()));
  } else if (value.is_double()) {
    out += Number::real(value.get_double()).to_string();  // serialize() would write 8.656E0
  } else if (value.is_null()) {
    out += '-';
  } else {
    out += json::serialize(value);
  }
}

void append_lines(std::string& out, const json::value& value, std::size_t indent);

void append_list(std::string& out, const json::array& list, std::size_t indent) {
  const bool plain = std::none_of(list.begin(), list.end(),
                                  [](const json::value& item) { return item.is_structured(); });
  if (plain) {
    out += list.empty() ? " none" : "";
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += i == 0 ? " " : ", ";
      append_scalar(out, list[i]);
    }
    out += '\n';
    return;
  }
  out += '\n';
  for (const json::value& item : list) {
    // The first line of an item begins with a dash, the others are below it.
    std::string lines;
    append_lines(lines, item, indent + 2);
    if (lines.size() > indent) lines[indent] = '-';
    out += lines;
  }
}

void append_lines(std::string& out, const json::value& value, std::size_t indent) {
  if (!value.is_object()) {
    out.append(indent, ' ');
    if (value.is_array()) {
      out += escape_hidden(json::serialize(value));
    } else {
      append_scalar(out, value);
    }
    out += '\n';
    return;
  }
  for (const auto& [name, inner] : value.get_object()) {
    out.append(indent, ' ');
    append_plain(out, std::string_view(name.data(), name.size()));
    out += ':';
    if (inner.is_object()) {
      out += inner.get_object().empty() ? " none\n" : "\n";
      append_lines(out, inner, indent + 2);
    } else if (inner.is_array()) {
      append_list(out, inner.get_array(), indent + 2);
    } else {
      out += ' ';
      append_scalar(out, inner);
      out += '\n';
    }
  }
}

}  // namespace

std::string outline(const json::value& value) {
  std::string out;
  append_lines(out, value, 0);
  return out;
}

}  // namespace weir::app
