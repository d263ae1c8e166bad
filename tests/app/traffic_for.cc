#include "tests/app/traffic_for.h"

#include "core/text.h"
#include "policies/lang/extractors.h"

namespace weir::app {
namespace {

using policies::Slot;

class Generator {
 public:
  Generator(const policies::PolicySet& set, std::string_view text, std::uint64_t seed)
      : set_(set), random_(seed) {
    // Words that conditions compare with.
    for (std::size_t at = 0; (at = text.find('"', at)) != std::string_view::npos; ++at) {
      const std::size_t end = text.find('"', at + 1);
      if (end == std::string_view::npos) break;
      const std::string_view word = text.substr(at + 1, end - at - 1);
      if (!word.empty() && word.size() < 12 && word.find_first_not_of(kLetters) == word.npos) {
        words_.emplace_back(word);
      }
    }
    for (std::size_t i = 0; i < set.events.size(); ++i) {
      const policies::Event& event = set.events[i];
      if (event.base == i && (!event.route.empty() || !event.source.empty()))
        bases_.push_back(&event);
    }
  }

  RandomEvent next(std::int64_t now) {
    RandomEvent event;
    event.ms = now;
    event.ip = address();
    const policies::Event* base = bases_.empty() ? nullptr : bases_[below(bases_.size())];
    if (base != nullptr && !base->source.empty()) {
      event.told = record(*base, now);
      return event;
    }
    event.method = "GET";
    event.url = "/page/" + word();
    if (base != nullptr && below(10) != 0) take_route(event, base->route);
    static constexpr int kStatus[] = {200, 200, 200, 401, 402, 403, 404, 422, 500};
    event.status = kStatus[below(std::size(kStatus))];
    fill(event);
    return event;
  }

 private:
  static constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-";

  std::size_t below(std::size_t n) { return random_() % n; }
  std::string word() { return words_[below(words_.size())]; }
  std::string address() {
    if (below(12) == 0) return "2001:db8::" + std::to_string(below(9));
    return "203.0.113." + std::to_string(below(4));
  }
  /// A text or, in JSON, also a number. A column named `ip` is an address in every record.
  std::string value(std::string_view name, bool json) {
    if (name == "ip") return json ? "\"" + address() + "\"" : address();
    if (name.find("lat") != std::string_view::npos) return "39.9" + std::to_string(below(50));
    if (name.find("lon") != std::string_view::npos || name.find("lng") != std::string_view::npos)
      return "116.3" + std::to_string(below(50));
    if (below(2) == 0) return std::to_string(below(60) * (below(6) == 0 ? 100 : 1));
    std::string out;
    if (!json) return word();
    append_json(out, word());
    return out;
  }

  void take_route(RandomEvent& event, std::string_view route) {
    const std::size_t space = route.find(' ');
    event.method = route.substr(0, space);
    if (event.method == "*") event.method = below(2) == 0 ? "GET" : "POST";
    event.url.clear();
    for (std::size_t at = space + 1; at < route.size(); ++at) {
      if (route[at] == '*' || route.substr(at).starts_with("{}")) {
        event.url += word();
        at += route[at] == '{' ? 1 : 0;
      } else {
        event.url += route[at];
      }
    }
  }

  void fill(RandomEvent& event) {
    std::string body, answer;
    char mark = '?';
    const auto member = [&](std::string& out, const Slot& slot) {
      // {"usage":{"total":3}}: one path at a time; of several that begin alike the first one stays.
      if (out.find("\"" + slot.argument.path.front().name + "\"") != std::string::npos) return;
      if (!out.empty()) out += ',';
      std::string closing;
      for (std::size_t k = 0; k < slot.argument.path.size(); ++k) {
        if (k != 0) out += '{', closing += '}';
        out += "\"" + slot.argument.path[k].name + "\":";
      }
      out += value(slot.text, true) + closing;
    };
    for (std::size_t i = 0; i < set_.slots.size(); ++i) {
      const Slot& slot = set_.slots[static_cast<policies::SlotId>(i)];
      if (slot.kind != Slot::Kind::attribute || below(9) == 0) continue;
      const std::string_view name = slot.extractor->name;
      if (name == "header") {
        event.headers.emplace_back(slot.argument.name, value(slot.text, false));
      } else if (name == "response.header") {
        event.answer_headers.emplace_back(slot.argument.name, value(slot.text, false));
      } else if (name == "query") {
        event.url += mark + slot.argument.name + "=" + value(slot.text, false);
        mark = '&';
      } else if (name == "body" && !slot.argument.path.empty()) {
        member(body, slot);
      } else if (name == "response.body" && !slot.argument.path.empty()) {
        member(answer, slot);
      }
    }
    if (!body.empty()) event.body = "{" + body + "}";
    if (!answer.empty()) event.answer_body = "{" + answer + "}";
  }

  std::string record(const policies::Event& event, std::int64_t now) {
    std::string out = "{\"event\":";
    append_json(out, event.name);
    for (std::size_t i = 0; i < set_.slots.size(); ++i) {
      const Slot& slot = set_.slots[static_cast<policies::SlotId>(i)];
      if (slot.kind != Slot::Kind::column || slot.source != event.source || below(12) == 0)
        continue;
      const std::string& name = slot.argument.name;
      if (name == event.time_column || name == "event" || name == "time") continue;
      out += ",\"" + name + "\":" + value(name, true);
    }
    out += ",\"" + (event.time_column.empty() ? "time" : event.time_column) + "\":";
    const bool seconds = event.time_unit == EpochUnit::seconds;
    return out + std::to_string(seconds ? now / 1000 : now) + "}";
  }

  const policies::PolicySet& set_;
  std::mt19937_64 random_;
  std::vector<std::string> words_{"a", "b", "c"};
  std::vector<const policies::Event*> bases_;
};

}  // namespace

std::vector<RandomEvent> traffic_for(const policies::PolicySet& set, std::string_view text,
                                     std::uint64_t seed, std::size_t count, std::int64_t start) {
  Generator traffic(set, text, seed);
  std::mt19937_64 random(seed);
  std::vector<RandomEvent> out;
  std::int64_t now = start;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t step = random() % 100;
    const std::int64_t most = step < 60 ? 2'000 : step < 98 ? 60'000 : 7'200'000;
    now += static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(most));
    out.push_back(traffic.next(now));
  }
  return out;
}

}  // namespace weir::app
