#pragma once

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors/json.h"
#include "policies/lang/frame.h"
#include "policies/lang/threshold_table.h"

/// The base of tests of expressions: a scope with fields and lists, a request built in one line.
namespace weir::policies::test {

/// By channel and system: 2500 for baidu on ios, 1500 for other on 1.5.
inline std::shared_ptr<const ThresholdTable> limits() {
  config::TableNode leaf, baidu, root;
  leaf.limit = Number{2500};
  baidu.children.push_back({{"ios", {}}, leaf});
  root.children.push_back({{"baidu", {}}, baidu});
  leaf.limit = Number{1500};
  config::TableNode other;
  other.children.push_back({{"1.5", {}}, leaf});
  root.children.push_back({{"other", {}}, other});
  return std::make_shared<ThresholdTable>("limits", std::vector<std::string>{"ocpc", "os"}, root);
}

class Scope final : public ExprScope {
 public:
  explicit Scope(SlotTable& table, std::string event = {})
      : ExprScope(table), event_(std::move(event)) {}

  std::optional<SlotId> field(std::string_view name) const override {
    const auto found = fields.find(name);
    return found == fields.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::string_view> field_names() const override {
    std::vector<std::string_view> out;
    for (const auto& [name, slot] : fields) out.push_back(name);
    return out;
  }
  std::optional<ListRef> list(std::string_view name) const override {
    const auto found = lists.find(name);
    return found == lists.end() ? std::nullopt : std::optional(found->second);
  }
  std::vector<std::string_view> list_names() const override {
    std::vector<std::string_view> out;
    for (const auto& [name, ref] : lists) out.push_back(name);
    return out;
  }
  std::shared_ptr<const ThresholdTable> table(std::string_view name) const override {
    return name == "limits" ? limits() : nullptr;
  }
  std::vector<std::string_view> table_names() const override { return {"limits"}; }
  bool folds_paths() const override { return folds; }
  bool folds = false;
  std::string_view event_name() const override { return event_; }
  bool in_rung() const override { return rung; }

  std::map<std::string, SlotId, std::less<>> fields;
  std::map<std::string, ListRef, std::less<>> lists = {{"office", {0, 1, true}},
                                                       {"pairs", {1, 2, false}}};
  bool rung = false;

 private:
  std::string event_;
};

/// Holds the addresses in 10.0.0.0/8 (list 0) and the pair ("a", 1) (list 1).
class Lists final : public ListOracle {
 public:
  bool contains(std::size_t index, std::span<const Value> key) const noexcept override {
    if (index == 0) return key[0].is(Type::address) && key[0].as_address().bytes()[12] == 10;
    return key[0].is(Type::text) && key[0].as_text() == "a" && key[1].is(Type::integer) &&
           key[1].as_integer() == 1;
  }
};

inline config::Text text_at(std::string text, std::uint32_t column = 1) {
  config::Text out;
  out.where = {0, 1, column, static_cast<std::uint32_t>(text.size())};
  out.value = std::move(text);
  return out;
}

inline std::string report(const config::Problems& problems) {
  std::string out;
  for (const config::Problem& p : problems.all()) {
    out += (p.severity == config::Problem::Severity::error ? "error " : "warning ") +
           std::to_string(p.where.column) + "+" + std::to_string(p.where.length) + ": " + p.message;
    if (!p.hint.empty()) out += " | " + p.hint;
    out += "\n";
  }
  return out;
}

inline std::optional<Expression> compiled(std::string text, Scope& scope) {
  config::Problems problems;
  auto out = compile_expression(text_at(text), scope, problems);
  EXPECT_TRUE(out) << text << "\n" << report(problems);
  return out;
}

/// How results are written in the tables: 1, 1.0, "x", true, null, error, [1, 2], ip:1.2.3.4, json.
inline std::string show(const Value& value) {
  switch (value.type()) {
    case Type::null:
      return "null";
    case Type::error:
      return "error";
    case Type::boolean:
      return value.as_boolean() ? "true" : "false";
    case Type::integer:
      return std::to_string(value.as_integer());
    case Type::real:
      return std::isfinite(value.as_real()) ? expr::real_literal(value.as_real())
                                            : Number::real(value.as_real()).to_string();
    case Type::text:
      return expr::quoted(value.as_text());
    case Type::address:
      return "ip:" + value.as_address().to_string();
    case Type::list: {
      std::string out = "[";
      for (const Value& item : value.as_list()) out += (out.size() > 1 ? ", " : "") + show(item);
      return out + "]";
    }
    case Type::json:
      return "json";
    case Type::dyn:
      break;
  }
  return "?";
}

struct RequestData {
  std::vector<HeaderField> headers;
  Request request;

  RequestData() {
    request.time = from_ms(1'700'000'000'000);  // 2023-11-14 22:13:20 UTC, a Tuesday
    request.method = "POST";
    request.target = "/api/login?page=2&q=a%20b+c&dup=1&dup=2&bad=%zz&empty=&flag";
    request.path = "/api/login";
    request.query = request.target.substr(11);
    request.host = "shop.example";
    request.scheme = "https";
    request.client = *Address::parse("10.1.2.3");
    headers = {{"Host", "shop.example"},
               {"X-Device-Id", "d-42"},
               {"X-Twice", "1"},
               {"x-twice", "2"},
               {"X-Empty", ""},
               {"Cookie", "sid=abc; theme=\"dark\"; two=1; two=2"},
               {"X-Number", "17"},
               {"X_Under_Score", "no"},
               {"Content-Type", "application/json; charset=utf-8"}};
    request.headers = headers;
  }
  void body(std::string_view text, std::string_view type = "application/json") {
    headers.back().value = type;
    request.body_state = BodyState::complete;
    request.body = text;
  }
};

}  // namespace weir::policies::test
