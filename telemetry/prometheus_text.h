#pragma once

#include <concepts>
#include <string>
#include <string_view>

/// The text format of Prometheus: a family is two lines of comments, then a line for each series.
namespace weir::telemetry {

/// `kind`: counter, gauge or histogram.
inline void append_family(std::string& out, std::string_view name, std::string_view kind,
                          std::string_view help) {
  out.append("# HELP ").append(name).append(" ").append(help).append("\n# TYPE ");
  out.append(name).append(" ").append(kind).append("\n");
}

/// `labels`: the text between the braces, with escaped values; empty: none.
inline void append_sample(std::string& out, std::string_view name, std::string_view labels,
                          std::string_view value) {
  out.append(name);
  if (!labels.empty()) out.append("{").append(labels).append("}");
  out.append(" ").append(value).append("\n");
}
inline void append_sample(std::string& out, std::string_view name, std::string_view labels,
                          std::integral auto value) {
  append_sample(out, name, labels, std::string_view(std::to_string(value)));
}

}  // namespace weir::telemetry
