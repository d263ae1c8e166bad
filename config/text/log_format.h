#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

/// The default time format of Apache and nginx.
inline constexpr std::string_view kLogTime = "%d/%b/%Y:%H:%M:%S %z";

/// The format of an access log as Apache's LogFormat spells it, compiled: `%h - %u [%t] "%r" %>s`.
/// Immutable.
struct LogFormat {
  /// The item at one place of the line.
  struct Item {
    enum class Kind {
      literal,    ///< exactly `text`
      time,       ///< the event's time, with or without brackets around it
      request,    ///< `METHOD URL PROTOCOL`: columns method, url, path, protocol from `column` on
      url,        ///< columns url and path
      url_query,  ///< %U%q: columns url (both), path and query
      field,      ///< one column
    };
    Kind kind = Kind::literal;
    std::string text;
    std::size_t column = 0;     ///< the first one that it fills
    bool dash_is_null = false;  ///< `-` stands for no value
  };
  /// A column that holds a header: `%{NAME}i` of the request, `%{NAME}o` of its answer.
  struct Header {
    std::size_t column = 0;
    std::string name;  ///< in small letters, with `-`
    bool of_answer = false;
  };
  std::vector<Item> items;           ///< never two fields without a literal between them
  std::vector<std::string> columns;  ///< `ip`, `method`, `url`, ...
  /// Without Host, which fills the column `host` as `%v` does.
  std::vector<Header> headers;
  /// The form of `%{FORM}t`, as parse_time_form() reads it. Empty: `%t`.
  std::string time_form;

  struct Problem {
    std::size_t offset = 0, length = 0;
    std::string message, hint;
  };
  /// `format`: directives, or `common`, `combined`, `vhost_combined`. Nothing: `problem` says why.
  static std::optional<LogFormat> compile(std::string_view format, Problem& problem);
};

}  // namespace weir::config
