#include <algorithm>
#include <set>
#include <unordered_map>

#include "config/import/yaml_writer.h"
#include "config/ratelimit/rules.h"
#include "config/sections/descriptors.h"
#include "config/sections/key_parts.h"
#include "config/text/units.h"
#include "core/text.h"

/// Rules of envoyproxy/ratelimit as events and policies.
namespace weir::config {
namespace {

using Entry = DescriptorDef::Entry;

class EnvoyWriter {
 public:
  EnvoyWriter(const std::vector<RateLimitRule>& rules, Imported& out) : rules_(rules), out_(out) {}

  void write() {
    for (const RateLimitRule& rule : rules_) {
      if (rule.call.whole_domain) {
        note(rule, "domain: " + rule.call.domain.value, "it has no descriptors");
        names_.emplace_back();
        continue;
      }
      names_.push_back(event_names_.make(rule.call.rule->path));
      if (!rule.call.rule->name.empty()) {
        called_[rule.call.domain.value + '\n' + rule.call.rule->name].push_back(names_.back());
      }
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
      if (!rules_[i].call.whole_domain) one(rules_[i], names_[i]);
    }
    std::string sections = "events:\n" + (events_.empty() ? std::string("  {}\n") : events_) +
                           "\npolicies:" + (policies_.empty() ? " []\n" : "\n" + policies_);
    if (events_.empty()) sections = "policies: []\n";
    out_.yaml = written_file("files of envoyproxy/ratelimit", out_.left_out, sections);
  }

 private:
  void note(const RateLimitRule& rule, std::string what, std::string why) {
    out_.left_out.push_back({rule.where.line, std::move(what), std::move(why)});
  }

  void one(const RateLimitRule& rule, const std::string& name) {
    const DescriptorDef::Rule& what = *rule.call.rule;
    events_ += "  " + name + ":";
    const bool limits = what.has_limit && !what.unlimited;
    if (!limits) {
      events_ += what.unlimited ? "  # unlimited: no policy watches it"
                                : "  # without a limit; before what is less exact";
    }
    events_ += "\n    domain: " + yaml_text(rule.call.domain.value) + "\n    descriptors: [";
    for (const Entry& entry : rule.call.entries) {
      const bool only_star = entry.kind == Entry::Kind::pattern && entry.value.value == "*";
      const std::string value = entry.kind == Entry::Kind::any ? "*"
                                : only_star                    ? "**"
                                                               : entry.value.value;
      events_ += (&entry == rule.call.entries.data() ? "{" : ", {") + yaml_text(entry.key.value) +
                 ": " + yaml_text(value) + "}";
    }
    events_ += "]\n";
    write_replaces(rule);
    if (rule.call.quota && limits) events_ += "    quota: true\n";
    std::vector<std::string> key = write_key(rule);
    if (limits) write_policy(rule, name, std::move(key));
    const bool star = std::any_of(
        rule.call.entries.begin(), rule.call.entries.end(),
        [](const Entry& entry) { return entry.key.value.find('*') != std::string::npos; });
    if (star) {
      note(rule, what.path + ": a key with a *",
           "it matches this key alone: write an event for each key");
    }
    if (what.detailed_metric || (!what.valued.empty() && what.valued.back())) {
      note(rule, what.path + ": detailed_metric or value_to_metric",
           "metrics are by policy; `ratelimit: {files: ...}` has these as well");
    }
    if (!what.metadata.empty()) {
      note(rule, what.path + ": metadata",
           "answers of rules alone carry metadata: `ratelimit: {files: ...}`");
    }
  }

  void write_replaces(const RateLimitRule& rule) {
    std::set<std::string> replaced;
    for (const Text& name : rule.replaces) {
      const auto found = called_.find(rule.call.domain.value + '\n' + name.value);
      if (found == called_.end()) {
        note(rule, "replaces: " + name.value, "no rule of the domain has this name");
      } else {
        replaced.insert(found->second.begin(), found->second.end());
      }
    }
    if (replaced.empty()) return;
    events_ += "    replaces: [";
    for (const std::string& name : replaced) {
      events_ += (name == *replaced.begin() ? "" : ", ") + yaml_text(name);
    }
    events_ += "]\n";
  }

  /// The values that count separately. If their keys are not names, or occur twice, they
  /// become fields.
  std::vector<std::string> write_key(const RateLimitRule& rule) {
    std::vector<std::string> key;
    std::string fields;
    const auto& entries = rule.call.entries;
    const auto& shared = rule.call.rule->shared;
    const auto counts_by = [&](std::size_t i) {
      return entries[i].kind != Entry::Kind::value && !shared[i];
    };
    std::size_t parts = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) parts += counts_by(i) ? 1 : 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const bool twice = std::count_if(entries.begin(), entries.end(), [&](const Entry& other) {
                           return other.key.value == entries[i].key.value;
                         }) > 1;
      if (!counts_by(i)) continue;
      if (twice || parts > kKeyPartsMax) {
        if (std::any_of(shared.begin(), shared.end(), [](bool s) { return s; })) {
          note(rule, rule.call.rule->path + ": share_threshold",
               twice ? "a key that is given twice in a descriptor counts by the whole descriptor"
                     : "a descriptor with more than " + std::to_string(kKeyPartsMax) +
                           " keys that count counts as a whole");
        }
        return {"descriptor_key"};
      }
      if (is_name(entries[i].key.value, false)) {
        key.push_back("descriptor." + entries[i].key.value);
      } else {
        const std::string field = "entry_" + std::to_string(i + 1);
        fields += (fields.empty() ? "" : ", ") + field + ": " +
                  yaml_text("descriptor[" + expression_text(entries[i].key.value) + "]");
        key.push_back(field);
      }
    }
    if (!fields.empty()) events_ += "    fields: {" + fields + "}\n";
    constexpr std::size_t kActionPartsMax = 8;
    return key.size() > kActionPartsMax ? std::vector<std::string>{"descriptor_key"} : key;
  }

  void write_policy(const RateLimitRule& rule, const std::string& event,
                    std::vector<std::string> key) {
    const DescriptorDef::Rule& what = *rule.call.rule;
    ImportedPolicy policy;
    policy.name = policy_names_.make(what.name.empty() ? what.path : what.name);
    policy.watch = yaml_text(event);
    policy.key = std::move(key);
    policy.window = "{every: " + human_duration(unit_length(what.unit)) + "}";
    policy.always = true;
    policy.shadow = rule.shadow;
    policy.rungs.push_back("{over: " + std::to_string(what.requests) + ", do: deny}");
    policies_ += written(policy);
    if (!what.name.empty() && policy.name != what.name) {
      note(rule, "name: " + what.name,
           "the policy is called " + policy.name +
               ": a policy's name is unique, and has only letters, digits, - "
               "and _");
    }
  }

  const std::vector<RateLimitRule>& rules_;
  Imported& out_;
  ImportNames event_names_{false}, policy_names_{true};
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::vector<std::string>> called_;
  std::string events_, policies_;
};

}  // namespace

Imported import_envoy_rate_limits(const std::vector<SourceText>& files) {
  Imported out;
  Problems problems;
  std::vector<RateLimitRule> rules;
  for (std::uint32_t file = 0; file < files.size(); ++file) {
    const Tree tree = parse_tree(files[file].text, file, problems, rate_limit_file_limits());
    read_rate_limit_rules(tree, file, problems, rules);
  }
  check_rate_limit_rules(rules, true, problems);
  problems.sort();
  for (const Problem& problem : problems.all()) {
    if (problem.severity != Problem::Severity::error) continue;
    out.error = (problem.where.file < files.size() ? files[problem.where.file].name : "") + ":" +
                std::to_string(problem.where.line) + ": " + problem.message;
    return out;
  }
  EnvoyWriter(rules, out).write();
  return out;
}

}  // namespace weir::config
