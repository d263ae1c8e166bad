#include "config/text/log_format.h"

#include <algorithm>
#include <optional>

#include "config/text/time_form.h"

namespace weir::config {
namespace {

using ItemKind = LogFormat::Item::Kind;

struct Directive {
  std::string_view spelling;  // after the percent sign
  ItemKind kind;
  std::string_view column;
  bool dash_is_null;
};

constexpr Directive kDirectives[] = {
    {"h", ItemKind::field, "ip", false},     {"a", ItemKind::field, "ip", false},
    {"l", ItemKind::field, "ident", true},   {"u", ItemKind::field, "user", true},
    {"t", ItemKind::time, "", false},        {"r", ItemKind::request, "method", false},
    {"m", ItemKind::field, "method", true},  {"U", ItemKind::url, "url", false},
    {"q", ItemKind::field, "query", true},   {"H", ItemKind::field, "protocol", true},
    {"s", ItemKind::field, "status", true},  {">s", ItemKind::field, "status", true},
    {"b", ItemKind::field, "bytes", true},   {"B", ItemKind::field, "bytes", true},
    {"O", ItemKind::field, "bytes", true},   {"I", ItemKind::field, "bytes_in", true},
    {"v", ItemKind::field, "host", true},    {"V", ItemKind::field, "host", true},
    {"p", ItemKind::field, "port", true},    {"D", ItemKind::field, "micros", true},
    {"T", ItemKind::field, "seconds", true}, {"P", ItemKind::field, "pid", true},
};
constexpr std::string_view kKnown =
    "known are %h %l %u %t %{FORM}t %r %m %U %q %H %s %>s %b %O %v %p %D %T, %{Name}i and "
    "%{Name}o";

constexpr const char* kFormsOfTime =
    "write %{sec}t, %{msec}t, %{usec}t or a pattern such as %{%Y-%m-%d %H:%M:%S}t";

struct Named {
  std::string_view name, format;
};
constexpr Named kNamed[] = {
    {"common", "%h %l %u %t \"%r\" %>s %b"},
    {"combined", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""},
    {"vhost_combined", "%v:%p %h %l %u %t \"%r\" %>s %O \"%{Referer}i\" \"%{User-Agent}i\""},
};

/// Whether the column is something else than a header: `%{ip}i` is none of the caller's address.
bool is_taken(std::string_view column) {
  constexpr std::string_view kOthers[] = {"url", "path", "time", "event"};
  const auto is_it = [column](const auto& directive) { return directive.column == column; };
  return column.starts_with("response_") ||
         std::any_of(std::begin(kDirectives), std::end(kDirectives), is_it) ||
         std::find(std::begin(kOthers), std::end(kOthers), column) != std::end(kOthers);
}

/// `User-Agent` -> `user_agent`; empty: not the name of a header.
std::string column_of_header(std::string_view name) {
  if (name.find_first_not_of("-_") == std::string_view::npos) return {};
  std::string out;
  for (const char c : name) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
    const bool plain =
        (lower >= 'a' && lower <= 'z') || (lower >= '0' && lower <= '9') || lower == '_';
    if (!plain && lower != '-') return {};
    out += lower == '-' ? '_' : lower;
  }
  return out;
}

class Compiler {
 public:
  Compiler(std::string_view text, LogFormat::Problem& problem) : text_(text), problem_(problem) {}

  bool run() {
    while (at_ < text_.size()) {
      if (text_[at_] != '%' || text_.substr(at_).starts_with("%%")) {
        literal(text_[at_]);
        at_ += text_[at_] == '%' ? 2 : 1;
      } else if (!directive()) {
        return false;
      }
    }
    const bool timed = std::any_of(out.items.begin(), out.items.end(),
                                   [](const auto& item) { return item.kind == ItemKind::time; });
    if (!timed) return fail(0, text_.size(), "the format has no time", "%t stands for it");
    return true;
  }

  LogFormat out;

 private:
  bool fail(std::size_t offset, std::size_t length, std::string message, std::string hint = {}) {
    problem_ = {offset, length, std::move(message), std::move(hint)};
    return false;
  }

  void literal(char c) {
    if (out.items.empty() || out.items.back().kind != ItemKind::literal) out.items.push_back({});
    out.items.back().text += c;
  }

  bool directive() {
    const std::size_t from = at_++;
    std::optional<std::string> name;
    if (at_ < text_.size() && text_[at_] == '{') {
      const std::size_t close = text_.find('}', at_);
      if (close == std::string_view::npos)
        return fail(from, text_.size() - from, "a { that nothing closes");
      name = text_.substr(at_ + 1, close - at_ - 1);
      at_ = close + 1;
    }
    std::size_t size = at_ < text_.size() ? 1 : 0;
    if (text_.substr(at_).starts_with(">") && at_ + 1 < text_.size()) size = 2;
    const std::string_view spelling = text_.substr(at_, size);
    at_ += size;
    if (name && name->empty())
      return fail(from, at_ - from, "there is nothing between { and }", std::string(kKnown));
    if (name) return named(from, *name, spelling);
    // Apache writes the path as %U and the query as %q right after it; together they are the URL.
    if (spelling == "q" && !out.items.empty() && out.items.back().kind == ItemKind::url) {
      out.items.back().kind = ItemKind::url_query;
      return column(from, "query");
    }
    for (const Directive& row : kDirectives) {
      if (row.spelling != spelling) continue;
      return add(from, row.kind, row.column, row.dash_is_null);
    }
    return fail(from, at_ - from,
                "\"" + std::string(text_.substr(from, at_ - from)) +
                    "\" is not a directive of a log format",
                std::string(kKnown));
  }

  bool named(std::size_t from, const std::string& name, std::string_view spelling) {
    if (spelling == "t") return formed_time(from, name);
    const std::string column = column_of_header(name);
    if ((spelling != "i" && spelling != "o") || column.empty()) {
      return fail(from, at_ - from,
                  "\"" + std::string(text_.substr(from, at_ - from)) +
                      "\" is not a directive of a log format",
                  std::string(kKnown));
    }
    const bool of_answer = spelling == "o";
    if (!of_answer && column == "host") return add(from, ItemKind::field, column, true);
    LogFormat::Header header{out.columns.size(), column, of_answer};
    std::replace(header.name.begin(), header.name.end(), '_', '-');
    out.headers.push_back(std::move(header));
    const std::string prefix = of_answer ? "response_" : is_taken(column) ? "header_" : "";
    return add(from, ItemKind::field, prefix + column, true);
  }

  /// `%{FORM}t`, with the words of Apache: `sec`, `msec`, `usec` and one prefix that says when the
  /// time is taken.
  bool formed_time(std::size_t from, std::string_view form) {
    std::size_t at = from + 2;
    for (const std::string_view prefix : {"begin:", "end:"}) {
      if (!form.starts_with(prefix)) continue;
      form.remove_prefix(prefix.size());
      at += prefix.size();
      break;
    }
    if (form.starts_with("begin:") || form.starts_with("end:"))
      return fail(at, form.find(':') + 1, "a time is taken at the begin or at the end",
                  "write one of the two");
    if (form.empty()) {
      return fail(from, at_ - from, "the time has no form", kFormsOfTime);
    }
    for (const EpochUnitRow& row : kEpochUnits) {
      if (!row.apache.empty() && form == row.apache) form = row.name;
    }
    TimePattern::Problem wrong;
    if (!parse_time_form(form, wrong)) {
      const bool pattern = form.find('%') != std::string_view::npos;
      return fail(at + wrong.offset, wrong.length, wrong.message,
                  pattern ? wrong.hint : kFormsOfTime);
    }
    out.time_form = form;
    return add(from, ItemKind::time, "", false);
  }

  bool add(std::size_t from, ItemKind kind, std::string_view first, bool dash_is_null) {
    if (!out.items.empty() && out.items.back().kind != ItemKind::literal) {
      return fail(from, at_ - from, "nothing separates this from what is before it",
                  "two values need a text between them that ends the first");
    }
    LogFormat::Item item;
    item.kind = kind;
    item.column = out.columns.size();
    item.dash_is_null = dash_is_null;
    out.items.push_back(std::move(item));
    if (kind == ItemKind::time) {
      if (timed_) return fail(from, at_ - from, "the time is given twice");
      return timed_ = true;
    }
    if (!column(from, first)) return false;
    if (kind == ItemKind::request)
      return column(from, "url") && column(from, "path") && column(from, "protocol");
    if (kind == ItemKind::url) return column(from, "path");
    return true;
  }

  bool column(std::size_t from, std::string_view name) {
    if (std::find(out.columns.begin(), out.columns.end(), name) != out.columns.end()) {
      return fail(from, at_ - from, "the column \"" + std::string(name) + "\" is given twice");
    }
    out.columns.emplace_back(name);
    return true;
  }

  std::string_view text_;
  LogFormat::Problem& problem_;
  std::size_t at_ = 0;
  bool timed_ = false;
};

}  // namespace

std::optional<LogFormat> LogFormat::compile(std::string_view format, Problem& problem) {
  for (const Named& named : kNamed) {
    if (named.name == format) format = named.format;
  }
  if (format.find('%') == std::string_view::npos) {
    problem = {
        0, format.size(), "\"" + std::string(format) + "\" is not a log format",
        "write common, combined, vhost_combined or directives such as '%h %l %u %t \"%r\" %>s %b'"};
    return std::nullopt;
  }
  Compiler compiler(format, problem);
  if (!compiler.run()) return std::nullopt;
  return std::move(compiler.out);
}

}  // namespace weir::config
