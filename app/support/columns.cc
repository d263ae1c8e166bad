#include "app/support/columns.h"

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "core/chars/key_text.h"
#include "core/json_numbers.h"
#include "core/number.h"
#include "core/text.h"

namespace weir::app {

namespace json = boost::json;

namespace {

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

std::string plain(const json::value& value) {
  std::string out;
  if (value.is_string()) {
    append_plain(out, std::string_view(value.get_string().data(), value.get_string().size()));
  } else if (value.is_int64() || value.is_uint64()) {
    out = value.is_int64() ? std::to_string(value.get_int64()) : std::to_string(value.get_uint64());
  } else if (value.is_double()) {
    out = Number::real(value.get_double()).to_string();
  } else if (value.is_array()) {
    for (const json::value& item : value.get_array()) {
      if (!out.empty()) out += ", ";
      out += plain(item);
    }
  } else if (!value.is_null()) {
    append_plain(out, plain_numbers(json::serialize(value)));
  }
  return out;
}

std::string columns(const Rows& rows, std::string_view indent, bool heading) {
  std::vector<std::size_t> widths;
  std::vector<bool> used;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    used.resize(widths.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], width_of(row[i]));
      used[i] = used[i] || !heading || (&row != &rows.front() && !row[i].empty());
    }
  }
  std::string out;
  for (const auto& row : rows) {
    out += indent;
    std::size_t owed = 0;  // blanks between the last cell and the next
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (!used[i]) continue;
      out.append(owed, ' ');
      out += row[i];
      owed = widths[i] + 2 - width_of(row[i]);
    }
    while (out.ends_with(' ')) out.pop_back();
    out += '\n';
  }
  return out;
}

std::string cell(const json::value& of, std::string_view name) {
  const json::value* found = member(of, name);
  return found != nullptr ? plain(*found) : std::string();
}

std::string key_cell(const json::value& of, std::string_view name) {
  std::vector<std::string> parts;
  for (const json::value& part : items(of, name)) {
    if (part.is_string())
      parts.emplace_back(std::string_view(part.get_string().data(), part.get_string().size()));
  }
  std::string out;
  append_plain(out, key_text(parts));
  return out;
}

}  // namespace weir::app
