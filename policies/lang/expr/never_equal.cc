#include "policies/lang/expr/never_equal.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "policies/lang/expr/checker.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/never_text.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors.h"
#include "policies/lang/extractors/blank.h"

namespace weir::policies::expr {
namespace {

bool is_call_of(const Ast& node, std::string_view name) {
  return node.op == Op::call && node.function != nullptr && node.function->name == name;
}

/// The expression inside lowerAscii(), upperAscii() and trim(), and the case in which its value
/// results.
struct Plain {
  const Ast* node;
  bool lowered = false, raised = false;
};

Plain plain_of(const Ast& node) {
  Plain out{&node};
  for (;; out.node = out.node->children[0].get()) {
    const bool lower = is_call_of(*out.node, "lowerAscii");
    const bool upper = is_call_of(*out.node, "upperAscii");
    if (!lower && !upper && !is_call_of(*out.node, "trim")) return out;
    if (out.lowered || out.raised) continue;  // the outer call decides
    out.lowered = lower;
    out.raised = upper;
  }
}

Subject subject_of(const Checker& checker, const Ast& node) {
  Subject out;
  out.shown = checker.source(node);
  const Plain base = plain_of(node);
  if (base.node->op != Op::load) return out;
  const Slot& slot = checker.scope.slots()[base.node->slot];
  if (slot.extractor == nullptr) return out;
  // The rules of the attribute do not apply to its text in another letter case.
  const std::string_view name = slot.extractor->name;
  if (base.raised && (name == "host" || name == "path" || name == "scheme")) return out;
  if (base.lowered && name == "method") return out;
  out.lowered = base.lowered;
  out.folded = name == "path" && !base.lowered && checker.scope.folds_paths();
  out.attribute = name;
  out.argument = slot.argument.name;
  return out;
}

NeverText letters_never(const Subject& subject, const Ast& field, std::string_view text) {
  const std::string shown = subject.shown + " is never " + quoted(text) + ": ";
  const std::string lower = ascii::lowered(text);
  std::string upper(text);
  for (char& c : upper) c = ascii::upper(c);
  if (is_call_of(field, "lowerAscii") && lower != text)
    return {shown + "lowerAscii() gives small letters", "write " + quoted(lower), {}};
  if (is_call_of(field, "upperAscii") && upper != text)
    return {shown + "upperAscii() gives capitals", "write " + quoted(upper), {}};
  if (is_call_of(field, "trim") && trim_blanks(text) != text)
    return {shown + "trim() removes blanks at both ends", "write " + quoted(trim_blanks(text)), {}};
  return {};
}

NeverText value_never(const Checker& checker, const Ast& field, const Value& value, bool negated) {
  const Subject subject = subject_of(checker, field);
  if (value.is(Type::text)) {
    NeverText out = letters_never(subject, field, value.as_text());
    if (out.message.empty()) out = never_text(subject, value.as_text(), Compared::whole, negated);
    return out;
  }
  const bool no_status = subject.attribute == "status" && value.is(Type::integer) &&
                         (value.as_integer() < 100 || value.as_integer() > 599);
  if (!no_status) return {};
  return {subject.shown + " is never " + std::to_string(value.as_integer()) +
              ": a status is between 100 and 599",
          {},
          {}};
}

}  // namespace

void warn_never_equal(Checker& checker, const Ast& field, const Ast& literal, bool negated) {
  if (literal.op != Op::constant) return;
  const auto look = [&](const Value& value) {
    NeverText never = value_never(checker, field, value, negated);
    if (never.message.empty()) return false;
    checker.diagnostics.warning(literal.begin, literal.end, std::move(never.message),
                                std::move(never.hint));
    return true;
  };
  if (!literal.constant.is(Type::list)) {
    look(literal.constant);
    return;
  }
  for (const Value& item : literal.constant.as_list()) {
    if (look(item)) return;  // one warning per list is enough
  }
}

void warn_never_found(Checker& checker, const Ast& call) {
  const Ast &field = *call.children[0], &literal = *call.children[1];
  if (literal.op != Op::constant || !literal.constant.is(Type::text) || field.op == Op::constant)
    return;
  const std::string_view name = call.function->name;
  const Compared how = name == "startsWith" ? Compared::begin
                       : name == "endsWith" ? Compared::end
                                            : Compared::part;
  NeverText never = never_text(subject_of(checker, field), literal.constant.as_text(), how);
  if (never.message.empty()) return;
  checker.diagnostics.warning(literal.begin, literal.end, std::move(never.message),
                              std::move(never.hint));
}

void warn_of_glob(Checker& checker, const Ast& field, const Ast& at, std::string_view pattern) {
  std::string hint = slash_star_hint(subject_of(checker, field), pattern);
  if (hint.empty()) return;
  checker.diagnostics.warning(at.begin, at.end, "in a pattern * repeats what is before it: /",
                              std::move(hint));
}

std::string hint_for_glob(const Checker& checker, const Ast& field, std::string_view pattern) {
  return glob_hint(subject_of(checker, field), pattern);
}

}  // namespace weir::policies::expr
