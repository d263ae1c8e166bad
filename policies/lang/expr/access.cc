#include "policies/lang/expr/access.h"

#include <algorithm>
#include <limits>

#include "config/text/foreign_words.h"
#include "config/text/http_method.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "policies/lang/expr/functions.h"
#include "policies/lang/expr/quote.h"
#include "policies/lang/extractors.h"

namespace weir::policies::expr {
namespace {

/// `GET`, `EUR`: two capital letters at least, and no small ones.
bool is_in_capitals(std::string_view name) {
  return std::count_if(name.begin(), name.end(), ascii::is_upper) >= 2 &&
         std::none_of(name.begin(), name.end(), ascii::is_lower);
}

/// `.name` or `[...]` after something. Its first child has been taken away.
const std::string* step_name(const Ast& step, std::string& room) {
  if (step.op == Op::select) return &step.text;
  const Ast& key = *step.children[1];
  if (key.op != Op::constant || !key.constant.is(Type::text)) return nullptr;
  room = key.constant.as_text();
  return &room;
}

std::optional<std::uint32_t> step_index(const Ast& step) {
  if (step.op == Op::select) return std::nullopt;
  const Ast& key = *step.children[1];
  if (key.op != Op::constant || !key.constant.is(Type::integer)) return std::nullopt;
  const std::int64_t k = key.constant.as_integer();
  if (k < 0 || k > std::numeric_limits<std::uint32_t>::max()) return std::nullopt;
  return static_cast<std::uint32_t>(k);
}

class Access {
 public:
  Access(Checker& checker, AstPtr& node) : checker_(checker) {
    base_ = std::move(node);
    while (base_->op == Op::select || base_->op == Op::index) {
      AstPtr inner = std::move(base_->children[0]);
      steps_.push_back(std::move(base_));
      base_ = std::move(inner);
    }
    std::reverse(steps_.begin(), steps_.end());
  }

  bool resolve(AstPtr& node) {
    const bool ok = check_keys() && (base_->op == Op::name ? name() : checker_.check(base_));
    if (!ok) {
      node = std::move(base_);
      return false;
    }
    bool fine = true;
    for (; used_ < steps_.size() && fine; ++used_) fine = apply(std::move(steps_[used_]));
    node = std::move(base_);
    return fine;
  }

 private:
  /// Folds the keys in brackets before a path is cut from the steps: `o["a".size()]` is read
  /// like `o[1]`, and has the same canonical text.
  bool check_keys() {
    for (const AstPtr& step : steps_)
      if (step->op == Op::index && !checker_.check(step->children[1])) return false;
    return true;
  }

  bool name() {
    const std::string name = base_->text;
    if (const auto column = checker_.scope.column(name)) return load(*column);
    // A field of the event's own may have the name of a word that only rate limit calls fill.
    if (const auto slot = checker_.scope.field(name)) return load(*slot);
    if (name == "response") return response();
    if (name == "envoy") return envoy();
    const ExtractorRow* row = find_extractor(name);
    if (row != nullptr && row->form != ArgumentForm::index) return attribute(*row);
    if (name == "event") return load(SlotTable::event());
    if (name == "value" || name == "limit") {
      if (checker_.scope.in_rung())
        return load(name == "value" ? SlotTable::value() : SlotTable::limit());
      return checker_.fail(*base_, quoted(name) + " means something only in the rungs of a policy");
    }
    return unknown(name);
  }

  bool unknown(const std::string& name) {
    if (!checker_.scope.knows_all()) return load(checker_.scope.slots().unread());
    std::vector<std::string_view> words = checker_.scope.field_names();
    const bool member = !steps_.empty();
    for (const ExtractorRow& row : extractor_rows()) {
      const std::string_view word = row.name.substr(0, row.name.find('.'));
      // Few requests have words of Envoy's: naming them too would make the list too long to be
      // shown.
      const auto calls = descriptor_extractors();
      const bool of_calls = std::any_of(calls.begin(), calls.end(), [&](const ExtractorRow& call) {
        return call.name == row.name;
      });
      if (word == "envoy" || of_calls) continue;
      if (row.form == ArgumentForm::index || (member && row.form == ArgumentForm::none)) continue;
      if (std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
    }
    if (checker_.scope.in_rung()) words.insert(words.end(), {"value", "limit"});
    std::string hint;
    const bool capitals = !member && is_in_capitals(name);
    const bool is_method = capitals && config::is_http_method(name);
    if (const auto foreign = config::foreign_word("expression", name);
        !foreign.hint.empty() && !is_method) {
      hint = foreign.hint;
    } else if (find_function(name) != nullptr) {
      hint = name + " is a function: " + name + "(...)";
    } else {
      const auto rate = config::meant_rate(checker_.diagnostics.text());
      hint = rate ? "a rate is a threshold over a window: write over: " + rate->many +
                        ", in: " + rate->window
                  : config::suggest(name, words);
      // No name of weir is in capitals: a text without its quotes.
      if (is_method || (capitals && !hint.starts_with("did you mean")))
        hint = "write " + quoted(name) + ": a text is written in quotes";
    }
    const std::string_view event = checker_.scope.event_name();
    if (event.empty() || member) return checker_.fail(*base_, "unknown name " + quoted(name), hint);
    return checker_.fail(
        *base_, "field " + quoted(name) + " is not provided by event " + quoted(event), hint);
  }

  bool response() {
    std::string room;
    const std::string* part = steps_.empty() ? nullptr : step_name(*steps_[0], room);
    const ExtractorRow* row = part == nullptr ? nullptr : find_extractor("response." + *part);
    if (row != nullptr) {
      ++used_;
      return attribute(*row);
    }
    const bool status = part != nullptr && *part == "status";
    return checker_.fail(steps_.empty() ? *base_ : *steps_[0], "response has header and body only",
                         status ? "the status is just: status" : "such as response.header.x_cache");
  }

  bool envoy() {
    std::string room;
    const std::string* part = steps_.empty() ? nullptr : step_name(*steps_[0], room);
    const ExtractorRow* row = part == nullptr ? nullptr : find_extractor("envoy." + *part);
    if (row == nullptr) {
      return checker_.fail(steps_.empty() ? *base_ : *steps_[0],
                           "envoy has context and metadata only", "such as envoy.context.tier");
    }
    ++used_;
    return attribute(*row);
  }

  bool attribute(const ExtractorRow& row) {
    Argument argument;
    std::string room;
    switch (row.form) {
      case ArgumentForm::none:
      case ArgumentForm::index:
        break;
      case ArgumentForm::name:
      case ArgumentForm::header: {
        const std::string* name = used_ < steps_.size() ? step_name(*steps_[used_], room) : nullptr;
        const std::string word(row.name);
        if (name == nullptr) {
          return checker_.fail(*base_, quoted(word) + " needs a name", "such as " + word + ".user");
        }
        if (row.form == ArgumentForm::name) {
          argument.name = *name;
        } else if (const auto wire = wire_header_name(*name)) {
          argument.name = *wire;
        } else {
          return checker_.fail(*steps_[used_], quoted(*name) + " is not a header name");
        }
        ++used_;
        break;
      }
      case ArgumentForm::path:
        path(argument.path);
        if (row.side == Side::request) argument.body = checker_.scope.body_kind();
        break;
    }
    return load(checker_.scope.slots().attribute(row, std::move(argument)));
  }

  void path(std::vector<PathStep>& out) {
    for (std::string room; used_ < steps_.size(); ++used_) {
      if (const std::string* name = step_name(*steps_[used_], room)) {
        out.push_back({*name, 0, false});
      } else if (const auto index = step_index(*steps_[used_])) {
        out.push_back({{}, *index, true});
      } else {
        return;
      }
    }
  }

  bool load(SlotId slot) {
    if (used_ > 0) base_->end = steps_[used_ - 1]->end;
    make_load(checker_, *base_, slot);
    return true;
  }

  /// A member or element of something that is not an attribute: its type is known only at the
  /// request.
  bool apply(AstPtr step) {
    const Type from = base_->type;
    AstPtr key;
    if (step->op == Op::select) {
      key = std::make_unique<Ast>();
      key->begin = step->begin, key->end = step->end;
      key->constant = checker_.pool->keep(step->text);
      if (!checker_.check(key)) return false;
    } else {
      key = std::move(step->children[1]);
    }
    const bool list = from == Type::list;
    if (!list && from != Type::dyn && from != Type::json && from != Type::null) {
      return checker_.fail(*step, checker_.source(*base_) + " is " + std::string(type_name(from)) +
                                      " and has no members");
    }
    const bool index = key->type == Type::integer,
               open = key->type == Type::dyn || key->type == Type::null;
    if (!index && !open && (list || key->type != Type::text)) {
      return checker_.fail(*key, list ? "an element of a list is taken by an integer"
                                      : "a member is taken by a string or an integer");
    }
    auto node = std::make_unique<Ast>();
    node->op = Op::index;
    node->begin = base_->begin;
    node->end = step->end;
    node->type = Type::dyn;
    node->children.push_back(std::move(base_));
    node->children.push_back(std::move(key));
    base_ = std::move(node);
    return checker_.finish(*base_);
  }

  Checker& checker_;
  AstPtr base_;
  std::vector<AstPtr> steps_;
  std::size_t used_ = 0;
};

}  // namespace

bool check_access(Checker& checker, AstPtr& node) {
  Access access(checker, node);
  return access.resolve(node);
}

void make_load(Checker& checker, Ast& node, SlotId id) {
  const Slot& slot = checker.scope.slots()[id];
  node.op = Op::load;
  node.slot = id;
  node.type = slot.type;
  node.side = slot.side;
  node.varies = slot.varies;
  node.reads_json = slot.needs_body && slot.type == Type::dyn && slot.side == Side::request;
  node.quotient = slot.program && slot.type == Type::integer &&
                  slot.program->nodes[slot.program->root].op == Op::divide;
  node.children.clear();
}

}  // namespace weir::policies::expr
