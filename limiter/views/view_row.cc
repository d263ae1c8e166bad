#include "limiter/views/view_row.h"

#include "core/json_numbers.h"
#include "core/text.h"

namespace weir::limiter {
void append_view_row(std::string& out, std::string_view view, const ViewWindow& window) {
  out += R"({"type":"view","view":)";
  append_json(out, view);
  out += R"(,"start":)";
  append_json_number(out, to_ms(window.start));
  out += R"(,"end":)";
  append_json_number(out, to_ms(window.end));
  out += window.complete ? R"(,"complete":true,"total":)" : R"(,"complete":false,"total":)";
  append_json_number(out, window.total);
  out += R"(,"rows":[)";
  for (const ViewRow& row : window.rows) {
    if (&row != window.rows.data()) out += ',';
    out += '[';
    for_each_part(row.parts, [&](std::string_view part) {
      append_json(out, part);
      out += ',';
    });
    append_json_number(out, row.value);
    out += ']';
  }
  out += "]}";
}

}  // namespace weir::limiter
