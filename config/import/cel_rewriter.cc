#include "config/import/cel_rewriter.h"

#include <algorithm>
#include <array>

#include "config/import/yaml_writer.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"

namespace weir::config {
namespace {

bool begins_word(char c) { return ascii::is_letter(c) || c == '_'; }
bool is_of_word(char c) { return begins_word(c) || ascii::is_digit(c); }
bool is_quote(char c) { return c == '"' || c == '\''; }

bool contains(const std::vector<std::string>& all, const std::string& one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

}  // namespace

std::string descriptor_field(const std::string& key) {
  return "descriptor_last" + (is_name(key, false) ? "." + key : "[" + expression_text(key) + "]");
}

std::optional<std::string> CelRewriter::rewrite() {
  while (at_ < text_.size() && why.empty()) {
    const char c = text_[at_];
    if (is_quote(c)) {
      literal(false);
    } else if (begins_word(c)) {
      name();
    } else if (ascii::is_digit(c)) {
      number();
    } else {
      symbol();
    }
  }
  if (!why.empty()) return std::nullopt;
  close_part();
  return out_;
}

void CelRewriter::take(std::size_t length) {
  out_ += text_.substr(at_, length);
  at_ += length;
}

void CelRewriter::symbol() {
  const char c = text_[at_];
  if (begins("//")) {
    comment();
  } else if (c == '(' || c == ')') {
    parenthesis();
  } else if (begins("==") || begins("!=")) {
    equality();
  } else if (begins("&&") || begins("||")) {
    end_part(2);
  } else if (c == '?' || c == ':') {
    end_part(1);
  } else {
    if (c == '!') levels_.back().guards = true;
    if (c == '{') why = "weir has no literal maps";
    take(1);
  }
}

void CelRewriter::comment() { at_ = std::min(text_.find('\n', at_), text_.size()); }

void CelRewriter::parenthesis() {
  const bool opens = text_[at_] == '(';
  const bool group = opens ? !calls_ : groups_.empty() || groups_.back();
  calls_ = false;
  if (!opens) has_ = false;
  if (!opens && group) end_group();
  take(1);
  if (opens) {
    groups_.push_back(group);
    if (group) levels_.emplace_back().part = out_.size();
  } else if (!groups_.empty()) {
    groups_.pop_back();
  }
}

/// A missing field never equals a constant, so `==` with a constant needs no guard. Any other
/// comparison may hold for a missing field, and needs one.
void CelRewriter::equality() {
  const bool same = text_[at_] == '=';
  const bool before = is_constant_before();
  take(2);
  if (!same || !(before || is_constant_after())) levels_.back().guards = true;
}

bool CelRewriter::is_constant_before() const {
  const std::size_t end = out_.find_last_not_of(' ');
  return end != std::string::npos && (is_quote(out_[end]) || ascii::is_digit(out_[end]));
}

bool CelRewriter::is_constant_after() const {
  const char c = next();
  return is_quote(c) || c == '-' || ascii::is_digit(c);
}

void CelRewriter::end_part(std::size_t length) {
  close_part();
  take(length);
  levels_.back().part = out_.size();
}

void CelRewriter::close_part() {
  Level& level = levels_.back();
  if (level.guards) {
    std::string all;
    for (const std::string& field : level.fields) all += "has(" + field + ") && ";
    const std::size_t at = std::min(out_.find_first_not_of(' ', level.part), out_.size());
    out_.insert(at, all);
  }
  for (std::string& field : level.fields) {
    if (!contains(level.before, field)) level.before.push_back(std::move(field));
  }
  level.fields.clear();
  level.guards = false;
}

void CelRewriter::end_group() {
  close_part();
  if (levels_.size() == 1) return;  // one too many: the compiler says so
  const Level inner = std::move(levels_.back());
  levels_.pop_back();
  Level& outer = levels_.back();
  for (const std::string& field : inner.before) {
    // A field inside an explicit has() needs no guard, even if the whole group is negated.
    if (!contains(inner.asked, field) && !contains(outer.fields, field))
      outer.fields.push_back(field);
  }
  outer.asked.insert(outer.asked.end(), inner.asked.begin(), inner.asked.end());
}

void CelRewriter::literal(bool raw) {
  const auto found = take_literal(raw);
  if (!found) return;
  last_begins_ = out_.size();
  out_ += found->spelled;
  last_ends_ = out_.size();
  last_text_ = found->text;
}

/// weir's texts are spelled as CEL's are: those with a backslash or three quotes stay as they are.
std::optional<CelRewriter::Literal> CelRewriter::take_literal(bool raw) {
  const std::size_t from = at_;
  const char quote = text_[at_];
  const bool triple = text_.substr(at_, 3) == std::string(3, quote);
  const std::string end(triple ? 3 : 1, quote);
  at_ += end.size();
  Literal out;
  bool plain = !triple;
  while (at_ < text_.size() && !begins(end)) {
    if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
      plain = false;
      if (raw) out.text += '\\';
      const char next = text_[++at_];
      out.text += raw ? next : next == 'n' ? '\n' : next == 't' ? '\t' : next;
    } else {
      out.text += text_[at_];
    }
    ++at_;
  }
  if (at_ >= text_.size()) {
    why = "a text in it has no end";
    return std::nullopt;
  }
  at_ += end.size();
  out.spelled = plain ? expression_text(out.text)
                      : (raw ? "r" : "") + std::string(text_.substr(from, at_ - from));
  return out;
}

void CelRewriter::number() {
  while (at_ < text_.size() && (is_of_word(text_[at_]) || text_[at_] == '.')) out_ += text_[at_++];
  if (out_.ends_with('u') || out_.ends_with('U')) why = "weir has no unsigned numbers";
}

std::string CelRewriter::take_name() {
  const std::size_t from = at_;
  while (at_ < text_.size() && is_of_word(text_[at_])) ++at_;
  return std::string(text_.substr(from, at_ - from));
}

char CelRewriter::next() const {
  const std::size_t i = text_.find_first_not_of(' ', at_);
  return i < text_.size() ? text_[i] : '\0';
}

void CelRewriter::blanks() { at_ = std::min(text_.find_first_not_of(' ', at_), text_.size()); }

void CelRewriter::name() {
  static constexpr std::array<std::string_view, 4> kWords = {"true", "false", "null", "in"};
  static constexpr std::array<std::string_view, 12> kFunctions = {
      "size",       "int",      "double",   "string",  "bool",       "has",
      "startsWith", "endsWith", "contains", "matches", "lowerAscii", "upperAscii"};
  const bool member = !out_.empty() && out_.back() == '.';
  const std::string word = take_name();
  if (at_ < text_.size() && is_quote(text_[at_])) {
    if (word == "r" || word == "R") return literal(true);
    why = "weir has no texts with the prefix " + word;
  } else if (std::find(kWords.begin(), kWords.end(), word) != kWords.end()) {
    out_ += word;
  } else if (next() == '(') {
    if (std::find(kFunctions.begin(), kFunctions.end(), word) == kFunctions.end())
      why = "weir has no function " + word + "()";
    calls_ = true;
    has_ = word == "has";
    out_ += word;
  } else if (member) {
    why = "it reads a member of a value";
  } else if (word == "descriptors") {
    if (next() == '[') return indexed();
    why = "it asks for all descriptors at once: each is an event of its own here";
  } else if (word == "descriptor" && next() == '.') {
    blanks();
    ++at_;
    blanks();
    field(take_name());
  } else if (word == "limit" && next() == '.') {
    of_limit();
  } else if (word == "limit" && next() == '[') {
    why = "it asks for the limit by an index: write limit.name or limit.id";
  } else {
    old_name(word);
  }
}

/// The old dialect: a bare name, with dots, is a key of the descriptor.
void CelRewriter::old_name(const std::string& word) {
  std::string key = word;
  while (at_ + 1 < text_.size() && text_[at_] == '.' && begins_word(text_[at_ + 1])) {
    const std::size_t back = at_++;
    const std::string part = take_name();
    if (next() == '(') {  // a function of it
      at_ = back;
      break;
    }
    key += "." + part;
  }
  field(key);
}

/// `limit.name` and `limit.id` are known here.
void CelRewriter::of_limit() {
  blanks();
  ++at_;
  blanks();
  const std::string which = take_name();
  if (which != "name" && which != "id") {
    why = "a limit has a name and an id, and no " + which;
    return;
  }
  const std::optional<std::string>& text = which == "name" ? name_ : id_;
  out_ += text ? expression_text(*text) : "null";
}

/// `descriptors[0].key` or `descriptors[0]["key"]`.
void CelRewriter::indexed() {
  blanks();
  ++at_;
  blanks();
  std::string digits;
  while (at_ < text_.size() && ascii::is_digit(text_[at_])) digits += text_[at_++];
  blanks();
  if (digits.empty() || at_ >= text_.size() || text_[at_] != ']') {
    why = "it computes which descriptor it asks";
    return;
  }
  ++at_;
  if (!descriptor_.empty() && descriptor_ != digits) {
    why = "it asks for two descriptors at once: each is an event of its own here";
    return;
  }
  descriptor_ = digits;
  if (next() == '.') {
    blanks();
    ++at_;
    blanks();
    field(take_name());
  } else if (next() == '[') {
    key_in_brackets();
  } else {
    whole_descriptor();
  }
}

void CelRewriter::key_in_brackets() {
  blanks();
  ++at_;
  blanks();
  const bool raw = next() == 'r' || next() == 'R';
  if (raw) ++at_;
  if (at_ >= text_.size() || !is_quote(text_[at_])) {
    why = "it computes which key it asks";
    return;
  }
  const auto key = take_literal(raw);
  blanks();
  if (!key || at_ >= text_.size() || text_[at_] != ']') {
    if (why.empty()) why = "a bracket in it has no end";
    return;
  }
  ++at_;
  field(key->text);
}

/// `"key" in descriptors[0]` means the same as `has(descriptors[0].key)`.
void CelRewriter::whole_descriptor() {
  const std::string_view between = std::string_view(out_).substr(std::min(last_ends_, out_.size()));
  const std::size_t in = between.find_first_not_of(' ');
  if (last_ends_ == 0 || in == std::string_view::npos || !between.substr(in).starts_with("in") ||
      between.find_first_not_of(' ', in + 2) != std::string_view::npos) {
    why = "it asks for a descriptor as a whole";
    return;
  }
  out_.resize(last_begins_);
  out_ += "has(";
  has_ = true;
  field(last_text_);
  has_ = false;
  out_ += ')';
}

void CelRewriter::field(const std::string& named) {
  if (named.empty()) {
    why = "a name in it is missing";
    return;
  }
  named_key = named;
  const std::string spelled = descriptor_field(named);
  Level& level = levels_.back();
  std::vector<std::string>& noted = has_ ? level.asked : level.fields;
  if (!contains(noted, spelled)) noted.push_back(spelled);
  out_ += spelled;
}

}  // namespace weir::config
