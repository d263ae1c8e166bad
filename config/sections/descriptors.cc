#include "config/sections/descriptors.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

#include "config/sections/sections.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"
#include "core/chars/percent.h"

namespace weir::config {
namespace {

constexpr std::size_t kTextMax = 4096;

bool is_text(Reader& reader, const Node& node, std::string_view what) {
  if (!node.is_scalar() || node.text.size() > kTextMax) {
    reader.error(node, std::string(what) + " is a text of at most 4096 bytes");
    return false;
  }
  return true;
}

void read_entry(Reader& reader, const Member& m, DescriptorDef& out) {
  if (!is_text(reader, *m.value, "the value of a descriptor's entry")) return;
  if (m.key->text.empty()) return reader.error(*m.key, "a descriptor's entry has a key");
  if (out.entries.size() >= kDescriptorEntriesMax) {
    return reader.error(*m.key, "a descriptor has at most 32 entries");
  }
  DescriptorDef::Entry entry;
  entry.key = {std::string(m.key->text), m.key->where};
  entry.value = {std::string(m.value->text), m.value->where};
  using Kind = DescriptorDef::Entry::Kind;
  entry.kind = m.value->text == "*"                                ? Kind::any
               : m.value->text.find('*') == std::string_view::npos ? Kind::value
                                                                   : Kind::pattern;
  out.entries.push_back(std::move(entry));
}

void append_plain(std::string& out, std::string_view text) {
  append_percent_encoded(out, text, "-._~/*");
}

constexpr Row<EventDef> kDescribed[] = {
    {{"domain", shape::kText, "text", "required", "The domain of the call."},
     [](Reader& r, const Member& m, EventDef& out) { read_domain(r, m, out.descriptor); }},
    {{"descriptors", R"({"type":["object","array"]})",
      "map key: value, or a list of such maps, each with one entry",
      "every descriptor of the domain",
      "The entries of the descriptor, all of them and no others: a value, a pattern such as "
      "`/api/*`, or `*` for any value. A map matches them in any order, a list only in its order."},
     [](Reader& r, const Member& m, EventDef& out) { read_descriptors(r, m, out.descriptor); }},
};

void read_one(Reader& reader, const Node& node, std::vector<Text>& names,
              std::vector<EventDef>& described) {
  if (!node.is_map()) {
    for (Text& name : reader.texts(Member{&node, &node})) names.push_back(std::move(name));
    return;
  }
  constexpr std::string_view kOfEvents[] = {"match", "is", "when", "fields", "source"};
  for (const Member& m : node.items) {
    if (std::find(std::begin(kOfEvents), std::end(kOfEvents), m.key->text) == std::end(kOfEvents))
      continue;
    const bool route = m.key->text == "match" && m.value->is_scalar();
    return reader.error(*m.key, quoted(m.key->text) + " belongs in an event, which a policy names",
                        "write events: {my_event: {match: " +
                            std::string(route ? m.value->text.substr(0, 60) : "POST /login") +
                            "}}, and watch: my_event");
  }
  EventDef event;
  const std::size_t errors = reader.problems().errors();
  reader.walk(node, "a watched call", kDescribed, event);
  if (!event.descriptor || reader.problems().errors() != errors) return;
  event.descriptor->whole_domain = event.descriptor->entries.empty();
  event.name = {described_name(*event.descriptor), node.where};
  event.spelling = event.name.value;
  names.push_back(event.name);
  described.push_back(std::move(event));
}

}  // namespace

void read_domain(Reader& reader, const Member& m, std::optional<DescriptorDef>& out) {
  if (!out) out.emplace();
  if (!is_text(reader, *m.value, "\"domain\"")) return;
  if (m.value->text.empty()) return reader.error(*m.value, "\"domain\" is empty");
  out->domain = {std::string(m.value->text), m.value->where};
}

void read_descriptors(Reader& reader, const Member& m, std::optional<DescriptorDef>& out) {
  if (!out) out.emplace();
  const Node& node = *m.value;
  if (node.is_map()) {
    for (const Member& entry : node.items) read_entry(reader, entry, *out);
  } else if (node.is_list()) {
    out->ordered = true;
    for (const Member& item : node.items) {
      if (!item.value->is_map() || item.value->items.size() != 1) {
        reader.error(*item.value, "each of \"descriptors\" is a map with one entry",
                     "write [{generic_key: login}, {remote_address: '*'}]");
        continue;
      }
      read_entry(reader, item.value->items[0], *out);
    }
  } else {
    return reader.error(node, "\"descriptors\" must be a map or a list",
                        "write descriptors: {remote_address: '*'}");
  }
  if (node.items.empty()) {
    reader.error(node, "\"descriptors\" is empty", "leave it out for whatever the domain asks");
  }
}

std::string described_name(const DescriptorDef& def) {
  std::string out = "domain ";
  append_plain(out, def.domain.value);
  if (def.whole_domain) return out;
  std::vector<std::string> texts;
  for (const DescriptorDef::Entry& entry : def.entries) {
    std::string& text = texts.emplace_back();
    append_plain(text, entry.key.value);
    // A pattern that is `*` alone is not the same as any value: it comes before.
    text += entry.kind == DescriptorDef::Entry::Kind::any ? ": any" : ": ";
    if (entry.kind != DescriptorDef::Entry::Kind::any) append_plain(text, entry.value.value);
    if (entry.kind == DescriptorDef::Entry::Kind::value && entry.value.value == "any") text += "%";
  }
  if (!def.ordered) std::sort(texts.begin(), texts.end());
  out += def.ordered ? " [" : " {";
  for (std::size_t i = 0; i < texts.size(); ++i) out += (i == 0 ? "" : ", ") + texts[i];
  return out + (def.ordered ? "]" : "}");
}

std::vector<Text> read_watched(Reader& reader, const Member& m, std::vector<EventDef>& described) {
  std::vector<Text> out;
  if (m.value->is_list() && std::any_of(m.value->items.begin(), m.value->items.end(),
                                        [](const Member& item) { return item.value->is_map(); })) {
    for (const Member& item : m.value->items) read_one(reader, *item.value, out, described);
  } else if (m.value->is_map()) {
    read_one(reader, *m.value, out, described);
  } else {
    return read_event_names(reader, m);
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < i && i < 64; ++j) {
      if (out[i].value == out[j].value)
        reader.problems().error(out[i].where, quoted(out[i].value) + " is given twice");
    }
  }
  return out;
}

void take_described(Model& model) {
  // An event of the file that is described alike is the same event.
  std::unordered_map<std::string, std::string> names;
  for (const EventDef& event : model.events) {
    if (event.descriptor && !event.when)
      names.emplace(described_name(*event.descriptor), event.name.value);
  }
  const auto take = [&](std::vector<EventDef>& described, std::vector<Text>& watch) {
    for (EventDef& event : described) {
      const auto [name, fresh] = names.emplace(event.name.value, event.name.value);
      for (Text& watched : watch) {
        if (watched.value == event.name.value) watched.value = name->second;
      }
      if (fresh) model.events.push_back(event);
    }
  };
  for (PolicyDef& policy : model.policies) {
    take(policy.described, policy.watch);
    take(policy.described, policy.guard);
    policy.described.clear();
    for (NamedMetricDef& metric : policy.metrics) take(metric.described, metric.watch);
  }
  for (ViewDef& view : model.views) take(view.described, view.watch);

  std::unordered_map<std::string_view, const EventDef*> events;
  for (const EventDef& event : model.events) events.emplace(event.name.value, &event);
  const auto has_hits = [&](const std::vector<Text>& watch) {
    return std::any_of(watch.begin(), watch.end(), [&](const Text& name) {
      auto found = events.find(name.value);
      for (std::size_t up = 0; up < 64 && found != events.end() && found->second->is; ++up) {
        found = events.find(found->second->is->value);
      }
      return found != events.end() && found->second->descriptor.has_value();
    });
  };
  const auto count_hits = [](MetricDef& metric) {
    if (metric.kind != Metric::count) return;
    metric.kind = Metric::sum;
    metric.arguments = {{"hits_addend", metric.where}};  // is_count_of_hits() knows it by its place
  };
  for (PolicyDef& policy : model.policies) {
    if (!policy.pattern && policy.window && has_hits(policy.watch)) count_hits(policy.metric);
    for (NamedMetricDef& metric : policy.metrics) {
      if (metric.window && has_hits(metric.watch)) count_hits(metric.metric);
    }
  }
}

bool is_count_of_hits(const MetricDef& metric) noexcept {
  if (metric.kind != Metric::sum || metric.arguments.size() != 1) return false;
  const Where& of = metric.arguments.front().where;
  return of.line == metric.where.line && of.column == metric.where.column;
}

void add_descriptor_tables(std::vector<TableDoc>& out) {
  out.push_back(doc_of<kDescribed>(
      "described", "a watched call", "Calls of the rate limit service",
      "`watch` may describe a call in place: `watch: {domain: api, descriptors: {remote_address: "
      "'*'}}`. A descriptor matches only the most specific event with `descriptors`: in each step "
      "a value comes "
      "before a pattern, and a pattern before `*`. An event without `descriptors` also matches "
      "every "
      "descriptor of its domain. Each hit of `hits_addend` counts."));
}

}  // namespace weir::config
