#include "policies/lang/expr/dashed_name.h"

#include <algorithm>

#include "core/chars/ascii.h"
#include "policies/lang/expr/checker.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors.h"

namespace weir::policies::expr {
namespace {

/// Follows members, elements and methods down to their base.
const Ast& base_of(const Ast& node) {
  const Ast* at = &node;
  while (at->op == Op::select || at->op == Op::index || (at->op == Op::call && at->method))
    at = at->children[0].get();
  return *at;
}

bool is_known(const Checker& checker, const std::string& name) {
  const ExtractorRow* row = find_extractor(name);
  return (row != nullptr && row->form != ArgumentForm::index) || checker.scope.field(name) ||
         checker.scope.column(name) || is_reserved_name(name);
}

/// `header` of `header.x`, `response.header` of `response.header.x`; empty: no such member.
std::string family_of(const Ast& member) {
  if (member.op != Op::select) return {};
  const Ast& of = *member.children[0];
  std::string family;
  if (of.op == Op::name) {
    family = of.text;
  } else if (of.op == Op::select && of.children[0]->op == Op::name) {
    family = of.children[0]->text + "." + of.text;
  }
  const ExtractorRow* row = find_extractor(family);
  const bool takes_name =
      row != nullptr && (row->form == ArgumentForm::name || row->form == ArgumentForm::header ||
                         row->form == ArgumentForm::path);
  return takes_name ? family : std::string{};
}

/// `X-Forwarded-For` alone: a header, most likely.
DashedName bare_name(const Ast& left, std::uint32_t end, std::string_view text) {
  std::string name = ascii::lowered(text);
  std::replace(name.begin(), name.end(), '-', '_');
  DashedName out{left.begin, end, {}};
  const bool address = name == "x_forwarded_for" || name == "x_real_ip" ||
                       name == "cf_connecting_ip" || name == "true_client_ip";
  out.hint =
      address ? "for the client's address write ip; proxy.client_ip says which proxies name "
                "it in a header"
              : "for a header write header." + name + "; for a cookie cookie[" + quoted(text) + "]";
  return out;
}

}  // namespace

std::optional<DashedName> dashed_name(const Checker& checker, const Ast& difference) {
  const Ast* left = &difference;
  bool unknown = false;
  std::uint32_t end = difference.begin;
  while (left->op == Op::subtract && !left->grouped) {
    const Ast& right = base_of(*left->children[1]);
    if (right.op != Op::name || right.grouped) return std::nullopt;
    unknown = unknown || !is_known(checker, right.text);
    end = std::max(end, right.end);
    left = left->children[0].get();
  }
  const std::string family = family_of(*left);
  const bool bare = left->op == Op::name && !left->grouped && !is_known(checker, left->text);
  if (!unknown || (family.empty() && !bare)) return std::nullopt;
  const std::string text = checker.diagnostics.text().substr(left->begin, end - left->begin);
  if (text.find(' ') != std::string::npos) return std::nullopt;  // written as a difference
  if (bare) return bare_name(*left, end, text);
  std::string name = text.substr(family.size() + 1);
  DashedName out{left->begin, end, {}};
  if (find_extractor(family)->form == ArgumentForm::header) {
    std::replace(name.begin(), name.end(), '-', '_');
    out.hint = "write " + family + "." + ascii::lowered(name) + ": _ stands for -";
  } else {
    out.hint = "write " + family + "[" + quoted(name) + "]";
  }
  return out;
}

}  // namespace weir::policies::expr
