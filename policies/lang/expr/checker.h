#pragma once

#include <memory>
#include <string>

#include "core/event.h"
#include "policies/lang/expr/check.h"

/// The state of one check, shared by its three sources: operators (check.cc), names and members
/// (access.cc), calls (call_check.cc).
namespace weir::policies::expr {

inline constexpr Request kNoRequest{};  ///< constant parts are evaluated against this

struct Checker {
  ExprScope& scope;
  const std::shared_ptr<Pool>& pool;
  Diagnostics& diagnostics;
  std::unique_ptr<Frame> folding;  ///< evaluates constant parts; made when first needed

  bool check(AstPtr& node);
  bool check_children(Ast& node);
  bool finish(Ast& node);
  bool fail(const Ast& at, std::string message, std::string hint = {});  ///< always false
  std::string source(const Ast& at) const;                               ///< as the user wrote it
  bool to_address(const Ast& address, Ast& literal);

 private:
  bool logical(Ast& node);
  bool negation(Ast& node);
  bool minus(Ast& node);
  bool conditional(Ast& node);
  bool equality(Ast& node);
  bool ordering(Ast& node);
  bool membership(Ast& node);
  bool element_types(const Ast& x, Ast& list);
  bool constant_list(const Ast& x, Ast& list);
  bool arithmetic(Ast& node);
  bool comparable(const Ast& node, const Ast& a, const Ast& b);
  bool fraction(const Ast& a, const Ast& b);
  std::string conversion_hint(const Ast& a, const Ast& b) const;
  void fold(Ast& node);
};

}  // namespace weir::policies::expr
