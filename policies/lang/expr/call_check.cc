#include "policies/lang/expr/call_check.h"

#include <cctz/time_zone.h>

#include <algorithm>

#include "config/text/foreign_words.h"
#include "config/text/zone_hint.h"
#include "core/chars/network_text.h"
#include "core/zones/zones.h"
#include "policies/lang/expr/access.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/never_equal.h"
#include "policies/lang/expr/pattern.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors.h"
#include "policies/lang/threshold_table.h"

namespace weir::policies::expr {
namespace {

std::string signature(const FunctionRow& row) {
  std::string out(row.name);
  out += "(";
  for (std::size_t k = 0; k < row.params.size(); ++k) {
    if (k > 0) out += ", ";
    out += row.params[k].name;
  }
  if (row.max > row.params.size()) out += ", ...";
  return out + ")";
}

std::string wanted_types(TypeSet types) {
  std::string out;
  for (unsigned t = 0; t < 16; ++t) {
    const auto type = static_cast<Type>(t);
    if ((types >> t & 1) == 0 || type == Type::json) continue;
    if (!out.empty()) out += " or ";
    out += type_name(type);
  }
  return out;
}

class CallCheck {
 public:
  CallCheck(Checker& checker, Ast& node) : checker_(checker), node_(node) {}

  bool run() {
    row_ = find_function(node_.text);
    if (row_ == nullptr) return unknown();
    node_.function = row_;
    node_.type = row_->result;
    add_event_time();
    const std::size_t count = node_.children.size();
    if (count < row_->min || count > row_->max || count < row_->params.size()) return wrong_count();
    checker_.pool->payloads.emplace_back();
    payload_ = &checker_.pool->payloads.back();
    node_.payload = payload_;
    for (std::size_t k = 0; k < count; ++k) sound_ = argument(k) && sound_;
    if (!sound_) return false;
    if (row_->name == "has") return has();
    if (row_->name == "lookup") return table_arity();
    if (row_->name == "startsWith" || row_->name == "endsWith" || row_->name == "contains")
      warn_never_found(checker_, node_);
    return row_->name != "inList" || list_arity();
  }

 private:
  const Param& param(std::size_t k) const {
    return row_->params[std::min(k, row_->params.size() - 1)];
  }

  bool unknown() {
    std::vector<std::string_view> names;
    for (const FunctionRow& row : function_rows()) names.push_back(row.name);
    const auto foreign = config::foreign_word("expression", node_.text);
    std::string hint =
        foreign.hint.empty() ? config::suggest(node_.text, names) : std::string(foreign.hint);
    if (hint.empty()) {
      hint = "functions:";
      for (const std::string_view name : names) hint.append(" ").append(name);
    }
    return checker_.fail(node_, "unknown function " + quoted(node_.text), std::move(hint));
  }

  bool wrong_count() {
    std::string hint = "it is " + signature(*row_);
    if (row_->params.back().role == Param::Role::zone) {
      hint = "name the zone: " + node_.text + "(\"Asia/Shanghai\") of the event's time, " + hint;
    }
    return checker_.fail(node_, node_.text + "() has the wrong number of arguments",
                         std::move(hint));
  }

  /// hour("UTC") is the hour of the event: time.hour("UTC").
  void add_event_time() {
    if (row_->params.back().role != Param::Role::zone || node_.children.size() != 1) return;
    const Ast& only = *node_.children[0];
    if (only.op != Op::constant || !only.constant.is(Type::text)) return;
    auto time = std::make_unique<Ast>();
    time->op = Op::name;
    time->text = "time";
    time->begin = node_.begin, time->end = node_.end;
    node_.children.insert(node_.children.begin(), std::move(time));
  }

  bool argument(std::size_t k) {
    const Param& p = param(k);
    AstPtr& child = node_.children[k];
    if (p.role == Param::Role::value) {
      return checker_.check(child) && value_type(p, *child);
    }
    if (child->op != Op::constant || !child->constant.is(Type::text)) {
      return checker_.fail(
          *child, "the " + std::string(p.name) + " of " + node_.text +
                      "() must be a string literal, since it is read when the file is loaded");
    }
    child->type = Type::text;
    child->fixed = true;
    const std::string text(child->constant.as_text());
    switch (p.role) {
      case Param::Role::pattern:
        return pattern(*child, text);
      case Param::Role::network:
        return network(*child, text);
      case Param::Role::zone:
        return zone(*child, text);
      case Param::Role::table_name:
        return table(*child, text);
      default:
        return list(*child, text);
    }
  }

  bool value_type(const Param& p, Ast& child) {
    if (child.type == Type::dyn || child.type == Type::null || (p.types & set_of(child.type)) != 0)
      return true;
    std::string hint;
    if ((p.types & set_of(Type::text)) != 0) hint = "write string(" + checker_.source(child) + ")";
    if (p.types == set_of(Type::integer) && child.type == Type::text) {
      hint = "write int(" + checker_.source(child) + ")";
    }
    return checker_.fail(child,
                         node_.text + "() takes " + wanted_types(p.types) + ", and this is " +
                             std::string(type_name(child.type)),
                         child.type == Type::list ? std::string() : hint);
  }

  bool pattern(const Ast& at, const std::string& text) {
    std::string reason;
    auto compiled = compile_pattern(text, reason);
    const Ast& field = *node_.children[0];
    if (!compiled) {
      std::string hint = sound_ ? hint_for_glob(checker_, field, text) : std::string();
      return checker_.fail(at, "malformed pattern: " + reason,
                           hint.empty() ? "patterns are RE2's" : std::move(hint));
    }
    if (matches_nothing(*compiled)) {
      checker_.diagnostics.warning(at.begin, at.end, "this pattern matches nothing");
    } else if (sound_) {
      warn_of_glob(checker_, field, at, text);
    }
    *payload_ = std::move(compiled);
    return true;
  }

  bool network(Ast& at, const std::string& text) {
    const auto parsed = Cidr::parse(text);
    if (!parsed) {
      std::string hint = network_fault(text);
      if (hint.empty()) hint = "such as \"10.0.0.0/8\"";
      return checker_.fail(at, quoted(text) + " is not a network", std::move(hint));
    }
    if (!std::holds_alternative<std::vector<Cidr>>(*payload_)) *payload_ = std::vector<Cidr>{};
    std::get<std::vector<Cidr>>(*payload_).push_back(*parsed);
    at.constant = checker_.pool->keep(parsed->to_string());  // one spelling in the canonical text
    return true;
  }

  bool zone(const Ast& at, const std::string& text) {
    cctz::time_zone zone;
    if (!zones::load(text, zone)) {
      return checker_.fail(at, "unknown time zone " + quoted(text), config::zone_hint(text));
    }
    *payload_ = zone;
    return true;
  }

  bool list(const Ast& at, const std::string& text) {
    const auto found = checker_.scope.list(text);
    if (!found) {
      return checker_.fail(at, "unknown list " + quoted(text),
                           config::suggest(text, checker_.scope.list_names()));
    }
    list_ = *found;
    *payload_ = found->index;
    return true;
  }

  bool list_arity() {
    if (list_.unread) return true;
    if (node_.children.size() - 1 != list_.arity) {
      return checker_.fail(node_, "list " + std::string(print_name()) + " has " +
                                      std::to_string(list_.arity) + " field(s), and the call has " +
                                      std::to_string(node_.children.size() - 1));
    }
    if (!list_.takes_address) return true;
    Ast address;
    address.type = Type::address;
    return checker_.to_address(address, *node_.children[1]);
  }

  bool table(const Ast& at, const std::string& text) {
    auto found = checker_.scope.table(text);
    if (!found) {
      return checker_.fail(at, "unknown table " + quoted(text),
                           config::suggest(text, checker_.scope.table_names()));
    }
    *payload_ = std::move(found);
    return true;
  }

  bool table_arity() {
    const auto& by = std::get<std::shared_ptr<const ThresholdTable>>(*payload_)->by();
    if (by.empty() || node_.children.size() - 1 == by.size()) return true;  // empty: unread
    return checker_.fail(node_, "table " + std::string(print_name()) + " has " +
                                    std::to_string(by.size()) + " field(s), and the call has " +
                                    std::to_string(node_.children.size() - 1));
  }

  std::string print_name() const { return quoted(node_.children[0]->constant.as_text()); }

  bool has() {
    const Ast& field = *node_.children[0];
    if (field.op != Op::load && field.op != Op::index) {
      return checker_.fail(field, "has() asks for a field", "such as has(header.x_device_id)");
    }
    node_.op = Op::has;
    return true;
  }

  Checker& checker_;
  Ast& node_;
  const FunctionRow* row_ = nullptr;
  Payload* payload_ = nullptr;
  ExprScope::ListRef list_{0, 0};
  bool sound_ = true;  // the arguments so far are checked
};

}  // namespace

bool check_call(Checker& checker, AstPtr& node) { return CallCheck(checker, *node).run(); }

}  // namespace weir::policies::expr
