#include <cinttypes>
#include <cmath>
#include <functional>
#include <random>
#include <variant>

#include "tests/policies/expr_support.h"
#include "tests/support/seed.h"

/// Random expressions against a second evaluator, written naively over other data: values are a
/// variant, integers are computed with 128 bits, doubles are compared with long double (exact for
/// 64-bit integers).
namespace weir::policies::test::expr_random_test {
namespace {

struct Null {};
struct Failure {};
using Any = std::variant<Null, Failure, bool, std::int64_t, double, std::string>;

struct Piece {
  std::string text;
  std::function<Any()> value;
};

std::string to_string(const Any& any) {
  struct Shower {
    std::string operator()(Null) const { return "null"; }
    std::string operator()(Failure) const { return "error"; }
    std::string operator()(bool b) const { return b ? "true" : "false"; }
    std::string operator()(std::int64_t i) const { return std::to_string(i); }
    std::string operator()(double d) const { return show(Value::real(d)); }
    std::string operator()(const std::string& s) const { return expr::quoted(s); }
  };
  return std::visit(Shower{}, any);
}

template <class T>
const T* as(const Any& any) {
  return std::get_if<T>(&any);
}
/// As written in a body: to_string() drops the sign of a zero, and quotients depend on it.
std::string json_of(const Any& any) {
  const double* real = as<double>(any);
  return real != nullptr && *real == 0 && std::signbit(*real) ? "-0.0" : to_string(any);
}
bool numeric(const Any& a) { return as<std::int64_t>(a) || as<double>(a); }
long double wide(const Any& a) {
  return as<double>(a) ? static_cast<long double>(*as<double>(a))
                       : static_cast<long double>(*as<std::int64_t>(a));
}

std::optional<Any> spread(const Any& a, const Any& b) {
  if (as<Failure>(a) || as<Failure>(b)) return Failure{};
  if (as<Null>(a) || as<Null>(b)) return Null{};
  return std::nullopt;
}

Any arithmetic(char op, const Any& a, const Any& b) {
  if (auto out = spread(a, b)) return *out;
  if (op == '+' && as<std::string>(a) && as<std::string>(b))
    return *as<std::string>(a) + *as<std::string>(b);
  if (as<double>(a) && as<double>(b)) {
    const double x = *as<double>(a), y = *as<double>(b);
    switch (op) {
      case '+':
        return x + y;
      case '-':
        return x - y;
      case '*':
        return x * y;
      case '/':
        return y != 0                    ? x / y
               : std::isnan(x) || x == 0 ? std::nan("")
                                         : std::copysign(INFINITY, x) * std::copysign(1.0, y);
      default:
        return Failure{};
    }
  }
  if (!as<std::int64_t>(a) || !as<std::int64_t>(b)) return Failure{};
  const __int128 x = *as<std::int64_t>(a), y = *as<std::int64_t>(b);
  if ((op == '/' || op == '%') && y == 0) return Failure{};
  const __int128 quotient = op == '/' || op == '%' ? x / y : 0;
  const __int128 out = op == '+'   ? x + y
                       : op == '-' ? x - y
                       : op == '*' ? x * y
                       : op == '/' ? quotient
                                   : x - quotient * y;
  const __int128 checked = op == '%' ? quotient : out;
  if (checked > INT64_MAX || checked < INT64_MIN) return Failure{};
  return static_cast<std::int64_t>(out);
}

Any compare(const std::string& op, const Any& a, const Any& b) {
  if (op == "==" || op == "!=") {
    if (as<Failure>(a) || as<Failure>(b)) return Failure{};
    bool same = false;
    if (numeric(a) && numeric(b)) {
      same = wide(a) == wide(b);
    } else if (a.index() == b.index()) {
      same = to_string(a) == to_string(b);
    }
    return same == (op == "==");
  }
  if (auto out = spread(a, b)) return *out;
  int order = 0;
  if (numeric(a) && numeric(b)) {
    if (std::isnan(wide(a)) || std::isnan(wide(b))) return false;
    order = wide(a) < wide(b) ? -1 : wide(a) > wide(b) ? 1 : 0;
  } else if (as<std::string>(a) && as<std::string>(b)) {
    order = as<std::string>(a)->compare(*as<std::string>(b));
  } else if (as<bool>(a) && as<bool>(b)) {
    order = static_cast<int>(*as<bool>(a)) - static_cast<int>(*as<bool>(b));
  } else {
    return Failure{};
  }
  return op == "<" ? order < 0 : op == "<=" ? order <= 0 : op == ">" ? order > 0 : order >= 0;
}

Any junction(bool decisive, const Any& a, const Any& b) {
  for (const Any* x : {&a, &b}) {
    if (as<bool>(*x) && *as<bool>(*x) == decisive) return decisive;
  }
  for (const Any* x : {&a, &b}) {
    if (!as<bool>(*x) && !as<Null>(*x)) return Failure{};
  }
  if (as<Null>(a) || as<Null>(b)) return Null{};
  return !decisive;
}

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Piece make(int depth) {
    if (depth == 0 || pick(6) == 0) return leaf();
    switch (pick(8)) {
      case 0:
      case 1: {
        const char op = "+-*/%"[pick(5)];
        return binary(depth, std::string(" ") + op + " ",
                      [op](const Any& a, const Any& b) { return arithmetic(op, a, b); });
      }
      case 2:
      case 3: {
        static const char* const kOps[] = {"==", "!=", "<", "<=", ">", ">="};
        const std::string op = kOps[pick(6)];
        return binary(depth, " " + op + " ",
                      [op](const Any& a, const Any& b) { return compare(op, a, b); });
      }
      case 4: {
        const bool any = pick(2) == 0;
        const char* const spelled[] = {" && ", " and ", " || ", " or "};
        return binary(depth, spelled[(any ? 2 : 0) + pick(2)],
                      [any](const Any& a, const Any& b) { return junction(any, a, b); });
      }
      case 5:
        return unary(depth);
      case 6: {
        Piece c = make(depth - 1), a = make(depth - 1), b = make(depth - 1);
        return {"(" + c.text + " ? " + a.text + " : " + b.text + ")", [=]() -> Any {
                  const Any x = c.value();
                  if (as<bool>(x)) return *as<bool>(x) ? a.value() : b.value();
                  return as<Null>(x) ? x : Any(Failure{});
                }};
      }
      default: {
        Piece x = make(depth - 1), a = make(depth - 1), b = make(depth - 1);
        return {"(" + x.text + " in [" + a.text + ", " + b.text + "])", [=]() -> Any {
                  const Any v = x.value(), p = a.value(), q = b.value();
                  if (as<Failure>(v) || as<Failure>(p) || as<Failure>(q)) return Failure{};
                  if (as<Null>(v)) return Null{};
                  const Any first = compare("==", v, p), second = compare("==", v, q);
                  return *as<bool>(first) || *as<bool>(second);
                }};
      }
    }
  }

  std::map<std::string, Any>
      fields;  ///< of the body: every operand is dyn, so that nothing is refused

 private:
  std::size_t pick(std::size_t n) {
    return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_);
  }

  Piece leaf() {
    static const std::int64_t kIntegers[] = {0,
                                             1,
                                             -1,
                                             2,
                                             3,
                                             7,
                                             100,
                                             INT64_MAX,
                                             INT64_MIN,
                                             INT64_MAX - 1,
                                             9007199254740993,
                                             -9007199254740993};
    static const double kReals[] = {0.5,
                                    -0.0,
                                    1.0,
                                    2.0,
                                    1e300,
                                    -1e300,
                                    9007199254740992.0,
                                    9223372036854775808.0,
                                    -9223372036854775808.0,
                                    3.25};
    static const char* const kTexts[] = {"", "a", "ab", "b", "1"};
    Any value;
    switch (pick(6)) {
      case 0:
      case 1:
        value = kIntegers[pick(std::size(kIntegers))];
        break;
      case 2:
        value = kReals[pick(std::size(kReals))];
        break;
      case 3:
        value = std::string(kTexts[pick(std::size(kTexts))]);
        break;
      case 4:
        value = pick(2) == 0;
        break;
      default:
        value = Null{};
    }
    const std::string name = "f" + std::to_string(fields.size());
    fields[name] = value;
    return {"body." + name, [value] { return value; }};
  }

  Piece unary(int depth) {
    Piece x = make(depth - 1);
    if (pick(2) == 0) {
      return {(pick(2) == 0 ? "(!" : "(not ") + x.text + ")", [x]() -> Any {
                const Any v = x.value();
                if (as<bool>(v)) return !*as<bool>(v);
                return as<Null>(v) ? v : Any(Failure{});
              }};
    }
    return {"(-" + x.text + ")", [x]() -> Any {
              const Any v = x.value();
              if (as<Null>(v)) return v;
              if (as<double>(v)) return -*as<double>(v);
              if (!as<std::int64_t>(v) || *as<std::int64_t>(v) == INT64_MIN) return Failure{};
              return -*as<std::int64_t>(v);
            }};
  }

  Piece binary(int depth, std::string op, std::function<Any(const Any&, const Any&)> f) {
    Piece a = make(depth - 1), b = make(depth - 1);
    return {"(" + a.text + op + b.text + ")", [=] { return f(a.value(), b.value()); }};
  }

  std::mt19937_64 random_;
};

TEST(ExprRandom, AgreesWithANaiveEvaluator) {
  const std::uint64_t seed = ::weir::test::new_seed();
  RecordProperty("seed", std::to_string(seed));
  std::printf("seed %" PRIu64 "\n", seed);
  Frame frame;
  std::map<std::string, int> kinds;
  int compiled_ones = 0;
  for (std::uint64_t round = 0; round < 4000; ++round) {
    Generator generator(seed + round);
    const Piece piece = generator.make(1 + static_cast<int>(round % 5));
    if (piece.text.size() > kExpressionBytesMax) continue;
    std::string body = "{\"_\":0";
    for (const auto& [name, value] : generator.fields)
      body += ",\"" + name + "\":" + json_of(value);
    body += "}";
    SlotTable table;
    Scope scope(table);
    config::Problems problems;
    const auto expression = compile_expression(text_at(piece.text), scope, problems);
    if (!expression) continue;  // static types refuse what mixes, say, the results of == and +
    ++compiled_ones;
    RequestData data;
    data.body(body);
    frame.begin(table, data.request, nullptr);
    const std::string wanted = to_string(piece.value());
    // A NaN's sign does not matter.
    const auto plain = [](std::string s) { return s == "-nan" ? "nan" : s; };
    ASSERT_EQ(plain(show(expression->eval(frame))), plain(wanted))
        << piece.text << "\n"
        << body << "\nseed " << seed + round;
    ++kinds[wanted == "null" || wanted == "error" || wanted == "true" || wanted == "false"
                ? wanted
                : "value"];
    // Its canonical text means the same.
    const auto again = compiled(expression->canonical(), scope);
    ASSERT_TRUE(again);
    ASSERT_EQ(again->canonical(), expression->canonical());
    ASSERT_EQ(plain(show(again->eval(frame))), plain(wanted)) << expression->canonical();
  }
  EXPECT_GT(compiled_ones, 1000);
  EXPECT_EQ(kinds.size(), 5U) << "every kind of result was seen";
}

}  // namespace
}  // namespace weir::policies::test::expr_random_test
