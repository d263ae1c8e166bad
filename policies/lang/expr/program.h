#pragma once

#include <cctz/time_zone.h>
#include <re2/re2.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/address.h"
#include "core/value.h"
#include "policies/lang/slots.h"

/// A compiled expression: a tree in one array, children by index. Evaluation walks it; its depth is
/// bounded at load, so the recursion is too.
namespace weir::policies {
class Frame;
class ThresholdTable;
}  // namespace weir::policies

namespace weir::policies::expr {

struct FunctionRow;

enum class Op : std::uint8_t {
  constant,
  load,
  // Syntax only; the check replaces them.
  name,
  select,
  logical_not,
  negate,
  logical_and,
  logical_or,
  conditional,
  has,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  add,
  subtract,
  multiply,
  divide,
  modulo,
  index,
  list,
  call,
};

/// Data of a call besides its values, made at load.
using Payload =
    std::variant<std::monostate, std::unique_ptr<re2::RE2>, std::vector<Cidr>, cctz::time_zone,
                 std::size_t /* index of a list */, std::shared_ptr<const ThresholdTable>>;

/// Owner of the data that the constants of an expression (and of parts split from it) view.
struct Pool {
  std::deque<std::string> texts;
  std::deque<Address> addresses;
  std::deque<std::vector<Value>> lists;
  std::deque<Payload> payloads;

  Value keep(std::string text);
  Value keep(const Address& address);
  Value keep(std::vector<Value> items);
};

struct Node {
  Op op = Op::constant;
  SlotId slot = 0;          ///< load
  std::uint32_t first = 0;  ///< children: arguments[first .. first + count)
  std::uint32_t count = 0;
  Value constant;
  const FunctionRow* function = nullptr;  ///< call
  const Payload* payload = nullptr;
};

struct Program {
  std::vector<Node> nodes;
  std::vector<std::uint32_t> arguments;  ///< indices into nodes
  std::uint32_t root = 0;
  Type type = Type::dyn;
  Side side = Side::request;
  bool needs_body = false, needs_answer_body = false, client_asserted = false, varies = false;
  std::uint8_t depth = 1;
  std::uint8_t precedence = 0;  ///< of the root, to know when to write parentheses
  std::string canonical;
  std::vector<SlotId> slots;  ///< transitively
  std::vector<SlotId> captures;
  std::shared_ptr<Pool> pool;
};

inline constexpr std::size_t kArgumentsMax = 16;                 ///< of a call, evaluated ones
inline constexpr std::size_t kTextMax = std::size_t{256} << 10;  ///< bytes of a text made by `+`

Value evaluate(const Program& program, Frame& frame);

/// CEL's equality: heterogeneous, numbers by value, NaN unequal to itself. Error if either side is
/// one, or if two JSON objects are compared (no cheap order is known to us).
Value equals(Frame& frame, const Value& a, const Value& b);

}  // namespace weir::policies::expr
