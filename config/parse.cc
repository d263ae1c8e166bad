#include "config/parse.h"

#include "config/checks/references.h"
#include "config/default_ports.h"
#include "config/environment.h"
#include "config/ratelimit/rules.h"
#include "config/sections/descriptors.h"
#include "config/sections/sections.h"
#include "config/text/look_alikes.h"
#include "config/text/merge.h"
#include "config/text/shapes.h"
#include "config/text/yaml_text.h"

namespace weir::config {
namespace {

struct FileDraft {
  Model* model;
  bool main;
};

/// A section that only the main file may hold.
void read_main_only(Reader& reader, const Member& m, FileDraft& d) {
  if (!d.main) {
    reader.error(
        *m.key, quoted(m.key->text) + " is allowed only in the main file",
        "an included file holds fields, events, lists, tables, policies, views and notify");
    return;
  }
  read_server(reader, m, d.model->server);
}

constexpr Row<FileDraft> kFile[] = {
    {{"weir", R"({"const":1})", "1", "first line of the main file", "The version of the language."},
     [](Reader& r, const Member& m, FileDraft&) {
       const auto word = r.scalar(m);
       if (word && *word != "1")
         r.error(*m.value, quoted(*word) + " is not a version of the language", "write weir: 1");
     }},
    {{"include",
      R"({"anyOf":[{"$ref":"#/$defs/texts"},{"$ref":"#/$defs/remote"},{"type":"array","items":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/remote"}]}}]})",
      "path pattern, `https://` URL or a map (below), or a list of them", "",
      "More files, relative to the main file; patterns do not match hidden files and "
      "`*_test.yaml`. "
      "They hold `fields`, "
      "`events`, `lists`, `tables`, `policies`, `views` and `notify`; the same definition in two "
      "files "
      "counts as one (except policies and views)."},
     [](Reader& r, const Member& m, FileDraft& d) {
       if (!d.main) return r.error(*m.key, "only the main file includes others");
       std::vector<Text> patterns;
       read_includes(r, m, patterns, d.model->remotes);
     }},
    {{"fields", shape::kFields, "map name: expression", "",
      "Fields that every request can have, each defined once."},
     [](Reader& r, const Member& m, FileDraft& d) { read_fields(r, m, d.model->fields); }},
    {{"events",
      R"({"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/event"}})",
      "map name: event", "", "What happens."},
     [](Reader& r, const Member& m, FileDraft& d) { read_events(r, m, d.model->events); }},
    {{"lists",
      R"({"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/list"}})",
      "map name: list", "", "Allow, gray and deny lists."},
     [](Reader& r, const Member& m, FileDraft& d) { read_lists(r, m, d.model->lists); }},
    {{"tables",
      R"({"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/table"}})",
      "map name: table", "", "Thresholds by dimension."},
     [](Reader& r, const Member& m, FileDraft& d) { read_tables(r, m, d.model->tables); }},
    {{"defaults", R"({"$ref":"#/$defs/defaults"})", "map (below)", "", "Defaults for policies."},
     [](Reader& r, const Member& m, FileDraft& d) {  // read_defaults_first() has read it
       if (!d.main) r.error(*m.key, "\"defaults\" is allowed only in the main file");
     }},
    {{"policies", R"({"type":"array","items":{"$ref":"#/$defs/policy"}})", "list of policies", "",
      "What is counted, and which actions follow."},
     [](Reader& r, const Member& m, FileDraft& d) {
       if (m.value->is_list() && m.value->items.empty()) d.model->no_policies = true;
       read_policies(r, m, d.model->defaults, d.model->policies);
     }},
    {{"views", R"({"type":"array","items":{"$ref":"#/$defs/view"}})", "list of views", "",
      "Numbers without a verdict."},
     [](Reader& r, const Member& m, FileDraft& d) { read_views(r, m, d.model->views); }},
    {{"notify",
      R"({"type":"object","propertyNames":{"$ref":"#/$defs/name"},"additionalProperties":{"$ref":"#/$defs/notification"}})",
      "map name: notification", "", "Webhooks and log lines."},
     [](Reader& r, const Member& m, FileDraft& d) { read_notify(r, m, d.model->notify); }},
    {{"proxy", R"({"$ref":"#/$defs/proxy"})", "map", "", "The reverse proxy."}, read_main_only},
    {{"admin", R"({"$ref":"#/$defs/admin"})", "map", "", "The admin API."}, read_main_only},
    {{"health", R"({"$ref":"#/$defs/health"})", "map", "", "Probes and metrics."}, read_main_only},
    {{"api", R"({"$ref":"#/$defs/api"})", "map", "", "Events that the app reports."},
     read_main_only},
    {{"authz", R"({"$ref":"#/$defs/authz"})", "map", "",
      "Settings for proxies that ask about requests."},
     read_main_only},
    {{"grpc", R"({"$ref":"#/$defs/grpc"})", "map", "",
      "The gRPC door, for Envoy and other proxies."},
     read_main_only},
    {{"state", R"({"$ref":"#/$defs/state"})", "map", "", "What survives a restart."},
     read_main_only},
    {{"drain", R"({"$ref":"#/$defs/drain"})", "map", "", "The graceful stop."}, read_main_only},
    {{"limits", R"({"$ref":"#/$defs/limits"})", "map", "", "Bounds."}, read_main_only},
    {{"reserve", R"({"$ref":"#/$defs/reserve"})", "map", "",
      "Reservations of policies that watch answers."},
     read_main_only},
    {{"challenge", R"({"$ref":"#/$defs/challenge"})", "map", "", "What a challenged caller gets."},
     read_main_only},
    {{"log", R"({"$ref":"#/$defs/log"})", "map", "", "The log on stderr."}, read_main_only},
    {{"access_log", R"({"$ref":"#/$defs/access_log"})", "map", "",
      "A line for each request, or for some."},
     read_main_only},
    {{"audit", R"({"$ref":"#/$defs/audit"})", "map", "",
      "A line for each change that an operator makes."},
     read_main_only},
    {{"tracing", R"({"$ref":"#/$defs/tracing"})", "map", "", "Spans for a collector."},
     read_main_only},
    {{"threads", shape::kCount, "1 to 1024", "as the CPU quota says", "Workers."}, read_main_only},
    {{"ratelimit", R"({"$ref":"#/$defs/ratelimit"})", "map", "",
      "Files of envoyproxy/ratelimit, and the rate limit service."},
     read_main_only},
    {{"redis", R"({"$ref":"#/$defs/redis"})", "map", "", "The store of shared counters."},
     read_main_only},
    {{"clock", "", "", "", "Event time."}, nullptr},
};

/// Policies are read with the defaults, wherever these are in the file.
void read_defaults_first(Reader& reader, const Node& root, FileDraft& draft) {
  if (!draft.main || !root.is_map()) return;
  for (const Member& m : root.items) {
    if (m.key->text != "defaults") continue;
    read_defaults(reader, m, draft.model->defaults);
  }
}

void set_defaults(Server& server) {
  server.proxy.listen.value = {"0.0.0.0", kProxyPort, ""};
  server.admin.listen.value = {"127.0.0.1", kAdminPort, ""};
  server.health.listen.value = {"0.0.0.0", kHealthPort, ""};
}

void check_version(Reader& reader, const Tree& tree, std::uint32_t file) {
  if (tree.broken()) return;
  const Node* root = tree.root();
  const bool first = root != nullptr && root->is_map() && !root->items.empty() &&
                     root->items[0].key->text == "weir";
  if (first) return;
  const Where where = root != nullptr && root->is_map() && !root->items.empty()
                          ? root->items[0].key->where
                          : Where{file, 1, 1, 1};
  reader.problems().error(where, "the main file must begin with \"weir: 1\"",
                          "write weir: 1 as the first line: the version of the language");
}

}  // namespace

Model parse(const std::vector<SourceText>& texts, const Environment& environment,
            Problems& problems) {
  Model model;
  set_defaults(model.server);
  Reader reader(problems);
  std::vector<RateLimitRule> rules;
  bool complete = !problems.has_errors();  // else a text is not there
  for (std::uint32_t file = 0; file < texts.size(); ++file) {
    model.files.push_back(texts[file].name);
    if (texts[file].rate_limits) {
      const Tree tree = parse_tree(texts[file].text, file, problems, rate_limit_file_limits());
      complete = complete && !tree.broken();
      read_rate_limit_rules(tree, file, problems, rules);
      continue;
    }
    const Tree tree = parse_tree(texts[file].text, file, problems);
    if (file == 0) check_version(reader, tree, file);
    complete = complete && !tree.broken();
    if (tree.root() == nullptr || tree.root()->is_null()) continue;
    FileDraft draft{&model, file == 0};
    read_defaults_first(reader, *tree.root(), draft);
    reader.walk(*tree.root(), file == 0 ? "the main file" : "an included file", kFile, draft);
    auto& limits = model.server.ratelimit.limits;
    limits.insert(limits.end(), texts[file].limits.begin(), texts[file].limits.end());
  }
  Tree settings;
  read_environment(environment, reader, settings, model);
  const std::size_t errors = problems.errors();
  check_rate_limit_rules(rules, model.server.ratelimit.merge_domains, problems);
  take_described(model);
  if (problems.errors() == errors) add_rate_limit_rules(rules, model);
  add_limit_overrides(model);
  merge_equal(model);
  check_references(model, complete, problems);
  check_server(model.server, problems);
  model.complete = complete;
  if (problems.has_errors()) warn_of_look_alikes(texts, problems);
  problems.sort();
  return model;
}

FilePatterns file_patterns(std::string_view main_text) {
  // Reading YAML is most of a start. A key that is none of these letter by letter has an escape.
  const auto has = [&](std::string_view word) { return main_text.find(word) != std::string::npos; };
  if (!has("include") && !has("ratelimit") && !has("\\")) return {};
  Problems ignored;
  Reader reader(ignored);
  FilePatterns out;
  const Tree tree = parse_tree(main_text, 0, ignored);
  if (tree.root() == nullptr || !tree.root()->is_map()) return out;
  for (const Member& m : tree.root()->items) {
    if (m.key->text == "include") read_includes(reader, m, out.included, out.remotes);
    if (m.key->text != "ratelimit" || !m.value->is_map()) continue;
    for (const Member& inner : m.value->items) {
      if (inner.key->text == "files") out.rate_limits = reader.texts(inner);
      if (inner.key->text != "limitador") continue;
      if (const auto file = reader.text(inner)) out.limitador.push_back(*file);
    }
  }
  return out;
}

const std::vector<TableDoc>& all_tables() {
  static const std::vector<TableDoc> kTables = [] {
    std::vector<TableDoc> out;
    out.push_back(
        doc_of<kFile>("file", "the main file", "The file", "The first line is `weir: 1`."));
    add_event_tables(out);
    add_list_tables(out);
    add_remote_tables(out);
    add_table_tables(out);
    add_policy_tables(out);
    add_rung_tables(out);
    add_view_tables(out);
    add_notify_tables(out);
    add_server_tables(out);
    return out;
  }();
  return kTables;
}

}  // namespace weir::config
