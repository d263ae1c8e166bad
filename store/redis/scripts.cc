#include "store/redis/scripts.h"

#include <openssl/evp.h>

#include <array>
#include <string>

#include "core/assert.h"
#include "embedded/redis_scripts.h"

namespace weir::store {
namespace {

constexpr std::array<std::string_view, limiter::kSharedForms> kFiles = {
    "fixed", "ring", "log", "members", "tally", "leaky", "last", "flights"};

std::string_view file(const std::string& name) {
  for (int i = 0; i < embedded::redis_scripts::kFileCount; ++i) {
    if (embedded::redis_scripts::kFiles[i].name == name) {
      return embedded::redis_scripts::kFiles[i].text;
    }
  }
  WEIR_ASSERT(false);
  return {};
}

std::string sha1(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  WEIR_ASSERT(EVP_Digest(text.data(), text.size(), digest.data(), &length, EVP_sha1(), nullptr) ==
              1);
  std::string out;
  for (unsigned i = 0; i < length; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    out += kDigits[digest[i] >> 4U];
    out += kDigits[digest[i] & 15U];
  }
  return out;
}

struct Owned {
  std::string text, sha;
  Script view;
};

const std::array<Owned, kScripts>& all() {
  static const std::array<Owned, kScripts> scripts = [] {
    std::array<Owned, kScripts> out;
    for (std::size_t i = 0; i < kScripts; ++i) {
      std::string& text = out[i].text;
      text = file("prelude.lua");
      for (std::size_t k = 0; k < kFiles.size(); ++k) {
        // Each in a block of its own: Lua's local names are bounded, and none meets another's.
        if (i == kMixedScript || i == k) {
          text += "do\n";
          text += file(std::string(kFiles[k]) + ".lua");
          text += "end\n";
        }
      }
      text += file("driver.lua");
      out[i].sha = sha1(text);
    }
    return out;
  }();
  static const bool linked = [] {
    auto& out = const_cast<std::array<Owned, kScripts>&>(scripts);
    for (std::size_t i = 0; i < kScripts; ++i) {
      out[i].view = {i == kMixedScript ? std::string_view("mixed") : kFiles[i], out[i].text,
                     out[i].sha};
    }
    return true;
  }();
  static_cast<void>(linked);
  return scripts;
}

}  // namespace

const Script& script(ScriptIndex index) { return all()[index].view; }

const Script& list_script() {
  static const std::string text(file("list.lua"));
  static const std::string sha = sha1(text);
  static const Script script{"list", text, sha};
  return script;
}

ScriptIndex script_of(const limiter::SharedOp& op) noexcept {
  const limiter::SharedForm first = op.parts.front().counter->kind->shared;
  for (const limiter::SharedPart& part : op.parts) {
    if (part.counter->kind->shared != first) return kMixedScript;
  }
  return static_cast<ScriptIndex>(first);
}

}  // namespace weir::store
