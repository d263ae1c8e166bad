#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "config/model.h"
#include "config/text/problem.h"
#include "core/value.h"
#include "core/words.h"
#include "policies/lang/slots.h"

namespace weir::policies {

class Frame;
class ThresholdTable;

/// A compiled expression: a typed subset of CEL (docs/expressions.md; expr/eval.cc evaluates it).
/// Immutable and shareable between threads; copies are cheap. eval() neither throws nor, after
/// warm-up, allocates (RE2's automaton cache, bounded at load, excepted), and costs no more than
/// its text is long times the values it reads.
class Expression {
 public:
  Type type() const noexcept;  ///< static; dyn if only the request decides
  Side side() const noexcept;
  std::span<const SlotId> slots() const noexcept;  ///< all slots read, transitively, each once
  /// The request slots to capture so that an answer-side expression can be evaluated after
  /// resume().
  std::span<const SlotId> captures() const noexcept;
  bool needs_body() const noexcept;
  bool needs_answer_body() const noexcept;
  bool client_asserted() const noexcept;  ///< reads something that the client asserts
  bool varies() const noexcept;           ///< reads event, value or limit
  /// The slot, if the expression is nothing but a slot.
  std::optional<SlotId> slot() const noexcept;
  /// The value, if it is known at load.
  std::optional<Value> constant() const noexcept;
  /// Normalised text: fields replaced by their own canonical text, so equal text means the same
  /// computation.
  const std::string& canonical() const noexcept;
  Value eval(Frame& frame) const;

  explicit Expression(std::shared_ptr<const expr::Program> program) noexcept;
  const std::shared_ptr<const expr::Program>& program() const noexcept { return program_; }

 private:
  std::shared_ptr<const expr::Program> program_;
};

/// The names that mean something inside an expression. The compiler of policies derives from
/// it, one scope per event.
class ExprScope {
 public:
  struct ListRef {
    std::size_t index;           ///< handed to the ListOracle
    std::size_t arity;           ///< how many fields it is of
    bool takes_address = false;  ///< its one field is an address: a literal is converted
    bool unread = false;         ///< it may be of other fields
  };
  explicit ExprScope(SlotTable& slots) noexcept : slots_(slots) {}
  virtual ~ExprScope() = default;

  SlotTable& slots() const noexcept { return slots_; }
  /// The event's own fields and the `fields` of the file.
  virtual std::optional<SlotId> field(std::string_view name) const = 0;
  virtual std::vector<std::string_view> field_names() const = 0;
  /// A column of the event's records; it hides attributes of the same name.
  virtual std::optional<SlotId> column(std::string_view) const { return std::nullopt; }
  virtual std::optional<ListRef> list(std::string_view name) const = 0;
  virtual std::vector<std::string_view> list_names() const = 0;
  /// Null: there is none of that name.
  virtual std::shared_ptr<const ThresholdTable> table(std::string_view) const { return nullptr; }
  virtual std::vector<std::string_view> table_names() const { return {}; }
  /// False: unread parts may define other names.
  virtual bool knows_all() const { return true; }
  /// For messages: `field "x" is not provided by event "login"`; empty: no event.
  virtual std::string_view event_name() const { return {}; }
  /// How to read `body`: of an event with a pinned kind, as no other kind.
  virtual BodyKind body_kind() const { return BodyKind::none; }
  /// Whether `path` comes in lower case (proxy.path: {case: fold}).
  virtual bool folds_paths() const { return false; }
  /// Whether `value` and `limit` mean something.
  virtual bool in_rung() const { return false; }

 private:
  SlotTable& slots_;
};

inline constexpr std::size_t kExpressionBytesMax = 4096;
inline constexpr std::size_t kExpressionDepthMax = 64;  ///< with the fields it reads

/// Compiles, or reports every problem found at its column inside the text. Warnings (a pattern that
/// matches nothing, a part that always fails) go to `problems` too and stop nothing.
std::optional<Expression> compile_expression(const config::Text& text, ExprScope& scope,
                                             config::Problems& problems);
/// Whether the text has the grammar of an expression, whatever the names in it mean.
bool is_expression(const config::Text& text);
/// The same as compile_expression, and the static type must be boolean (or dyn).
std::optional<Expression> compile_condition(const config::Text& text, ExprScope& scope,
                                            config::Problems& problems);

}  // namespace weir::policies
