#include "config/text/reader.h"

#include <utility>

#include "config/text/foreign_words.h"
#include "config/text/yaml_text.h"
#include "core/text.h"

namespace weir::config {
namespace {

std::string_view kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::null:
      return "nothing";
    case Node::Kind::scalar:
      return "a text";
    case Node::Kind::list:
      return "a list";
    case Node::Kind::map:
      return "a map";
  }
  return "";
}

/// Shows the form of a map that users often write in another form.
std::string_view form_of(std::string_view what) {
  constexpr std::pair<std::string_view, std::string_view> kForms[] = {
      {"\"events\"", "write events: {login: {match: POST /api/login}}"},
      {"\"fields\"", "write fields: {user: header.x_user_id}"},
      {"\"lists\"", "write lists: {banned: {of: ip, kind: deny, entries: [203.0.113.9]}}"},
      {"\"tables\"", "write tables: {gold: {by: [tier], values: {vip: 100, \"*\": 10}}}"},
      {"\"notify\"", "write notify: {ops: {webhook: 'https://HOST/PATH'}}"},
      {"a list", "write banned: {of: ip, kind: deny, entries: [203.0.113.9]}"},
      {"an event", "write login: {match: POST /api/login}"},
      {"a policy", "begin each policy with - name: ..."},
      {"\"proxy\"", "write proxy: {listen: 0.0.0.0:8480, upstream: 'http://127.0.0.1:3000'}"},
      {"\"admin\"", "write admin: {listen: 127.0.0.1:8481}"},
      {"\"health\"", "write health: {listen: 0.0.0.0:8482}"},
      {"\"api\"", "write api: {listen: 127.0.0.1:8484}"},
      {"\"grpc\"", "write grpc: {listen: 127.0.0.1:8483}"},
      {"\"redis\"", "write redis: {url: 'redis://127.0.0.1:6379'}"},
      {"\"log\"", "write log: {level: info}"},
      {"\"state\"", "write state: {dir: /var/lib/weir}"},
      {"a rung", "write - {over: 5, do: deny}"},
  };
  for (const auto& [name, form] : kForms) {
    if (name == what) return form;
  }
  return {};
}

std::string key_name(const Member& m) {
  return m.key == nullptr ? std::string("an item of this list")
                          : "\"" + std::string(m.key->text) + "\"";
}

}  // namespace

void Reader::later(const Node& node, std::string_view word) {
  error(node, quoted(word) + " is not supported yet");
}

bool Reader::is_map(const Node& node, std::string_view what) {
  if (node.is_map()) return true;
  error(
      node,
      std::string(what) + " must be a map of keys and values, not " + std::string(kind_name(node)),
      std::string(form_of(what)));
  return false;
}

std::string_view Reader::unknown_key(const Node& key, std::string_view what,
                                     const std::vector<std::string_view>& known,
                                     const std::vector<std::string_view>& allowed) {
  // A hint compares with every word: a file of nothing but mistakes gets a bounded number of them.
  constexpr std::size_t kHints = 200;
  if (++unknown_keys_ > kHints) {
    error(key, "unknown key " + quoted(key.text) + " in " + std::string(what));
    return {};
  }
  if (const ForeignWord foreign = foreign_word(what, key.text); !foreign.hint.empty()) {
    error(key, "unknown key " + quoted(key.text) + " in " + std::string(what),
          std::string(foreign.hint));
    return foreign.means;
  }
  const std::string_view meant = nearest(key.text, known);
  std::string hint = suggest(key.text, meant.empty() ? allowed : known);
  if (hint.empty()) {  // a long table: the words help more than nothing
    hint = "allowed are ";
    for (std::size_t i = 0; i < allowed.size(); ++i) {
      hint += (i == 0 ? "" : ", ") + std::string(allowed[i]);
    }
  }
  error(key, "unknown key " + quoted(key.text) + " in " + std::string(what), std::move(hint));
  return meant;
}

void Reader::missing(const Node& node, std::string_view what, std::string_view name) {
  error(node, std::string(what) + " needs \"" + std::string(name) + "\"");
}

void Reader::not_one_of(const Member& m, std::string_view word,
                        const std::vector<std::string_view>& allowed) {
  std::string what = "invalid value " + quoted(word) + " for " + key_name(m);
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    what += (i == 0 ? "; allowed: " : ", ") + std::string(allowed[i]);
  }
  const ForeignWord foreign = foreign_word(m.key == nullptr ? "" : m.key->text, word);
  std::string hint(foreign.hint);
  if (const std::string_view meant = nearest(word, allowed); hint.empty() && !meant.empty()) {
    hint = "did you mean " + quoted(meant) + "?";
  }
  error(*m.value, std::move(what), std::move(hint));
}

std::optional<std::string_view> Reader::scalar(const Member& m) {
  if (m.value->is_scalar()) return m.value->text;
  const Node& at = m.value->is_null() && m.key != nullptr ? *m.key : *m.value;
  error(at, m.value->is_null()
                ? key_name(m) + " has no value"
                : key_name(m) + " must be one value, not " + std::string(kind_name(*m.value)));
  return std::nullopt;
}

std::optional<Text> Reader::text(const Member& m) {
  const auto value = scalar(m);
  if (!value) return std::nullopt;
  if (value->empty()) {
    error(*m.value, key_name(m) + " is empty");
    return std::nullopt;
  }
  if (value->find('\0') != std::string_view::npos) {  // a path would end there
    error(*m.value, key_name(m) + " has a zero byte");
    return std::nullopt;
  }
  return Text{std::string(*value), m.value->where};
}

std::optional<Text> Reader::expression(const Member& m) {
  constexpr std::size_t kLongest = 4096;
  auto out = text(m);
  if (out && out->value.size() > kLongest) {
    error(*m.value, "an expression has at most 4096 bytes");
    return std::nullopt;
  }
  return out;
}

std::optional<Text> Reader::name(const Member& m, std::string_view what, bool dash) {
  auto out = text(m);
  if (!out || is_name(out->value, dash)) return out;
  error(*m.value, quoted(out->value) + " is not a name for " + std::string(what),
        dash ? "a name is a letter or _, then letters, digits, _ and -, at most 64"
             : "a name is a letter or _, then letters, digits and _, at most 64");
  return std::nullopt;
}

std::vector<Text> Reader::texts(const Member& m) {
  std::vector<Text> out;
  if (!m.value->is_list()) {
    if (auto one = text(m)) out.push_back(std::move(*one));
    return out;
  }
  if (m.value->items.empty()) error(*m.value, key_name(m) + " is an empty list");
  for (const Member& item : m.value->items) {
    if (auto one = text(item)) out.push_back(std::move(*one));
  }
  return out;
}

std::optional<bool> Reader::boolean(const Member& m) {
  const auto word = scalar(m);
  if (!word) return std::nullopt;
  if (m.value->plain && *word == "true") return true;
  if (m.value->plain && *word == "false") return false;
  if (m.value->plain && is_bare_boolean(*word)) return std::nullopt;  // the tree has reported it
  error(*m.value, key_name(m) + " must be true or false, not " + quoted(*word));
  return std::nullopt;
}

std::optional<std::int64_t> Reader::integer(const Member& m, std::int64_t least,
                                            std::int64_t most) {
  const auto word = scalar(m);
  if (!word) return std::nullopt;
  const auto value = take(*m.value, parse_integer(*word));
  if (!value) return std::nullopt;
  if (*value >= least && *value <= most) return value;
  error(*m.value, key_name(m) + " must be between " + std::to_string(least) + " and " +
                      std::to_string(most) + ", not " + std::to_string(*value));
  return std::nullopt;
}

std::optional<milliseconds> Reader::duration(const Member& m, milliseconds least,
                                             milliseconds most) {
  const auto word = scalar(m);
  if (!word) return std::nullopt;
  const auto value = take(*m.value, parse_duration(*word));
  if (!value) return std::nullopt;
  if (*value >= least && *value <= most) return value;
  error(*m.value, key_name(m) + " must be between " + human_duration(least) + " and " +
                      human_duration(most) + ", not " + std::string(*word));
  return std::nullopt;
}

std::optional<std::uint64_t> Reader::size(const Member& m, std::uint64_t least,
                                          std::uint64_t most) {
  const auto word = scalar(m);
  if (!word) return std::nullopt;
  const auto value = take(*m.value, parse_size(*word));
  if (!value) return std::nullopt;
  if (*value >= least && *value <= most) return value;
  error(*m.value, key_name(m) + " must be between " + format_size(least) + " and " +
                      format_size(most) + ", not " + std::string(*word));
  return std::nullopt;
}

}  // namespace weir::config
