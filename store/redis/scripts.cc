#include "store/redis/scripts.h"

#include <openssl/evp.h>

#include <array>
#include <string>

#include "core/assert.h"
#include "core/chars/ascii.h"
#include "core/chars/hex.h"
#include "embedded/redis_scripts.h"
#include "store/redis/parameters.h"

namespace weir::store {
namespace {

using limiter::SharedForm;

constexpr const auto& kFiles = limiter::kSharedForms;
constexpr std::string_view kTimesFile = "times";  // beside "log": kTimesForm

std::string_view file(const std::string& name) {
  for (const auto& [known, text] : embedded::redis_scripts::files()) {
    if (known == name) return text;
  }
  WEIR_ASSERT(false);
  return {};
}

constexpr std::string_view kSection = "--: ";  // begins a line that names a section

/// The text below that line, up to the next such line.
std::string_view section(std::string_view text, std::string_view name) {
  const std::size_t begin = text.find(name);
  WEIR_ASSERT(begin != text.npos);
  const std::string_view rest = text.substr(begin + name.size());
  return rest.substr(0, rest.find(kSection));
}

/// `local COUNT, SUM, ... = 0, 1, ...`: the C++ tables' own names and numbers.
class Constants {
 public:
  void add(std::string_view prefix, std::string_view name, std::size_t value) {
    if (!names_.empty()) names_ += ", ";
    names_ += prefix;
    for (const char c : name) names_ += ascii::upper(c);
    values_ += (values_.empty() ? "" : ", ") + std::to_string(value);
  }
  std::string text() const { return "local " + names_ + " = " + values_ + "\n"; }

 private:
  std::string names_, values_;
};

/// The names by which scripts call metrics, windows and forms.
std::string vocabulary() {
  Constants metrics, windows, shapes;
  for (const MetricRow& row : kMetrics) {
    if (!row.identity.empty()) metrics.add("", row.identity, static_cast<std::size_t>(row.metric));
  }
  for (std::size_t i = 0; i < limiter::kWindowNames.size(); ++i)
    windows.add("", limiter::kWindowNames[i], i);
  for (std::size_t i = 0; i < kFiles.size(); ++i) shapes.add("FORM_", kFiles[i], i);
  shapes.add("FORM_", kTimesFile, kTimesForm);
  return metrics.text() + windows.text() + shapes.text();
}

std::string sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  WEIR_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr) ==
              1);
  std::string out;
  append_hex(out, std::span(digest).first(length));
  return out;
}

/// Scripts that are whole files, after those of operations.
constexpr auto kWhole = std::to_array<std::string_view>({"list", "get", "view", "board"});
constexpr std::size_t kAll = kScripts + kWhole.size();

/// The scripts of operations first, whole files last. Its views are of its own texts: it never
/// moves.
class Catalogue {
 public:
  Catalogue() {
    for (std::size_t i = 0; i < kScripts; ++i) {
      texts_[i].text = i == kPatternScript
                           ? std::string(file("give_up.lua")).append(file("patterns.lua"))
                           : operation_script(i);
    }
    for (std::size_t i = 0; i < kWhole.size(); ++i)
      texts_[kScripts + i].text = file(std::string(kWhole[i]) + ".lua");
    std::string all;
    for (Text& text : texts_) {
      text.sha = sha1(text.text);
      all += text.sha;
    }
    const std::string version = sha1(all).substr(0, 12);
    library_name_ = "weir_" + version;
    library_text_ = "#!lua name=" + library_name_ + "\n";
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      const std::string_view name = i >= kScripts         ? kWhole[i - kScripts]
                                    : i == kPatternScript ? std::string_view("patterns")
                                    : i == kMixedScript   ? std::string_view("mixed")
                                                          : kFiles[i];
      Text& text = texts_[i];
      text.function = "weir_" + std::string(name) + "_" + version;
      // The chunk of a script for EVAL is the body of a function here, with the same two names.
      library_text_ += "redis.register_function('" + text.function + "', function(KEYS, ARGV)\n" +
                       text.text + "\nend)\n";
      scripts_[i] = {name, text.text, text.sha, text.function};
    }
    library_ = {library_name_, library_text_};
  }
  Catalogue(const Catalogue&) = delete;
  Catalogue& operator=(const Catalogue&) = delete;

  const Script& script(std::size_t i) const { return scripts_[i]; }
  const FunctionLibrary& library() const { return library_; }

 private:
  struct Text {
    std::string text, sha, function;
  };

  static std::string operation_script(std::size_t index) {
    if (!knows_plain(static_cast<ScriptIndex>(index)))
      return "local out, clock = {0}, nil\n" + forms(index) + "all(1, 0, 1)\nreturn out\n";
    std::string text = "local function make_forms(out, clock)\n" + forms(index);
    text += file("one.lua");
    text += "end\n";
    const std::string own = with_places(file(std::string(kFiles[index]) + "_plain.lua"),
                                        static_cast<SharedForm>(index), true);
    std::string_view frame = file("plain.lua");
    while (!frame.empty()) {
      const std::size_t end = frame.find('\n') + 1;
      const std::string_view line = frame.substr(0, end);
      text += line.starts_with(kSection) ? section(own, line) : line;
      frame.remove_prefix(end);
    }
    return text;
  }

  static std::string forms(std::size_t index) {
    std::string text = vocabulary();
    text += file("head.lua");
    text += file("give_up.lua");
    text += with_places(file("prelude.lua"), SharedForm::fixed, false);
    for (std::size_t k = 0; k < kFiles.size(); ++k) {
      // Each in a block of its own: Lua's local names are bounded, and none meets another's.
      if (index == kMixedScript || index == k)
        append_form(text, kFiles[k], static_cast<SharedForm>(k));
    }
    if (index == kMixedScript || kFiles[index] == "log")
      append_form(text, kTimesFile, SharedForm::log);
    text += file("driver.lua");
    return text;
  }

  static void append_form(std::string& text, std::string_view name, SharedForm form) {
    text += "do\n";
    if (form == SharedForm::log || form == SharedForm::near) text += file("entries.lua");
    text += with_places(file(std::string(name) + ".lua"), form, false);
    text += "end\n";
  }

  std::array<Text, kAll> texts_;
  std::array<Script, kAll> scripts_;
  std::string library_name_, library_text_;
  FunctionLibrary library_;
};

const Catalogue& catalogue() {
  static const Catalogue all;
  return all;
}

}  // namespace

const Script& script(ScriptIndex index) { return catalogue().script(index); }
const Script& list_script() { return catalogue().script(kScripts); }
const Script& get_script() { return catalogue().script(kScripts + 1); }
const Script& view_script() { return catalogue().script(kScripts + 2); }
const Script& board_script() { return catalogue().script(kScripts + 3); }
const FunctionLibrary& function_library() { return catalogue().library(); }

bool knows_plain(ScriptIndex index) noexcept {
  return index == static_cast<ScriptIndex>(SharedForm::fixed) ||
         index == static_cast<ScriptIndex>(SharedForm::ring) ||
         index == static_cast<ScriptIndex>(SharedForm::log);
}

ScriptIndex script_of(const limiter::SharedOp& op) noexcept {
  if (op.pattern != nullptr) return kPatternScript;
  const SharedForm first = op.parts.front().counter->form;
  for (const limiter::SharedPart& part : op.parts) {
    if (part.counter->form != first) return kMixedScript;
  }
  return static_cast<ScriptIndex>(first);
}

}  // namespace weir::store
