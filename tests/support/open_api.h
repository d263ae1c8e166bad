#pragma once

#include <boost/json/value.hpp>
#include <set>
#include <string>
#include <string_view>

namespace weir::test {

/// An OpenAPI file of docs/, as the tests need it.
class OpenApi {
 public:
  static const OpenApi& admin();   ///< openapi.yaml
  static const OpenApi& events();  ///< openapi_events.yaml
  /// `GET /v1/status` and so on.
  std::set<std::string> operations() const;
  /// The error in the body of an answer, by the schema of its operation, status and type;
  /// empty: nothing. `pattern`: `/v1/lists/{list}`.
  std::string check_answer(std::string_view method, std::string_view pattern, int status,
                           std::string_view content_type, std::string_view body) const;
  /// The errors in the examples of all operations.
  std::string check_examples() const;
  std::string method_summary(std::string_view method, std::string_view pattern) const;

 private:
  explicit OpenApi(std::string_view file);
  boost::json::value resolve(const boost::json::value& node) const;
  std::string check(const boost::json::value& schema, const boost::json::value& value,
                    const std::string& where) const;
  boost::json::value root_;
};

}  // namespace weir::test
