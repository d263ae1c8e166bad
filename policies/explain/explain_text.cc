#include <algorithm>

#include "core/text.h"
#include "policies/explain/explain.h"
#include "policies/set/describe.h"

/// The human form of an explanation.
namespace weir::policies {
namespace {

class Paint {
 public:
  explicit Paint(bool on) : on_(on) {}
  std::string bold(const std::string& text) const { return wrap("1", text); }
  std::string dim(const std::string& text) const { return wrap("2", text); }
  std::string red(const std::string& text) const { return wrap("31", text); }
  std::string green(const std::string& text) const { return wrap("32", text); }
  std::string yellow(const std::string& text) const { return wrap("33", text); }

 private:
  std::string wrap(const char* code, const std::string& text) const {
    return on_ ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
  }
  bool on_;
};

/// As a terminal may be given it.
std::string printable(std::string_view text) {
  std::string out;
  append_plain(out, text);
  return out;
}

void append_lines(std::string& out, std::string_view label, std::string_view lines) {
  while (!lines.empty()) {
    const auto end = lines.find("\r\n");
    out.append("  ").append(label).append(" ").append(printable(lines.substr(0, end))).append("\n");
    lines = end == std::string_view::npos ? std::string_view{} : lines.substr(end + 2);
  }
}

void append_counter(std::string& out, const Explanation& of,
                    const Explanation::PolicyLine::CounterLine& counter) {
  out += "    " + counter.what;
  if (counter.shared && of.of_all) out += ", over all replicas";
  if (counter.shared && !of.here_only.empty()) out += ", of this replica";
  out += " = " + counter.value;
  const std::string flying = std::to_string(counter.in_flight) + " in flight)";
  if (counter.in_flight != 0) out += " (" + counter.settled + " settled, " + flying;
  if (counter.possible) out += " (if this one counts)";
  out += "\n";
}

void append_policies(std::string& out, const Explanation& of, const Paint& paint) {
  out += "\npolicies\n";
  if (!of.here_only.empty())
    out += "  " + paint.yellow("counts that replicas share are those of this one: ") +
           printable(of.here_only) + "\n";
  for (const Explanation::PolicyLine& line : of.policies) {
    out += "  " + paint.bold(line.name) + (line.shadow ? " (shadow)" : "");
    if (!line.skipped.empty()) {
      out += paint.dim("  skipped: " + printable(line.skipped)) + "\n";
      continue;
    }
    out += "  on " + line.event;
    for (std::size_t i = 0; i < line.key.size(); ++i) {
      out += (i == 0 ? ", key " : ", ") + line.key[i].first + "=" + printable(line.key[i].second);
    }
    out += "\n";
    if (!line.pattern.empty()) out += "    " + printable(line.pattern) + "\n";
    for (const auto& counter : line.counters) append_counter(out, of, counter);
    for (const Explanation::RungLine& rung : line.rungs) {
      out += "    " + (rung.holds ? paint.red("holds  ") : paint.dim("no     ")) +
             printable(rung.text);
      if (!rung.limit.empty() && rung.text.find(rung.limit) == std::string::npos) {
        out += "  (limit " + rung.limit + ")";
      } else if (rung.limit.empty() && rung.text.rfind("if ", 0) != 0) {
        out += "  (no limit for this request)";
      }
      out += "\n";
    }
  }
}

}  // namespace

std::string Explanation::to_text(bool colour) const {
  return Paint(colour).bold(printable(method + " " + url)) + " from " + ip + "\n\n" +
         body_text(colour);
}

std::string Explanation::body_text(bool colour) const {
  const Paint paint(colour);
  const auto pad = [](const std::string& text, std::size_t width) {
    return text + std::string(text.size() < width ? width - text.size() : 1, ' ');
  };
  std::size_t width = 8;
  for (const EventLine& line : events) width = std::max(width, line.name.size() + 2);
  for (const FieldLine& line : fields)
    width = std::max(width, line.event.size() + line.name.size() + 3);

  std::string out = "events\n";
  for (const EventLine& line : events) {
    const std::string happened = line.happened == "yes"  ? paint.green(line.happened)
                                 : line.happened == "no" ? paint.dim(line.happened)
                                                         : paint.yellow(line.happened);
    out += "  " + pad(line.name, width) + happened;
    if (!line.why.empty()) out += paint.dim("  when " + printable(line.why));
    out += "\n";
  }
  if (!fields.empty()) out += "\nfields\n";
  for (const FieldLine& line : fields) {
    out += "  " + pad(line.event + "." + line.name, width);
    out += line.missing.empty() ? printable(line.value) : paint.yellow("missing: " + line.missing);
    out += "\n";
  }
  if (!lists.empty()) out += "\nlists\n";
  for (const ListLine& line : lists) {
    out += "  " + pad(line.name, width) + line.kind +
           (line.until == kForEver ? " list " : " list until ") + line.until;
    if (!line.why.empty()) out += ": " + printable(line.why);
    out += "\n";
  }
  append_policies(out, *this, paint);
  out += "\nverdict  " + paint.bold(verdict);
  if (!decided_by.empty()) out += " by " + decided_by;
  if (status != 0) out += ", answered with " + std::to_string(status);
  out += "\n";
  append_lines(out, "to the app:   ", upstream_headers);
  append_lines(out, "to the client:", response_headers);
  return out;
}

}  // namespace weir::policies
