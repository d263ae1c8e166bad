#include "config/import/haproxy_rule_order.h"

#include <algorithm>

namespace weir::config {
namespace {

constexpr std::size_t kEndingsMax = 64;  // the most rules that one condition can negate
constexpr std::size_t kTrackingsMax = 256;
constexpr std::size_t kRoutesMax = 256;

bool ends_rules(std::string_view action) {
  static constexpr std::array<std::string_view, 5> kEnding = {"allow", "accept", "redirect", "auth",
                                                              "use-service"};
  return haproxy_refuses(action) ||
         std::find(kEnding.begin(), kEnding.end(), action) != kEnding.end();
}

/// The name under which rules that change a field are kept.
std::string changed_name(const HaproxyField& field) {
  return field.address_from.empty() ? field.name : "header " + field.address_from;
}

/// A rule that changes fields that later rules read.
void rewrite(const HaproxyRule& rule, std::map<std::string, const HaproxyRule*>& written) {
  static const std::map<std::string, HaproxyWords, std::less<>> kParts{
      {"set-path", {"path", "url"}},           {"replace-path", {"path", "url"}},
      {"set-pathq", {"path", "url", "query"}}, {"replace-pathq", {"path", "url", "query"}},
      {"set-uri", {"path", "url", "query"}},   {"replace-uri", {"path", "url", "query"}},
      {"set-query", {"url", "query"}},         {"set-method", {"method"}}};
  if (const auto parts = kParts.find(rule.action); parts != kParts.end()) {
    for (const std::string& part : parts->second) written.emplace(part, &rule);
  }
  const bool header = rule.action == "set-header" || rule.action == "add-header" ||
                      rule.action == "del-header" || rule.action == "replace-header" ||
                      rule.action == "replace-value";
  if (!header || rule.arguments.empty()) return;
  if (const auto field = haproxy_field("fhdr(" + rule.arguments[0] + ")"))
    written.emplace(changed_name(*field), &rule);
}

/// From this rule on, the section of a request is unknown.
void forget(const HaproxySection& door, std::size_t order,
            std::map<std::string, std::vector<std::string>>& ways) {
  for (std::size_t i = order; i < door.rules.size(); ++i) {
    const HaproxyWords& words = door.rules[i].words;
    if (words.size() > 1 && words[1].find('%') != std::string::npos) ways.clear();
    if (words.size() > 1) ways.erase(words[1]);
  }
}

bool forwards(const HaproxySection& section) {
  return section.takes_requests() && section.mode != "tcp" &&
         std::any_of(section.rules.begin(), section.rules.end(), [](const HaproxyRule& rule) {
           return rule.words[0] == "use_backend" || rule.words[0] == "default_backend" ||
                  rule.words[0] == "server";
         });
}

}  // namespace

void HaproxyNotes::add(std::size_t line, const HaproxyWords& words, std::string why) {
  if (known_.emplace(line, why).second)
    notes_.push_back({line, haproxy_text(words), std::move(why)});
}

bool haproxy_refuses(std::string_view action) {
  static constexpr std::array<std::string_view, 5> kRefusing = {"deny", "tarpit", "reject",
                                                                "silent-drop", "return"};
  return std::find(kRefusing.begin(), kRefusing.end(), action) != kRefusing.end();
}

bool judges_requests(const HaproxySection& section) {
  return section.mode != "tcp" && (section.takes_requests() || section.kind == "backend");
}

std::string haproxy_text(const HaproxyWords& words) {
  std::string what;
  for (const std::string& word : words) what += (what.empty() ? "" : " ") + word;
  return what;
}

std::string line_text(std::size_t line) { return "line " + std::to_string(line); }

HaproxyRuleOrder::HaproxyRuleOrder(const HaproxyFile& file, HaproxyNotes& notes)
    : file_(file), notes_(notes), effects_(file.sections.size()) {
  for (const HaproxySection& section : file.sections) {
    if (forwards(section)) doors_.push_back(&section);
  }
  for (const HaproxySection& section : file.sections) {
    if (judges_requests(section)) follow(section);
  }
}

HaproxyRuleOrder::Effects& HaproxyRuleOrder::effects(const HaproxySection& section) {
  return effects_[static_cast<std::size_t>(&section - file_.sections.data())];
}

const HaproxyRuleOrder::Effects& HaproxyRuleOrder::effects(const HaproxySection& section) const {
  return effects_[static_cast<std::size_t>(&section - file_.sections.data())];
}

const std::string& HaproxyRuleOrder::too_long(const HaproxySection& section) const {
  return effects(section).too_long;
}

void HaproxyRuleOrder::follow(const HaproxySection& section) {
  Effects& here = effects(section);
  for (std::size_t i = 0; i < section.rules.size(); ++i) {
    const HaproxyRule& rule = section.rules[i];
    if (rule.action.starts_with("track-sc") ||
        (haproxy_refuses(rule.action) && reads_count(section, rule.condition)))
      here.last_count[static_cast<std::size_t>(rule.stage)] = i + 1;
  }
  std::size_t refused = 0;
  for (std::size_t i = 0; i < section.rules.size(); ++i) {
    const HaproxyRule& rule = section.rules[i];
    if (rule.stage == HaproxyStage::other) break;
    if (!reached(section, i)) continue;
    if (rule.action.starts_with("track-sc")) {
      track(section, i, refused);
    } else if (ends_rules(rule.action)) {
      end(section, i);
      if (haproxy_refuses(rule.action) && reads_count(section, rule.condition)) refused = rule.line;
    } else {
      rewrite(rule, here.written);
    }
  }
}

bool HaproxyRuleOrder::ends(const Ending& ending, const HaproxySection& section,
                            std::size_t order) {
  return ending.order < order && (ending.of_all || ending.stage == section.rules[order].stage);
}

bool HaproxyRuleOrder::reached(const HaproxySection& section, std::size_t order) const {
  const std::vector<Ending>& endings = effects(section).endings;
  return std::none_of(endings.begin(), endings.end(), [&](const Ending& ending) {
    return ending.condition == "true" && ends(ending, section, order);
  });
}

std::vector<std::string> HaproxyRuleOrder::leaves(const HaproxySection& section,
                                                  std::size_t order) const {
  std::vector<std::string> out;
  for (const Ending& ending : effects(section).endings) {
    if (ends(ending, section, order)) out.push_back("!(" + ending.condition + ")");
  }
  return out;
}

void HaproxyRuleOrder::track(const HaproxySection& section, std::size_t order,
                             std::size_t refused) {
  const HaproxyRule& rule = section.rules[order];
  if (rule.arguments.empty()) return;
  if (trackings_.size() >= kTrackingsMax) return notes_.add(rule, "there are too many of them");
  const std::vector<std::string> before_it = leaves(section, order);
  HaproxyTracking tracking;
  tracking.section = &section;
  tracking.rule = &rule;
  tracking.order = order;
  tracking.slot = rule.action.substr(8);
  tracking.fetch = rule.arguments[0];
  tracking.behind = refused;
  tracking.table =
      rule.arguments.size() > 2 && rule.arguments[1] == "table" ? rule.arguments[2] : section.name;
  tracking.leaves.insert(before_it.begin(), before_it.end());
  std::string when, tracks;
  if (const auto ways = condition(section, order, tracking.why)) {
    const bool counts = reads_count(section, rule.condition);
    if (counts) {
      tracking.why = "whether sc" + tracking.slot + " tracks depends on a count";
    } else {
      when = joined(*ways, false);
      tracks = joined(*ways, true);
    }
  }
  std::vector<std::string> present{tracks};
  if (const std::string why = key_of(tracking, present); tracking.why.empty()) tracking.why = why;
  // The first rule that tracks a slot keeps it.
  std::vector<std::string> all = before_it;
  for (const HaproxyTracking& before : trackings_) {
    if (before.section != &section || before.slot != tracking.slot) continue;
    if (before.tracks == "true" && before.why.empty())
      return notes_.add(
          rule, "sc" + tracking.slot + " is tracked already: " + line_text(before.rule->line));
    if (!before.why.empty() && tracking.why.empty()) tracking.why = before.why;
    all.push_back("!(" + before.tracks + ")");
  }
  all.push_back(when);
  tracking.when = all_of(all);
  if (tracking.why.empty()) tracking.why = effects(section).too_long;
  tracking.tracks = all_of(present);
  trackings_.push_back(std::move(tracking));
}

/// Reads the key, and adds the required fields. Returns why it cannot.
std::string HaproxyRuleOrder::key_of(HaproxyTracking& tracking,
                                     std::vector<std::string>& present) const {
  auto key = haproxy_key(tracking.fetch);
  if (!key) return "weir has no field " + tracking.fetch + ": give it one under `fields`";
  tracking.key = std::move(*key);
  std::vector<std::string> names;
  for (const HaproxyField& field : tracking.key) {
    if (field.absent) present.push_back("has(" + field.name + ")");
    names.push_back(changed_name(field));
  }
  return changed_before(*tracking.section, tracking.order, names);
}

/// A rule after which the others are not evaluated.
void HaproxyRuleOrder::end(const HaproxySection& section, std::size_t order) {
  const HaproxyRule& rule = section.rules[order];
  const bool passes = rule.action == "allow" || rule.action == "accept";
  if (!matters_later(section, order, !passes)) return;
  if (reads_count(section, rule.condition)) {
    if (passes)
      notes_.add(rule, "weir limits the requests that this rule lets pass because of a count");
    return;
  }
  std::string why;
  const auto ways = condition(section, order, why);
  if (!ways) {
    notes_.add(rule,
               passes ? "weir limits the requests that this rule lets pass: " + why
                      : "in weir, later rules count the requests that this rule answers: " + why);
    return;
  }
  Effects& here = effects(section);
  if (here.endings.size() < kEndingsMax)
    here.endings.push_back({order, rule.stage, !passes, joined(*ways, true)});
  else
    here.too_long = "too many rules before it end the evaluation";
}

/// Whether later rules count, or read a count.
bool HaproxyRuleOrder::matters_later(const HaproxySection& section, std::size_t order,
                                     bool of_all) const {
  const auto& last = effects(section).last_count;
  const HaproxyStage stage = section.rules[order].stage;
  if (!of_all) return last[static_cast<std::size_t>(stage)] > order + 1;
  return *std::max_element(last.begin(), last.end() - 1) > order + 1;
}

std::string HaproxyRuleOrder::changed_before(const HaproxySection& section, std::size_t order,
                                             const std::vector<std::string>& fields) const {
  const auto& written = effects(section).written;
  for (const std::string& field : fields) {
    const auto found = written.find(field.starts_with("query.") ? "query" : field);
    if (found == written.end() || found->second >= &section.rules[order]) continue;
    return "weir reads " + field + " as the client sent it, and " + line_text(found->second->line) +
           " changes it before";
  }
  return {};
}

std::optional<HaproxyWays> HaproxyRuleOrder::condition(const HaproxySection& section,
                                                       std::size_t order, std::string& why) const {
  std::vector<std::string> fields;
  auto ways = haproxy_condition(section, section.rules[order], fields, why);
  if (!ways) return std::nullopt;
  why = changed_before(section, order, fields);
  if (why.empty()) return ways;
  return std::nullopt;
}

std::string HaproxyRuleOrder::requests_of(const HaproxySection& section) {
  const auto only = [&](const std::string& why) {
    notes_.add(section.line, {section.kind, section.name}, why);
    return std::string("true");
  };
  if (section.takes_requests()) {
    if (doors_.size() < 2) return "true";
    return only("one of " + std::to_string(doors_.size()) +
                " sections that take requests: weir has one door, and its policies hold for all");
  }
  const std::string all = "here its policies hold for all requests: write a `when`";
  if (doors_.empty()) return only("nothing in this file leads to it: " + all);
  if (!routed_) {
    routed_ = true;
    for (const HaproxySection* door : doors_) route(*door);
  }
  const auto found = routes_.find(section.name);
  if (found == routes_.end() || found->second.size() < doors_.size())
    return only("not all requests lead to it, and weir cannot say which: " + all);
  const std::set<std::string> ways(found->second.begin(), found->second.end());
  if (ways.size() > 1) return only("not all frontends lead to it alike: " + all);
  return *ways.begin();
}

/// When requests of a door go to which section.
void HaproxyRuleOrder::route(const HaproxySection& door) {
  std::map<std::string, std::vector<std::string>> ways;
  std::vector<std::string> before;
  for (std::size_t i = 0; i < door.rules.size(); ++i) {
    const HaproxyRule& rule = door.rules[i];
    const bool last = rule.words[0] == "default_backend";
    if ((rule.action != "use_backend" && !last) || rule.words.size() < 2) continue;
    std::string why, when = "true";
    if (!last) {
      const auto read = condition(door, i, why);
      const bool known = read && !reads_count(door, rule.condition) &&
                         rule.words[1].find('%') == std::string::npos;
      if (!known || before.size() >= kRoutesMax) {
        forget(door, i, ways);
        break;
      }
      when = joined(*read, true);
    }
    std::vector<std::string> all = before;
    all.push_back(when);
    ways[rule.words[1]].push_back(all_of(all));
    if (when == "true") break;
    before.push_back("!(" + when + ")");
  }
  for (const auto& [name, some] : ways) {
    std::string out;
    for (const std::string& way : some) out += (out.empty() ? "((" : ") || (") + way;
    routes_[name].push_back(some.size() == 1 ? some[0] : out + "))");
  }
}

}  // namespace weir::config
