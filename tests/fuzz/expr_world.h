#pragma once

#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "core/key.h"
#include "policies/lang/expr/expression.h"
#include "policies/lang/frame.h"

/// A request with everything in it, and a scope with a field and two lists.
namespace weir::policies::fuzz {

class Lists final : public ListOracle {
 public:
  bool contains(std::size_t, std::span<const Value> key) const noexcept override {
    return key[0].is(Type::text) && key[0].as_text().size() == 1;
  }
};

class World final : public ExprScope {
 public:
  World() : ExprScope(table_) {
    config::Text text;
    text.value = "body.username.lowerAscii()";
    config::Problems problems;
    user_ = table_.computed(*compile_expression(text, *this, problems));
  }

  std::optional<SlotId> field(std::string_view name) const override {
    return name == "user" ? std::optional(user_) : std::nullopt;
  }
  std::vector<std::string_view> field_names() const override { return {"user"}; }
  std::optional<ListRef> list(std::string_view name) const override {
    if (name == "office") return ListRef{0, 1, true};
    if (name == "pairs") return ListRef{1, 2, false};
    return std::nullopt;
  }
  std::vector<std::string_view> list_names() const override { return {"office", "pairs"}; }
  bool in_rung() const override { return true; }

  Request request() const {
    static constexpr std::array<HeaderField, 4> kHeaders = {{{"Content-Type", "application/json"},
                                                             {"X-Device-Id", "d-42"},
                                                             {"Cookie", "sid=1; theme=dark"},
                                                             {"X-Twice", "1"}}};
    Request out;
    out.time = from_ms(1'700'000'000'000);
    out.method = "POST";
    out.target = "/api/login?page=2&q=a%20b";
    out.path = "/api/login";
    out.query = "page=2&q=a%20b";
    out.host = "shop.example";
    out.scheme = "https";
    out.client = *Address::parse("10.1.2.3");
    out.headers = kHeaders;
    out.body_state = BodyState::complete;
    out.body =
        R"({"username":"Ann","gold":12,"rate":2.5,"ok":true,"tags":["x",1,2.0],"o":{"a":[{"b":1}]},"n":null})";
    return out;
  }

  Lists lists;

 private:
  SlotTable table_;
  SlotId user_ = 0;
};

}  // namespace weir::policies::fuzz
