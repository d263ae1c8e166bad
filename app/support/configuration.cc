#include "app/support/configuration.h"

#include <unistd.h>

#include <algorithm>

#include "app/support/certificates.h"
#include "app/support/command.h"
#include "app/support/route_check.h"
#include "policies/lang/extractors.h"
#include "policies/set/compile.h"

extern char** environ;

namespace weir::app {
namespace {

constexpr const char* kSystemConfig = "/etc/weir/weir.yaml";

bool same(const config::Endpoint& a, const config::Endpoint& b) {
  return a.host == b.host && a.port == b.port && a.path == b.path;
}

bool same(const std::optional<config::Located<config::Endpoint>>& a,
          const std::optional<config::Located<config::Endpoint>>& b) {
  return a.has_value() == b.has_value() && (!a || same(a->value, b->value));
}

template <class T>
bool same_value(const std::optional<config::Located<T>>& a,
                const std::optional<config::Located<T>>& b) {
  return a.has_value() == b.has_value() && (!a || a->value == b->value);
}

/// Adds what is wrong with the sound policies; not what may only seem so for want of the others.
void look_for_more(const config::Model& draft, config::Problems& problems) {
  config::Problems more;
  check_routes(draft, more);
  policies::compile(draft, more);
  for (const config::Problem& problem : more.all()) {
    if (problem.severity == config::Problem::Severity::error)
      problems.error(problem.where, problem.message, problem.hint);
  }
  problems.sort();
}

}  // namespace

Configuration compile(config::Loaded loaded) {
  Configuration out{std::move(loaded), nullptr};
  if (out.loaded.draft) look_for_more(*out.loaded.draft, out.loaded.problems);
  if (!out.loaded.model) return out;
  check_routes(*out.loaded.model, out.loaded.problems);
  check_certificates(out.loaded.model->server, out.loaded.problems);
  std::shared_ptr<policies::PolicySet> set =
      policies::compile(*out.loaded.model, out.loaded.problems);
  out.loaded.problems.sort();
  if (set == nullptr || out.loaded.problems.has_errors()) return out;
  set->source_hash = out.loaded.hash;
  out.set = std::move(set);
  return out;
}

config::Environment process_environment() {
  config::Environment out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos)
      out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

std::string default_config_path(const config::Environment& environment) {
  const auto named = environment.find("WEIR_CONFIG");
  if (named != environment.end() && !named->second.empty()) return named->second;
  return ::access("weir.yaml", F_OK) == 0 ? "weir.yaml" : kSystemConfig;
}

bool no_default_config(const config::Environment& environment) {
  const std::string path = default_config_path(environment);
  if (path != kSystemConfig || ::access(kSystemConfig, F_OK) == 0) return false;
  complain(
      "no configuration: $WEIR_CONFIG is not set, and there is neither ./weir.yaml nor "
      "/etc/weir/weir.yaml\nname a file (--config), begin with \"weir init\", or try \"weir dev "
      "PORT\" without one");
  return true;
}

admin::LoadReport report_of(const Configuration& configuration, TimePoint at) {
  admin::LoadReport out;
  out.ok = configuration.good();
  out.at = at;
  out.hash = configuration.loaded.hash;
  out.problem_count = configuration.loaded.problems.all().size();
  for (const config::Problem* problem :
       configuration.loaded.problems.first(admin::LoadReport::kProblemsMost)) {
    admin::ProblemLine line;
    line.is_error = problem->severity == config::Problem::Severity::error;
    if (problem->where.file < configuration.loaded.files.size()) {
      line.file = configuration.loaded.files[problem->where.file].name;
    }
    line.line = problem->where.line;
    line.column = problem->where.column;
    line.message = problem->message;
    line.hint = problem->hint;
    out.problems.push_back(std::move(line));
  }
  return out;
}

std::string place_of(const Configuration& configuration, const config::Where& where) {
  if (where.file >= configuration.loaded.files.size()) return {};
  std::string out = configuration.loaded.files[where.file].name;
  if (where.line != 0) out += ":" + std::to_string(where.line) + ":" + std::to_string(where.column);
  return out;
}

namespace {

/// All of `redis:` but user and password, which a reload may rotate.
std::string place_and_secret(const std::optional<config::Server::Redis>& redis) {
  if (!redis) return {};
  std::string out;
  const auto add = [&out](std::string_view text) { out.append(text).push_back('\n'); };
  const auto add_text = [&](const std::optional<config::Text>& text) {
    add(text ? text->value : std::string_view("-"));
  };
  add(redis->parsed_url.endpoint.to_string() + (redis->parsed_url.tls ? " tls " : " ") +
      std::to_string(redis->parsed_url.database));
  for (const auto* nodes : {&redis->sentinels, &redis->cluster}) {
    for (const auto& node : *nodes) add(node.value.to_string());
    add("");
  }
  for (const auto* text : {&redis->master, &redis->ca, &redis->cert, &redis->key,
                           &redis->server_name, &redis->secret, &redis->secret_file}) {
    add_text(*text);
  }
  add(redis->tls || redis->parsed_url.tls ? "tls" : "plain");
  add(redis->readable_keys ? "readable" : "hashed");
  add(redis->functions ? "functions" : "scripts");
  add(std::to_string(redis->timeout.count()) + " " + std::to_string(redis->budget.count()));
  return out;
}

}  // namespace

std::vector<std::string> needs_restart(const config::Server& a, const config::Server& b) {
  std::vector<std::string> out;
  const auto differs = [&](bool is_same, const char* name) {
    if (!is_same) out.emplace_back(name);
  };
  differs(same(a.proxy.listen.value, b.proxy.listen.value), "proxy.listen");
  differs(same(a.proxy.upstream, b.proxy.upstream), "proxy.upstream");
  differs(a.proxy.trust == b.proxy.trust && a.proxy.client_header == b.proxy.client_header,
          "proxy.client_ip");
  differs(a.proxy.connect == b.proxy.connect && a.proxy.head == b.proxy.head &&
              a.proxy.body == b.proxy.body && a.proxy.answer == b.proxy.answer &&
              a.proxy.idle == b.proxy.idle,
          "proxy.timeouts");
  differs(same(a.admin.listen.value, b.admin.listen.value), "admin.listen");
  differs(same_value(a.admin.token_file, b.admin.token_file), "admin.token_file");
  differs(a.admin.hosts == b.admin.hosts, "admin.hosts");
  differs(a.admin.replicas == b.admin.replicas, "admin.replicas");
  differs(same(a.health.listen.value, b.health.listen.value), "health.listen");
  differs(same(a.api.listen, b.api.listen) && a.api.none == b.api.none, "api.listen");
  differs(same_value(a.api.token_file, b.api.token_file), "api.token_file");
  differs(a.api.hosts == b.api.hosts, "api.hosts");
  differs(same_value(a.api.ext_authz, b.api.ext_authz), "api.ext_authz");
  differs(std::equal(a.api.forward_auth.begin(), a.api.forward_auth.end(),
                     b.api.forward_auth.begin(), b.api.forward_auth.end(),
                     [](const auto& x, const auto& y) {
                       return x.caller.value == y.caller.value && x.deny_status == y.deny_status;
                     }),
          "api.forward_auth");
  differs(a.authz.trust == b.authz.trust && a.authz.client_header == b.authz.client_header &&
              a.authz.hops == b.authz.hops && a.authz.error_response == b.authz.error_response &&
              a.authz.settle == b.authz.settle,
          "authz");
  differs(same(a.grpc.listen, b.grpc.listen) && a.grpc.none == b.grpc.none, "grpc.listen");
  differs(a.grpc.tls.has_value() == b.grpc.tls.has_value(), "grpc.tls");
  differs(a.grpc.message == b.grpc.message, "grpc.message");
  differs(a.grpc.connection_age == b.grpc.connection_age, "grpc.connection_age");
  differs(same_value(a.state.dir, b.state.dir), "state.dir");
  differs(a.access_log.is_on == b.access_log.is_on && a.access_log.path == b.access_log.path,
          "access_log.path");
  differs(same_value(a.audit.path, b.audit.path) && a.audit.keep == b.audit.keep, "audit");
  differs(same_value(a.tracing.endpoint, b.tracing.endpoint) &&
              a.tracing.sample == b.tracing.sample && a.tracing.service == b.tracing.service,
          "tracing");
  // Without a word of the user's the running size is what the machine has room for.
  differs(a.limits.memory_given == b.limits.memory_given &&
              (!a.limits.memory_given || a.limits.memory == b.limits.memory),
          "limits.memory");
  differs(a.limits.keys == b.limits.keys, "limits.keys");
  differs(a.limits.body == b.limits.body, "limits.body");
  differs(a.limits.head == b.limits.head, "limits.head");
  differs(a.limits.connections == b.limits.connections, "limits.connections");
  differs(a.limits.connections_per_ip == b.limits.connections_per_ip, "limits.connections_per_ip");
  differs(a.limits.buffers == b.limits.buffers, "limits.buffers");
  differs(a.limits.held == b.limits.held, "limits.held");
  differs(a.limits.waiting == b.limits.waiting, "limits.waiting");
  differs(a.reserve_wait == b.reserve_wait, "reserve.wait");
  differs(same_value(a.threads, b.threads), "threads");
  differs(place_and_secret(a.redis) == place_and_secret(b.redis), "redis");
  return out;
}

std::vector<std::string> used_header_names(const policies::PolicySet& set) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < set.slots.size(); ++i) {
    const policies::Slot& slot = set.slots[static_cast<policies::SlotId>(i)];
    if (slot.kind != policies::Slot::Kind::attribute || slot.extractor == nullptr) continue;
    if (slot.extractor->form != policies::ArgumentForm::header) continue;
    if (slot.extractor->side != policies::Side::request) continue;
    if (std::find(out.begin(), out.end(), slot.argument.name) == out.end()) {
      out.push_back(slot.argument.name);
    }
  }
  return out;
}

}  // namespace weir::app
