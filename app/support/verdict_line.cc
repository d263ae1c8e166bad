#include "app/support/verdict_line.h"

#include "core/chars/key_text.h"
#include "core/text.h"

namespace weir::app {
namespace {

// As traffic lights, so that a glance is enough.
std::string_view colour_of(Action effect) noexcept {
  if (refuses(effect)) return "\x1b[31m";
  if (effect == Action::none) return "\x1b[2m";
  return effect == Action::flag ? "\x1b[36m" : "\x1b[33m";
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

void append_reason(std::string& out, const News& news) {
  append_plain(out, news.decider.view());
  if (!news.field.view().empty()) {
    out += out.empty() ? "" : ": ";
    append_plain(out, news.field.view());
    if (!news.why.view().empty()) {
      out += " (";
      append_plain(out, news.why.view());
      out += ")";
    }
  }
  if (news.window.count() != 0) {
    out += " " + news.value.to_string();
    if (news.limit) out += "/" + news.limit->to_string();
    out += " in " + human_duration(news.window);
  }
  if (news.in_flight != 0) out += ", " + std::to_string(news.in_flight) + " in flight";
  if (news.possible) out += ", if this one counts";
}

}  // namespace

std::string verdict_line(const News& news, bool colour) {
  const auto paint = [&](std::string_view code, const std::string& text) {
    return colour ? std::string(code) + text + "\x1b[0m" : text;
  };
  std::string out = paint("\x1b[2m", clock_time(news.time)) + "  ";
  if (news.kind == News::Kind::listed) {
    const std::vector<std::string> parts = news.key.parts();
    std::string key;
    append_plain(key, parts.empty() ? std::string(kEverybody) : key_text(parts));
    out += padded(std::move(key), 15) + "  " + paint(colour_of(news.effect), "listed") + "  ";
    append_reason(out, news);
    if (news.list && news.list_name.view() != news.decider.view()) {
      out += ", on ";
      append_plain(out, news.list_name.view());
    }
    if (news.until != TimePoint{}) out += ", until " + clock_time(news.until).substr(0, 8);
    return out + "\n";
  }
  std::string request;
  for (const std::string_view part : {news.event.view(), news.method.view(), news.path.view()}) {
    if (part.empty()) continue;
    if (!request.empty()) request += ' ';
    append_plain(request, part);
  }
  std::string effect(row_of(news.effect).name);
  if (news.shadow) effect = "would " + effect;
  if (news.status != 0) effect += " " + std::to_string(news.status);
  out += padded(news.client == Address{} ? "-" : news.client.to_string(), 15) + "  " +
         padded(std::move(request), 24) + "  " +
         paint(colour_of(news.shadow ? Action::none : news.effect), padded(std::move(effect), 9)) +
         "  ";
  append_reason(out, news);
  return out + "\n";
}

}  // namespace weir::app
