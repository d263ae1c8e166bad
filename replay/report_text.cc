#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/text.h"
#include "policies/set/describe.h"
#include "replay/report.h"

/// The report for a terminal.
namespace weir::replay {
namespace {

constexpr std::size_t kBarWidth = 32;

/// `80.1 %`, `0.02 %`, `< 0.01 %`.
std::string percent(double share) {
  const double p = share * 100;
  char buffer[32];
  if (p > 0 && p < 0.01) return "< 0.01 %";
  std::snprintf(buffer, sizeof buffer, p < 1 && p > 0 ? "%.2f %%" : "%.1f %%", p);
  return buffer;
}

std::string padded(std::string text, std::size_t width, bool right = false) {
  std::size_t shown = 0;  // bytes of UTF-8 that begin a character
  for (const char c : text) shown += (static_cast<unsigned char>(c) & 0xc0) != 0x80 ? 1 : 0;
  if (shown >= width) return text;
  const std::string blanks(width - shown, ' ');
  return right ? blanks + text : text + blanks;
}

class Text {
 public:
  Text(const Report& report, bool colours) : report_(report), colours_(colours) {}

  std::string run() {
    head();
    timeline();
    for (const PolicyReport& policy : report_.policies) write(policy);
    labels();
    for (const ViewReport& view : report_.views) write(view);
    differences();
    out_ += "\n" + bold("What replay cannot know") + "\n";
    for (const std::string& line : report_.unknown) out_ += "  - " + plain(line) + "\n";
    return std::move(out_);
  }

 private:
  std::string bold(const std::string& text) const {
    return colours_ ? "\x1b[1m" + text + "\x1b[0m" : text;
  }
  static std::string plain(std::string_view text) {
    std::string out;
    append_plain(out, text);
    return out;
  }

  void head() {
    out_ += counted(report_.rows, "row", "rows");
    if (report_.bad > 0) out_ += ", " + human_count(report_.bad) + " bad";
    if (report_.refused_paths > 0) {
      out_ += ", " + human_count(report_.refused_paths) + std::string(kRefusedByProxy);
    }
    if (report_.late > 0) out_ += ", " + human_count(report_.late) + " late";
    if (report_.first) out_ += ", " + iso_time(*report_.first) + " .. " + iso_time(*report_.last);
    out_ += "\n";
    for (const FileReport& file : report_.files) {
      out_ += "  " + plain(file.path) + " as " + plain(file.event) + ": " +
              counted(file.rows, "row", "rows");
      if (file.bad > 0) out_ += ", " + human_count(file.bad) + " bad";
      out_ += "\n";
      for (const std::string& fault : file.faults) out_ += "    " + plain(fault) + "\n";
      if (file.bad > file.shown && !file.faults.empty()) {
        out_ += "    and " + human_count(file.bad - file.shown) + " more\n";
      }
    }
    effects(report_.effects);
    for (const Report::Listed& list : report_.listed)
      out_ += "  list " + list.list + ": " + counted(list.events, "event", "events") + "\n";
  }

  /// A line of blocks for all events, and one for each effect that was not `pass`.
  void timeline() {
    const auto& columns = report_.timeline.columns();
    if (columns.size() < 2) return;
    const auto end = report_.timeline.start() +
                     report_.timeline.width() * static_cast<std::int64_t>(columns.size());
    out_ += "  over time, " + human_duration(report_.timeline.width()) + " a column, " +
            iso_time(report_.timeline.start()) + " .. " + iso_time(end) + "\n";
    std::vector<std::uint64_t> events(columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i) {
      for (const std::uint64_t count : columns[i]) events[i] += count;
    }
    blocks("events", events);
    for (std::size_t e = 0; e < report_.effects.size(); ++e) {
      if (report_.effects[e].name == "pass" || report_.effects[e].events == 0) continue;
      std::vector<std::uint64_t> counts;
      for (const auto& column : columns) counts.push_back(column[report_.effects[e].action]);
      blocks(report_.effects[e].name, counts);
    }
  }

  void blocks(const std::string& name, const std::vector<std::uint64_t>& counts) {
    static constexpr std::array<const char*, 9> kBlocks{" ", "▁", "▂", "▃", "▄",
                                                        "▅", "▆", "▇", "█"};
    const std::uint64_t most =
        std::max<std::uint64_t>(1, *std::max_element(counts.begin(), counts.end()));
    std::string line;
    for (const std::uint64_t count : counts)
      line += kBlocks[static_cast<std::size_t>((count * 8 + most - 1) / most)];
    out_ += "    " + padded(name, 9) + " " + line + " at most " + human_count(most) + "\n";
  }

  void labels() {
    if (report_.labels.empty()) return;
    out_ +=
        "\n" + bold("Against " + counted(report_.labels.front().labels, "label", "labels")) + "\n";
    for (const LabelReport& label : report_.labels) {
      const auto share = [](const std::optional<double>& value) {
        return value ? percent(*value) : std::string("-");
      };
      out_ += "  " + label.policy + ": " + human_count(label.confirmed) + " of " +
              counted(label.hit, "key", "keys") + " that it hits are labels (precision " +
              share(label.precision()) + "); it hits " + share(label.recall()) +
              " of the labels (recall)\n";
    }
  }

  void cells(const PolicyReport& policy) {
    if (policy.cells.empty()) return;
    out_ += "  verdicts by cell of the table\n";
    std::size_t width = 0;
    for (const CellReport& cell : policy.cells)
      width = std::max(width, std::min<std::size_t>(cell.cell.size(), 48));
    for (const CellReport& cell : policy.cells) {
      out_ += "    " + padded(plain(cell.cell), width) + "  limit " + cell.limit + "  " +
              counted(cell.verdicts, "verdict", "verdicts") + "\n";
    }
  }

  void effects(const std::vector<Report::Effect>& all) {
    out_ += "  verdicts:";
    const double events = std::max<double>(1, static_cast<double>(report_.events));
    bool first = true;
    for (const Report::Effect& effect : all) {
      if (effect.events == 0) continue;
      out_ += (first ? " " : ", ") + effect.name + " " + human_count(effect.events) + " (" +
              percent(static_cast<double>(effect.events) / events) + ")";
      first = false;
    }
    out_ += first ? " none\n" : "\n";
  }

  void write(const PolicyReport& policy) {
    out_ += "\n" + bold(policy.name) + ": " + (policy.counter.empty() ? "a rule" : policy.counter);
    if (!policy.key.empty()) out_ += " per " + policy.key;
    if (policy.shadow) out_ += " (shadow)";
    out_ += "\n  " + policy.summary();
    if (policy.missing > 0) out_ += "; key or amount missing in " + human_count(policy.missing);
    if (policy.unread > 0) {
      out_ += "; refused for a missing or unreadable field " + human_count(policy.unread);
    }
    if (policy.amounts_refused > 0) {
      out_ += "; amount negative or not finite in " + human_count(policy.amounts_refused);
    }
    if (policy.late > 0) out_ += "; too late " + human_count(policy.late);
    out_ += "\n";
    std::size_t width = 0;
    for (const RungReport& rung : policy.rungs) width = std::max(width, rung.text.size());
    for (const RungReport& rung : policy.rungs) {
      out_ += "    " + rung.text;
      if (!policy.pattern) {
        out_ += std::string(width - rung.text.size() + 2, ' ') +
                counted(rung.verdicts, "verdict", "verdicts");
      }
      if (rung.keys_share) out_ += ", hits " + percent(*rung.keys_share) + " of keys";
      out_ += "\n";
    }
    hardest(policy);
    cells(policy);
    histogram(policy);
  }

  void write(const ViewReport& view) {
    out_ += "\n" + bold(view.name) + ": " + counted(view.windows, "window", "windows");
    if (view.missing > 0) out_ += "; key or amount missing in " + human_count(view.missing);
    if (view.late > 0) out_ += "; too late " + human_count(view.late) + " (see --lateness)";
    out_ += "\n";
    if (view.windows == 0) return;
    out_ += "  the last one: " + iso_time(view.start) + " .. " + iso_time(view.end) + ", total " +
            view.total + (view.complete ? "\n" : ", still running\n");
    std::vector<std::size_t> widths;
    std::vector<std::vector<std::string>> rows{view.columns};
    rows.insert(rows.end(), view.shown.begin(), view.shown.end());
    for (const auto& row : rows) {
      widths.resize(std::max(widths.size(), row.size()));
      for (std::size_t i = 0; i < row.size(); ++i) {
        widths[i] = std::max(widths[i], std::min<std::size_t>(row[i].size(), 60));
      }
    }
    for (const auto& row : rows) {
      out_ += "   ";
      for (std::size_t i = 0; i < row.size(); ++i)
        out_ += " " + padded(plain(row[i]), widths[i], i + 1 == row.size()) + " ";
      while (out_.ends_with(' ')) out_.pop_back();
      out_ += "\n";
    }
    if (view.rows > view.shown.size())
      out_ += "    and " + human_count(view.rows - view.shown.size()) + " more\n";
  }

  void hardest(const PolicyReport& policy) {
    if (policy.hardest.empty()) return;
    out_ += "  hardest-hit keys\n";
    std::size_t width = 0, values = 0;
    for (const KeyReport& key : policy.hardest) {
      width = std::max(width, std::min<std::size_t>(key.key.size(), 48));
      values = std::max(values, key.value.size());
    }
    for (const KeyReport& key : policy.hardest) {
      out_ += "    " + padded(plain(key.key.empty() ? "(all)" : key.key), width) + "  " +
              padded(key.value, values, true) + "  first " + iso_time(key.first) + "  " + key.rung +
              "  " +
              (policy.pattern ? counted(key.verdicts, "match", "matches")
                              : counted(key.verdicts, "verdict", "verdicts")) +
              "\n";
    }
  }

  void histogram(const PolicyReport& policy) {
    if (policy.bars.size() < 2) return;
    out_ += policy.lowest ? "  lowest reading per key\n" : "  highest reading per key\n";
    std::uint64_t most = 1;
    std::size_t width = 0;
    for (const Bar& bar : policy.bars) {
      most = std::max(most, bar.keys);
      width = std::max(width, bar.label.size());
    }
    std::vector<bool> drawn(policy.rungs.size(), false);
    for (const Bar& bar : policy.bars) {
      rungs(policy, bar.upto, drawn, width);
      const auto cells = static_cast<std::size_t>(
          std::ceil(static_cast<double>(bar.keys) * kBarWidth / static_cast<double>(most)));
      std::string line;
      for (std::size_t i = 0; i < cells; ++i) line += "█";
      out_ += "    " + padded(bar.label, width, true) + "  " + padded(line, kBarWidth) + "  " +
              counted(bar.keys, "key", "keys") + "\n";
    }
    rungs(policy, std::numeric_limits<double>::infinity(), drawn, width);
  }

  /// The rungs whose limits lie before the bar that ends at `upto`.
  void rungs(const PolicyReport& policy, double upto, std::vector<bool>& drawn, std::size_t width) {
    for (std::size_t r = 0; r < policy.rungs.size(); ++r) {
      const RungReport& rung = policy.rungs[r];
      if (drawn[r] || !rung.keys_share || *rung.limit >= upto) continue;
      drawn[r] = true;
      out_ += "    " + std::string(width, '-') + "- " + rung.text + " hits " +
              percent(*rung.keys_share) + " of keys\n";
    }
  }

  void differences() {
    if (report_.other.empty()) return;
    out_ += "\n" + bold("Against " + plain(report_.other)) + "\n";
    effects(report_.other_effects);
    for (const Difference& d : report_.differences) {
      out_ += "  " + d.policy + ": ";
      if (!d.here || !d.there) out_ += d.here ? "only here, " : "only there, ";
      out_ += human_count(d.verdicts_here) + " verdicts here, " + human_count(d.verdicts_there) +
              " there; keys hit: " + human_count(d.both) + " in both, " + human_count(d.only_here) +
              " only here, " + human_count(d.only_there) + " only there\n";
      keys("only here", d.keys_only_here, d.only_here);
      keys("only there", d.keys_only_there, d.only_there);
    }
  }

  void keys(const char* where, const std::vector<std::string>& some, std::uint64_t all) {
    if (some.empty()) return;
    out_ += std::string("    ") + where + ": ";
    for (std::size_t i = 0; i < some.size(); ++i)
      out_ += (i == 0 ? "" : "; ") + plain(some[i].empty() ? "(all)" : some[i]);
    if (all > some.size()) out_ += "; and " + human_count(all - some.size()) + " more";
    out_ += "\n";
  }

  const Report& report_;
  bool colours_;
  std::string out_;
};

}  // namespace

std::string report_text(const Report& report, bool colours) { return Text(report, colours).run(); }

}  // namespace weir::replay
