#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/address.h"
#include "core/number.h"

namespace weir {

/// The types of the expression language. `dyn` is only a static type: known when the request comes.
enum class Type : std::uint8_t {
  null,   ///< a missing field
  error,  ///< a failed computation (overflow, division by zero, wrong type); `&&` and `||` absorb
          ///< it
  boolean,
  integer,  ///< 64-bit signed
  real,     ///< double
  text,     ///< UTF-8 bytes
  address,  ///< an IP address in canonical form
  list,     ///< a list of values
  json,     ///< an object or array of a JSON body, not yet converted
  dyn,
};

std::string_view type_name(Type type) noexcept;  // "int", "string", ... as CEL spells them

/// A node of a parsed JSON body; only the JSON reader looks inside. Valid until that reader's next
/// use.
struct JsonRef {
  const void* document = nullptr;
  std::size_t index = 0;
};

/// One value, 24 bytes, a view. Text, addresses and lists belong to the event, the policy set or
/// the scratch memory of the evaluation. The value lives as long as its owner.
class Value {
 public:
  constexpr Value() noexcept : integer_(0) {}  // null
  static constexpr Value null() noexcept { return {}; }
  static constexpr Value error() noexcept { return Value{Type::error}; }
  static constexpr Value boolean(bool b) noexcept {
    Value v{Type::boolean};
    v.boolean_ = b;
    return v;
  }
  static constexpr Value integer(std::int64_t i) noexcept {
    Value v{Type::integer};
    v.integer_ = i;
    return v;
  }
  static constexpr Value real(double d) noexcept {
    Value v{Type::real};
    v.real_ = d;
    return v;
  }
  static constexpr Value text(std::string_view s) noexcept {
    Value v{Type::text};
    v.text_ = {s.data(), s.size()};
    return v;
  }
  static constexpr Value address(const Address* a) noexcept {
    Value v{Type::address};
    v.address_ = a;
    return v;
  }
  static constexpr Value list(std::span<const Value> items) noexcept {
    Value v{Type::list};
    v.list_ = {items.data(), items.size()};
    return v;
  }
  static constexpr Value json(JsonRef node) noexcept {
    Value v{Type::json};
    v.json_ = node;
    return v;
  }
  static Value number(Number n) noexcept {
    return n.is_real() ? real(n.as_real()) : integer(n.integer());
  }

  constexpr Type type() const noexcept { return type_; }
  constexpr bool is(Type t) const noexcept { return type_ == t; }
  constexpr bool is_null() const noexcept { return type_ == Type::null; }
  constexpr bool is_error() const noexcept { return type_ == Type::error; }
  constexpr bool is_number() const noexcept { return is(Type::integer) || is(Type::real); }
  constexpr bool is_true() const noexcept { return is(Type::boolean) && boolean_; }

  // Each accessor only if is() the matching type.
  constexpr bool as_boolean() const noexcept { return boolean_; }
  constexpr std::int64_t as_integer() const noexcept { return integer_; }
  constexpr double as_real() const noexcept { return real_; }
  Number as_number() const noexcept {
    return is(Type::real) ? Number::real(real_) : Number{integer_};
  }
  constexpr std::string_view as_text() const noexcept { return {text_.data, text_.size}; }
  constexpr const Address& as_address() const noexcept { return *address_; }
  constexpr std::span<const Value> as_list() const noexcept { return {list_.data, list_.size}; }
  constexpr JsonRef as_json() const noexcept { return json_; }

 private:
  constexpr explicit Value(Type type) noexcept : integer_(0), type_(type) {}
  struct Text {
    const char* data;
    std::size_t size;
  };
  struct List {
    const Value* data;
    std::size_t size;
  };
  union {
    bool boolean_;
    std::int64_t integer_;
    double real_;
    Text text_;
    const Address* address_;
    List list_;
    JsonRef json_;
  };
  Type type_ = Type::null;
};

}  // namespace weir
