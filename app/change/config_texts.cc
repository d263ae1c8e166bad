#include "app/change/config_texts.h"

#include <algorithm>

#include "app/support/text_diff.h"
#include "config/text/secrets.h"

namespace weir::app {
namespace {

constexpr std::size_t kBytesMax = std::size_t{1} << 20;
constexpr std::string_view kLeftOut = "# ... what follows is left out\n";

const admin::ConfigText* text_named(const std::vector<admin::ConfigText>& texts,
                                    const std::string& name) {
  const auto found = std::find_if(texts.begin(), texts.end(),
                                  [&](const admin::ConfigText& text) { return text.name == name; });
  return found == texts.end() ? nullptr : &*found;
}

}  // namespace

std::vector<admin::ConfigText> masked_texts(const std::vector<config::SourceFile>& files) {
  std::vector<admin::ConfigText> out;
  std::size_t left = kBytesMax;
  for (const config::SourceFile& file : files) {
    if (file.name.starts_with('$')) continue;  // a variable: its value may be the secret itself
    admin::ConfigText& text = out.emplace_back();
    text.name = file.name;
    std::string_view rest = file.text;
    config::LineSections sections(rest);
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      if (line.size() + 1 > left) {
        text.text += kLeftOut;
        return out;
      }
      text.text += config::without_secrets(line, sections.next(line));
      text.text += '\n';
      left -= line.size() + 1;
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    }
  }
  return out;
}

std::vector<admin::ConfigText> differences(const std::vector<admin::ConfigText>& before,
                                           const std::vector<admin::ConfigText>& after) {
  std::vector<admin::ConfigText> out;
  std::size_t left = admin::LoadRecord::kDiffBytes;
  const auto add = [&](const std::string& name, std::string_view a, std::string_view b) {
    std::string diff = text_diff(a, b);
    if (diff.empty() || left == 0) return;
    if (diff.size() > left) diff.resize(left);
    left -= diff.size();
    out.push_back({name, std::move(diff)});
  };
  for (const admin::ConfigText& text : after) {
    const admin::ConfigText* const old = text_named(before, text.name);
    add(text.name, old != nullptr ? std::string_view(old->text) : std::string_view(), text.text);
  }
  for (const admin::ConfigText& text : before) {
    if (text_named(after, text.name) == nullptr) add(text.name, text.text, {});
  }
  return out;
}

}  // namespace weir::app
