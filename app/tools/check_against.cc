#include "app/tools/check_against.h"

#include <algorithm>

#include "app/remote/included_texts.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/json_members.h"
#include "core/text.h"

namespace weir::app {
namespace {

namespace json = boost::json;
using Fate = policies::ReloadEffect::Fate;

bool is_door(const std::string& given) {
  return given.find("://") != std::string::npos || given.starts_with("unix:");
}

std::optional<std::vector<policies::Lineage>> read(const json::value& body) {
  using Kind = policies::Lineage::Kind;
  const json::object* const object = body.if_object();
  const json::value* const rows = object == nullptr ? nullptr : object->if_contains("lineage");
  if (rows == nullptr || !rows->is_array()) return std::nullopt;
  std::vector<policies::Lineage> out;
  for (const json::value& value : rows->get_array()) {
    const json::object* const row = value.if_object();
    if (row == nullptr) return std::nullopt;
    policies::Lineage line;
    const std::string kind = text_in(*row, "kind");
    line.kind = kind == "list" ? Kind::list : kind == "pattern" ? Kind::pattern : Kind::counter;
    line.owner = text_in(*row, "owner");
    line.text = text_in(*row, "text");
    line.identity = text_in(*row, "identity");
    line.shared = is_true(*row, "shared");
    line.what = text_in(*row, "what");
    line.form = text_in(*row, "form");
    line.quantum_ms = count_of(*row, "quantum_ms");
    line.kept_ms = count_of(*row, "kept_ms");
    line.length_ms = count_of(*row, "length_ms");
    out.push_back(std::move(line));
  }
  return out;
}

/// Something that is counted now is lost.
bool loses(Fate fate) { return fate == Fate::empties || fate == Fate::goes; }

std::string_view word_of(Fate fate) {
  switch (fate) {
    case Fate::empties:
      return "empties";
    case Fate::inherits:
      return "inherits";
    case Fate::returns:
      return "returns";
    case Fate::goes:
      return "goes";
    case Fate::begins:
      return "begins";
  }
  return "";
}

}  // namespace

Against find_running(const std::string& given, const std::string& token_file) {
  Against out;
  if (!is_door(given)) {
    const Configuration configuration = load_configuration(given, process_environment());
    if (configuration.good()) {
      out.running = policies::lineage_of(*configuration.set);
    } else {
      out.problem = given + " is not a valid configuration: weir check " + given + " says why";
      out.code = kNo;
    }
    return out;
  }
  const AdminAnswer answer = ask_admin({given, token_file, {}, {}, true}, "GET", "/v1/lineage");
  if (answer.code != kOk) {
    out.problem = answer.problem;
    out.code = answer.code;
    return out;
  }
  out.running = read(answer.body);
  const json::object* const body = answer.body.if_object();
  const json::value* const closed = body == nullptr ? nullptr : body->if_contains("closed");
  if (closed != nullptr && closed->is_array()) {
    for (const json::value& identity : closed->get_array()) {
      if (identity.is_string()) out.closed.emplace_back(std::string_view(identity.get_string()));
    }
  }
  if (!out.running) {
    out.problem = given + " does not answer as the admin door of weir does";
    out.code = kUnreachable;
  }
  return out;
}

std::size_t emptied(const std::vector<policies::ReloadEffect>& changes) {
  return static_cast<std::size_t>(
      std::count_if(changes.begin(), changes.end(),
                    [](const policies::ReloadEffect& change) { return loses(change.fate); }));
}

std::string against_text(const std::vector<policies::ReloadEffect>& changes, bool colours) {
  if (changes.empty()) return "reload: every counter, pattern and list continues\n";
  std::string out;
  for (const policies::ReloadEffect& change : changes) {
    const bool warns = loses(change.fate);
    out += "reload: ";
    if (warns && colours) out += "\033[33m";
    append_plain(out, policies::text_of(change));  // text of the running weir
    if (warns && colours) out += "\033[0m";
    out += "\n";
  }
  return out;
}

std::string against_json(const std::vector<policies::ReloadEffect>& changes) {
  std::string out = "[";
  for (const policies::ReloadEffect& change : changes) {
    if (out.size() > 1) out += ",";
    out += "{\"fate\":\"" + std::string(word_of(change.fate)) + "\",\"kind\":\"";
    out += change.of.kind == policies::Lineage::Kind::list ? "list" : "policy";
    out += "\",\"name\":";
    append_json(out, change.of.owner);
    out += ",\"text\":";
    append_json(out, change.of.text);
    out += ",\"before\":";
    append_json(out, change.before);
    out += std::string(",\"shared\":") + (change.of.shared ? "true}" : "false}");
  }
  return out + "]";
}

}  // namespace weir::app
