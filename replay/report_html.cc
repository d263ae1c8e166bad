#include <algorithm>
#include <cstdio>
#include <limits>

#include "core/text.h"
#include "policies/set/describe.h"
#include "replay/report.h"

/// The report as one page: inline styles and drawings, no script, nothing loaded from elsewhere.
/// Readable on a phone, on paper, by day and by night.
namespace weir::replay {
namespace {

constexpr std::string_view kStyle = R"(
:root{--ink:#1b1f24;--dim:#59636e;--paper:#fff;--card:#f6f8fa;--line:#d1d9e0;--bar:#3d7fc4;--rung:#b3261e;
--none:#8c959f;--flag:#3d7fc4;--graylist:#6e7781;--delay:#9a6700;--challenge:#8250df;--deny:#b3261e}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9198a1;--paper:#0d1117;--card:#151b23;--line:#3d444d;
--bar:#6cb0f5;--rung:#ff8b82;--none:#6e7681;--flag:#6cb0f5;--graylist:#b1bac4;--delay:#e3b341;--challenge:#c297ff;--deny:#ff8b82}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:62rem;padding:1rem;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif}
h1{font-size:1.5rem;margin:.5rem 0}h2{font-size:1.15rem;margin:0 0 .25rem;overflow-wrap:anywhere}h3{font-size:.95rem;margin:1rem 0 .25rem}
p{margin:.25rem 0}.dim{color:var(--dim)}
section{background:var(--card);border:1px solid var(--line);border-radius:.5rem;padding:1rem;margin:1rem 0}
.wide{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{text-align:left;padding:.25rem .9rem .25rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td:first-child{overflow-wrap:anywhere;min-width:6.5rem}
th{font-weight:600;color:var(--dim)}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.share{display:flex;height:1.25rem;border-radius:.25rem;overflow:hidden;margin:.5rem 0;background:var(--line)}
.share i{display:block;min-width:2px}.legend{display:flex;flex-wrap:wrap;gap:.25rem 1rem;font-size:.9rem}
.legend b{display:inline-block;width:.75rem;height:.75rem;border-radius:.15rem;margin-right:.35rem}
svg{display:block;width:100%;max-width:30rem;height:auto;font:12px system-ui,sans-serif}
svg.time{max-width:none;height:5rem}svg text{fill:var(--ink)}svg .bar{fill:var(--bar)}svg .rung{stroke:var(--rung);stroke-dasharray:4 3}svg .rt{fill:var(--rung)}
ul{padding-left:1.2rem;margin:.25rem 0}code{font:.85rem ui-monospace,monospace;overflow-wrap:anywhere}
@media print{body{max-width:none;font-size:11pt}section{break-inside:avoid;background:none}
.share i,.legend b,svg .bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
)";

std::string escaped(std::string_view text) {
  std::string plain;
  append_plain(plain, text);
  std::string out;
  for (const char c : plain) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

/// A time that may wrap between its date and its hour.
std::string shown_time(TimePoint time) {
  std::string out = iso_time(time);
  std::replace(out.begin(), out.end(), 'T', ' ');
  return out;
}

std::string fixed(double value, int digits) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.*f", digits, value);
  return buffer;
}

std::string percent_html(double share) {
  const double p = share * 100;
  if (p > 0 && p < 0.01) return "&lt; 0.01 %";
  return fixed(p, p > 0 && p < 1 ? 2 : 1) + " %";
}

class Page {
 public:
  Page(const Report& report, std::string_view title) : report_(report), title_(title) {}

  std::string run() {
    out_ =
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n<title>" +
        escaped(title_) + "</title>\n<style>";
    out_ += kStyle;
    out_ += "</style></head><body>\n<h1>" + escaped(title_) + "</h1>\n";
    head();
    for (const PolicyReport& policy : report_.policies) write(policy);
    labels();
    for (const ViewReport& view : report_.views) write(view);
    differences();
    out_ += "<section><h2>What replay cannot know</h2><ul>";
    for (const std::string& line : report_.unknown) out_ += "<li>" + escaped(line) + "</li>";
    out_ += "</ul></section>\n</body></html>\n";
    return std::move(out_);
  }

 private:
  void head() {
    out_ += "<p>" + human_count(report_.rows) + " rows";
    if (report_.bad > 0) out_ += ", " + human_count(report_.bad) + " bad";
    if (report_.refused_paths > 0) {
      out_ += ", " + human_count(report_.refused_paths) + std::string(kRefusedByProxy);
    }
    if (report_.late > 0) out_ += ", " + human_count(report_.late) + " late";
    out_ += "</p>\n";
    if (report_.first) {
      out_ += "<p class=\"dim\">" + shown_time(*report_.first) + " to " +
              shown_time(*report_.last) + "</p>\n";
    }
    out_ += "<section><h2>Verdicts</h2>\n";
    effects(report_.effects);
    timeline();
    files();
  }

  void effects(const std::vector<Report::Effect>& all) {
    const double events = std::max<double>(1, static_cast<double>(report_.events));
    std::string bars, legend;
    for (const Report::Effect& effect : all) {
      if (effect.events == 0) continue;
      const double share = static_cast<double>(effect.events) / events;
      const std::string colour = "var(--" + (effect.name == "pass" ? "none" : effect.name) + ")";
      bars += "<i style=\"width:" + fixed(share * 100, 3) + "%;background:" + colour + "\"></i>";
      legend += "<span><b style=\"background:" + colour + "\"></b>" + effect.name + " " +
                human_count(effect.events) + " (" + percent_html(share) + ")</span>";
    }
    out_ += "<div class=\"share\" role=\"img\" aria-label=\"shares of verdicts\">" + bars +
            "</div><div class=\"legend\">" + legend + "</div>\n";
  }

  void files() {
    out_ +=
        "<h3>Files</h3><div class=\"wide\"><table><tr><th>file</th><th>event</th><th "
        "class=\"n\">rows</th>"
        "<th class=\"n\">bad</th></tr>\n";
    std::string faults;
    for (const FileReport& file : report_.files) {
      out_ += "<tr><td>" + escaped(file.path) + "</td><td>" + escaped(file.event) +
              "</td><td class=\"n\">" + human_count(file.rows) + "</td><td class=\"n\">" +
              human_count(file.bad) + "</td></tr>\n";
      for (const std::string& fault : file.faults)
        faults += "<li><code>" + escaped(fault) + "</code></li>";
    }
    out_ += "</table></div>";
    if (!faults.empty()) out_ += "<h3>Bad rows</h3><ul>" + faults + "</ul>";
    out_ += "</section>\n";
  }

  void write(const PolicyReport& policy) {
    out_ += "<section><h2>" + escaped(policy.name) + "</h2>\n<p class=\"dim\">" +
            escaped(policy.counter.empty() ? "a rule" : policy.counter);
    if (!policy.key.empty()) out_ += " per " + escaped(policy.key);
    if (policy.shadow) out_ += " (shadow)";
    out_ += "</p>\n<p>" + policy.summary() + "</p>\n";
    if (policy.pattern) {
      for (const RungReport& rung : policy.rungs) out_ += "<p>" + escaped(rung.text) + "</p>\n";
      if (!policy.hardest.empty()) matched(policy);
      out_ += "</section>\n";
      return;
    }
    out_ +=
        "<div class=\"wide\"><table><tr><th>rung</th><th class=\"n\">verdicts</th><th "
        "class=\"n\">hits of keys</th></tr>\n";
    for (const RungReport& rung : policy.rungs) {
      out_ += "<tr><td>" + escaped(rung.text) + "</td><td class=\"n\">" +
              human_count(rung.verdicts) + "</td><td class=\"n\">" +
              (rung.keys_share ? percent_html(*rung.keys_share) : "") + "</td></tr>\n";
    }
    out_ += "</table></div>\n";
    if (policy.bars.size() > 1) histogram(policy);
    if (!policy.hardest.empty()) hardest(policy);
    cells(policy);
    out_ += "</section>\n";
  }

  void write(const ViewReport& view) {
    out_ += "<section><h2>" + escaped(view.name) + "</h2>\n<p>" + human_count(view.windows) +
            " windows";
    if (view.windows > 0) {
      out_ += "; the last one: " + shown_time(view.start) + " to " + shown_time(view.end) +
              ", total " + view.total + (view.complete ? "" : ", still running");
    }
    if (view.late > 0) out_ += "; too late " + human_count(view.late) + " (see --lateness)";
    out_ += "</p>\n<div class=\"wide\"><table><tr>";
    for (std::size_t i = 0; i < view.columns.size(); ++i) {
      out_ += (i + 1 == view.columns.size() ? "<th class=\"n\">" : "<th>") +
              escaped(view.columns[i]) + "</th>";
    }
    out_ += "</tr>\n";
    for (const auto& row : view.shown) {
      out_ += "<tr>";
      for (std::size_t i = 0; i < row.size(); ++i) {
        out_ += (i + 1 == row.size() ? "<td class=\"n\">" : "<td>") + escaped(row[i]) + "</td>";
      }
      out_ += "</tr>\n";
    }
    out_ += "</table></div></section>\n";
  }

  void matched(const PolicyReport& policy) {
    out_ +=
        "<div class=\"wide\"><table><tr><th>key</th><th>first</th><th>kind</th><th "
        "class=\"n\">matches</th></tr>\n";
    for (const KeyReport& key : policy.hardest) {
      out_ += "<tr><td>" + escaped(key.key.empty() ? "(all)" : key.key) + "</td><td>" +
              shown_time(key.first) + "</td><td>" + key.rung + "</td><td class=\"n\">" +
              human_count(key.verdicts) + "</td></tr>\n";
    }
    out_ += "</table></div>\n";
  }

  void hardest(const PolicyReport& policy) {
    out_ +=
        "<h3>Hardest-hit keys</h3><div class=\"wide\"><table><tr><th>key</th><th "
        "class=\"n\">value</th><th>first</th>"
        "<th>rung</th><th class=\"n\">verdicts</th></tr>\n";
    for (const KeyReport& key : policy.hardest) {
      out_ += "<tr><td>" + escaped(key.key.empty() ? "(all)" : key.key) + "</td><td class=\"n\">" +
              key.value + "</td><td>" + shown_time(key.first) + "</td><td>" + key.rung +
              "</td><td class=\"n\">" + human_count(key.verdicts) + "</td></tr>\n";
    }
    out_ += "</table></div>\n";
  }

  /// Bars lie, so that any number of them fits a phone; the longest one takes the width. A lone key
  /// among many is a stroke.
  void histogram(const PolicyReport& policy) {
    constexpr double kLeft = 70, kWidth = 230, kRow = 20;
    double most = 1;
    for (const Bar& bar : policy.bars) most = std::max(most, static_cast<double>(bar.keys));
    std::string body;
    double y = 0;
    std::vector<bool> drawn(policy.rungs.size(), false);
    const auto rungs = [&](double upto) {
      for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
        const RungReport& rung = policy.rungs[r];
        if (drawn[r] || !rung.keys_share || *rung.limit >= upto) continue;
        drawn[r] = true;
        const std::string at = fixed(y + kRow / 2, 1);
        body += "<line class=\"rung\" x1=\"0\" x2=\"400\" y1=\"" + at + "\" y2=\"" + at + "\"/>";
        y += kRow;
        body += "<text class=\"rt\" x=\"0\" y=\"" + fixed(y + 8, 1) + "\">" + escaped(rung.text) +
                ": hits " + percent_html(*rung.keys_share) + " of keys</text>";
        y += kRow;
      }
    };
    for (const Bar& bar : policy.bars) {
      rungs(bar.upto);
      const double length = kWidth * static_cast<double>(bar.keys) / most;
      body += "<text x=\"" + fixed(kLeft - 6, 0) + "\" y=\"" + fixed(y + 14, 1) +
              "\" text-anchor=\"end\">" + escaped(bar.label) + "</text><rect class=\"bar\" x=\"" +
              fixed(kLeft, 0) + "\" y=\"" + fixed(y + 3, 1) + "\" width=\"" +
              fixed(std::max(length, 1.5), 1) + "\" height=\"14\" rx=\"2\"/><text x=\"" +
              fixed(kLeft + length + 6, 1) + "\" y=\"" + fixed(y + 14, 1) + "\">" +
              human_count(bar.keys) + "</text>";
      y += kRow;
    }
    rungs(std::numeric_limits<double>::infinity());
    const std::string which = policy.lowest ? "lowest" : "highest";
    out_ += "<h3>" + std::string(policy.lowest ? "Lowest" : "Highest") +
            " reading per key</h3>\n<svg viewBox=\"0 0 400 " + fixed(y + 4, 0) +
            "\" role=\"img\" aria-label=\"histogram of the " + which + " reading per key\">" +
            body + "</svg>\n";
  }

  void differences() {
    if (report_.other.empty()) return;
    out_ += "<section><h2>Against " + escaped(report_.other) + "</h2>\n";
    effects(report_.other_effects);
    out_ +=
        "<div class=\"wide\"><table><tr><th>policy</th><th class=\"n\">verdicts "
        "here</th><th class=\"n\">there</th>"
        "<th class=\"n\">keys in both</th><th class=\"n\">only here</th><th class=\"n\">only "
        "there</th></tr>\n";
    for (const Difference& d : report_.differences) {
      out_ += "<tr><td>" + escaped(d.policy) + "</td><td class=\"n\">" +
              (d.here ? human_count(d.verdicts_here) : "-") + "</td><td class=\"n\">" +
              (d.there ? human_count(d.verdicts_there) : "-") + "</td><td class=\"n\">" +
              human_count(d.both) + "</td><td class=\"n\">" + human_count(d.only_here) +
              "</td><td class=\"n\">" + human_count(d.only_there) + "</td></tr>\n";
    }
    out_ += "</table></div>\n";
    for (const Difference& d : report_.differences) {
      keys(d.policy + ", only here", d.keys_only_here, d.only_here);
      keys(d.policy + ", only there", d.keys_only_there, d.only_there);
    }
    out_ += "</section>\n";
  }

  void keys(const std::string& where, const std::vector<std::string>& some, std::uint64_t all) {
    if (some.empty()) return;
    out_ += "<h3>" + escaped(where) + "</h3><ul>";
    for (const std::string& key : some)
      out_ += "<li><code>" + escaped(key.empty() ? "(all)" : key) + "</code></li>";
    if (all > some.size()) out_ += "<li>and " + human_count(all - some.size()) + " more</li>";
    out_ += "</ul>\n";
  }

  /// Bars of the events of each column of time: those that passed below, the others above.
  void timeline() {
    const auto& columns = report_.timeline.columns();
    if (columns.size() < 2) return;
    std::uint64_t most = 1;
    for (const auto& column : columns) {
      std::uint64_t events = 0;
      for (const std::uint64_t count : column) events += count;
      most = std::max(most, events);
    }
    constexpr double kWidth = 600, kHeight = 80;
    const double step = kWidth / static_cast<double>(columns.size());
    out_ += "<h3>Over time, " + human_duration(report_.timeline.width()) + " a bar, at most " +
            human_count(most) +
            " events</h3>\n<svg class=\"time\" viewBox=\"0 0 600 80\" "
            "preserveAspectRatio=\"none\" role=\"img\" aria-label=\"events over time\">";
    for (std::size_t i = 0; i < columns.size(); ++i) {
      double top = kHeight;
      for (const Report::Effect& effect : report_.effects) {
        const double height =
            kHeight * static_cast<double>(columns[i][effect.action]) / static_cast<double>(most);
        if (height <= 0) continue;
        top -= height;
        out_ += "<rect x=\"" + fixed(step * static_cast<double>(i), 2) + "\" y=\"" + fixed(top, 2) +
                "\" width=\"" + fixed(step * 0.9, 2) + "\" height=\"" + fixed(height, 2) +
                "\" style=\"fill:var(--" + (effect.name == "pass" ? "none" : effect.name) + ")\"/>";
      }
    }
    out_ += "</svg>\n";
  }

  void cells(const PolicyReport& policy) {
    if (policy.cells.empty()) return;
    out_ +=
        "<h3>Verdicts by cell of the table</h3><div class=\"wide\"><table><tr><th>cell</th><th "
        "class=\"n\">limit</th><th class=\"n\">verdicts</th></tr>\n";
    for (const CellReport& cell : policy.cells) {
      out_ += "<tr><td>" + escaped(cell.cell) + "</td><td class=\"n\">" + escaped(cell.limit) +
              "</td><td class=\"n\">" + human_count(cell.verdicts) + "</td></tr>\n";
    }
    out_ += "</table></div>\n";
  }

  void labels() {
    if (report_.labels.empty()) return;
    const auto share = [](const std::optional<double>& value) {
      return value ? percent_html(*value) : std::string("-");
    };
    out_ +=
        "<section><h2>Against " + counted(report_.labels.front().labels, "label", "labels") +
        "</h2><div class=\"wide\"><table><tr><th>policy</th><th class=\"n\">keys hit</th><th "
        "class=\"n\">labels</th><th class=\"n\">precision</th><th class=\"n\">recall</th></tr>\n";
    for (const LabelReport& label : report_.labels) {
      out_ += "<tr><td>" + escaped(label.policy) + "</td><td class=\"n\">" +
              human_count(label.hit) + "</td><td class=\"n\">" + human_count(label.confirmed) +
              "</td><td class=\"n\">" + share(label.precision()) + "</td><td class=\"n\">" +
              share(label.recall()) + "</td></tr>\n";
    }
    out_ += "</table></div></section>\n";
  }

  const Report& report_;
  std::string_view title_;
  std::string out_;
};

}  // namespace

std::string report_html(const Report& report, std::string_view title) {
  return Page(report, title).run();
}

}  // namespace weir::replay
