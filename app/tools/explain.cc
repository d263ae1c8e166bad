#include "app/tools/explain.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>

#include "app/doors/settings.h"
#include "app/remote/included_texts.h"
#include "app/remote/list_feeds.h"
#include "app/support/columns.h"
#include "app/support/command.h"
#include "app/support/configuration.h"
#include "app/support/exit_code.h"
#include "app/support/files.h"
#include "app/support/request_draft.h"
#include "app/tools/check_json.h"
#include "app/tools/explain_call.h"
#include "authz/check_request.h"
#include "core/chars/ascii.h"
#include "policies/explain/explain.h"

namespace weir::app {
namespace {

constexpr std::string_view kExplainExamples =
    "Examples:\n"
    "  weir explain -c weir.yaml -X POST -d '{\"username\":\"alice\"}' --ip 203.0.113.7 "
    "/api/login\n"
    "  weir explain -H 'X-User-Id: 17' -H 'X-Os: android' http://shop.example/api/items?page=2\n"
    "  weir explain --door ext_authz check.json      what Envoy asks, as JSON: a CheckRequest\n"
    "  weir explain --door ratelimit call.json       the same for its rate limit service: a "
    "RateLimitRequest\n"
    "  weir explain --live -X POST --ip 203.0.113.7 /api/login      by the running weir's "
    "counters\n"
    "\n"
    "Nothing is sent: the request is judged as the first one of a weir that has just started, and "
    "what\n"
    "only the app's answer can tell stays open. Exit codes: 0 it passes, 1 it is refused.";

/// The header lines of the flags as names and values; `wrong` is the error in one.
std::vector<std::pair<std::string, std::string>> headers_of(const ExplainFlags& flags,
                                                            std::string& wrong) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string& line : flags.headers) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0 ||
        line.find_first_of("\r\n") != std::string::npos) {
      wrong = "a header looks like 'Name: value', not \"" + line + "\"";
      return {};
    }
    out.emplace_back(line.substr(0, colon),
                     ascii::trimmed(std::string_view(line).substr(colon + 1)));
  }
  return out;
}

/// Fills `draft` with the request that the flags describe. Returns the problem of the flags; empty:
/// none.
std::string fill(RequestDraft& draft, const ExplainFlags& flags, std::size_t body_max,
                 const policies::PolicySet& set) {
  RequestText text;
  text.method = flags.method;
  text.url = flags.url;
  text.body = flags.body;
  std::string wrong;
  text.headers = headers_of(flags, wrong);
  if (!wrong.empty()) return wrong;
  if (text.body.starts_with('@')) {
    auto read = read_file(text.body.substr(1), std::size_t{64} << 20);
    if (!read) return text.body.substr(1) + ": " + read.error().message();
    text.body = std::move(*read);
  }
  const auto client = Address::parse(flags.ip);
  if (!client) return "--ip must be an IPv4 or IPv6 address, not \"" + flags.ip + "\"";
  text.client = *client;
  return draft.fill(std::move(text), body_max, set);
}

/// A check of Envoy's, from a file.
struct CheckDraft {
  /// Reads the request into `reader`. Returns the problem; empty: none.
  std::string fill(const std::string& file, const config::Server& server) {
    const auto text = read_file(file, std::size_t{16} << 20);
    if (!text) return file + ": " + text.error().message();
    envoy::service::auth::v3::CheckRequest message;
    if (const std::string wrong = read_check(*text, message); !wrong.empty())
      return file + ": " + wrong;
    bytes = message.SerializeAsString();
    if (!reader.parse(bytes, memory)) return file + ": weir takes no such CheckRequest";
    rules = check_rules(server);
    const std::string_view wrong = reader.read({}, rules, Clock::wall());
    return wrong.empty() ? std::string() : file + ": " + std::string(wrong);
  }
  std::string bytes;
  authz::Messages memory;
  authz::CheckRules rules;
  authz::TargetRoom room;
  authz::CheckReader reader{room};
};

constexpr std::string_view kRateLimitDoor = "ratelimit";

/// Why the flags do not go together; empty: they do.
std::string wrong_flags(const ExplainFlags& flags) {
  if (flags.door.empty()) return {};
  if (flags.live) return "--door reads a file: --live takes a request as its flags say it";
  if (!flags.method.empty() || !flags.headers.empty() || !flags.body.empty() || flags.ip_given)
    return "--door reads the request from a file: -X, -H, -d and --ip are for a URL";
  return {};
}

int tell(const Globals& globals, const std::string& json, const std::string& human, bool refused) {
  std::string text = globals.output == Output::json ? json : human;
  if (!text.ends_with('\n')) text += '\n';
  print(text);
  return refused ? kNo : kOk;
}

/// Counters and lists in which nothing is yet.
struct Fresh {
  explicit Fresh(const config::Server::Limits& limits) : counters({limits.memory, limits.keys}) {}
  HashSecret secret = HashSecret::random();
  limiter::Bank counters;
  limiter::ListBank lists;
  policies::StatsBank stats{1};
};

int explain_one_call(const ExplainFlags& flags, const Configuration& configuration, Fresh& fresh,
                     const Globals& globals) {
  gate::Shared shared{fresh.counters, fresh.lists, fresh.secret, fresh.stats};
  CallExplanation told(configuration.set, shared);
  if (const std::string wrong = told.judge(flags.url, Clock::wall()); !wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  return tell(globals, told.to_json(), told.to_text(globals.colours(STDOUT_FILENO)),
              told.is_over());
}

int explain_request(const ExplainFlags& flags, const Configuration& configuration, Fresh& fresh,
                    const Globals& globals) {
  RequestDraft draft;
  const auto check = std::make_unique<CheckDraft>();
  const config::Server& server = configuration.model().server;
  const std::string wrong = flags.door.empty()
                                ? fill(draft, flags, server.limits.body, *configuration.set)
                                : check->fill(flags.url, server);
  if (!wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  policies::Driver driver(fresh.counters, fresh.lists, fresh.secret);
  driver.use(policies::load_on_worker(configuration.set, fresh.stats, 0));
  Request request = flags.door.empty() ? draft.request() : check->reader.request();
  request.time = Clock::wall();
  const policies::Explanation explanation =
      policies::explain(driver, request, {request.time, request.time});
  return tell(globals, explanation.to_json(), explanation.to_text(globals.colours(STDOUT_FILENO)),
              explanation.status != 0);
}

int explain(const ExplainFlags& flags, const Globals& globals) {
  if (const std::string wrong = wrong_flags(flags); !wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  if (flags.live) return explain_live(flags, flags.admin, globals);
  const config::Environment environment = process_environment();
  const auto path = find_config(flags.config, "--config FILE", environment);
  if (!path) return kNo;
  const Configuration configuration = load_configuration(*path, environment);
  if (!configuration.good()) {
    print_problems(configuration, globals.colours(STDERR_FILENO));
    return kNo;
  }
  Fresh fresh(configuration.model().server.limits);
  const auto attached = configuration.set->attach(fresh.counters, fresh.lists, fresh.secret);
  if (!attached) {
    complain("the counters do not fit into limits.memory; \"weir check\" says what each needs");
    return kNo;
  }
  for (const auto& [list, why] : fill_lists(*configuration.set, fresh.secret, Clock::wall(), true))
    complain("list \"" + list + "\": " + why);
  return flags.door == kRateLimitDoor ? explain_one_call(flags, configuration, fresh, globals)
                                      : explain_request(flags, configuration, fresh, globals);
}

std::function<int()> declare_explain(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<ExplainFlags>();
  app.add_option("-c,--config", flags->config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  declare_request_flags(app, *flags, "What is asked for: a URL or a path; with --door a file");
  flags->admin = default_door();
  app.add_flag("--live", flags->live,
               "Ask the running weir: its counters, lists and overrides; nothing is counted");
  app.add_option("--admin", flags->admin.address,
                 "With --live: the admin door; else $WEIR_ADMIN_LISTEN")
      ->type_name("ADDRESS");
  app.add_option("--token-file", flags->admin.token_file,
                 "With --live: its token; else $WEIR_ADMIN_TOKEN_FILE")
      ->type_name("FILE");
  app.add_option("--door", flags->door,
                 "The request comes through ext_authz or ratelimit: read it from a file, as JSON")
      ->type_name("DOOR")
      ->check(CLI::IsMember({"ext_authz", "ratelimit"}).description(""));
  return [flags, &globals, &app] {
    flags->ip_given = app.count("--ip") != 0;
    return explain(*flags, globals);
  };
}

}  // namespace

void declare_request_flags(CLI::App& app, ExplainFlags& flags, const char* url_help) {
  app.add_option("-X,--request", flags.method, "The method; GET, or POST with -d")
      ->type_name("METHOD");
  app.add_option("-H,--header", flags.headers, "A header, 'Name: value'; may be repeated")
      ->type_name("HEADER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-d,--data", flags.body, "The body, or @FILE")->type_name("BODY");
  app.add_option("--ip", flags.ip, "Who asks")->type_name("ADDRESS")->capture_default_str();
  app.add_option("URL", flags.url, url_help)->required();
}

int explain_live(const ExplainFlags& flags, const AdminDoor& door, const Globals& globals) {
  std::string wrong, body = flags.body;
  const auto headers = headers_of(flags, wrong);
  if (wrong.empty() && body.starts_with('@')) {
    auto read = read_file(body.substr(1), std::size_t{1} << 20);
    if (!read) wrong = body.substr(1) + ": " + read.error().message();
    if (read) body = std::move(*read);
  }
  if (wrong.empty()) wrong = wrong_start(flags.url);
  if (wrong.empty() && !Address::parse(flags.ip))
    wrong = "--ip must be an IPv4 or IPv6 address, not \"" + flags.ip + "\"";
  if (!wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  boost::json::object fields;
  for (const auto& [name, value] : headers) {
    boost::json::value& field = fields[name];
    if (!field.is_array()) field = boost::json::array();
    field.as_array().emplace_back(value);
  }
  const bool posts = flags.method.empty() && !flags.body.empty();
  boost::json::object description;
  description["url"] = flags.url;
  description["method"] = posts ? "POST" : flags.method.empty() ? "GET" : flags.method;
  description["ip"] = flags.ip;
  if (!flags.body.empty()) {
    // As curl sends it; a body that is JSON is most often meant as JSON.
    boost::system::error_code broken;
    boost::json::parse(body, broken);
    if (!broken && fields.if_contains("Content-Type") == nullptr)
      fields["Content-Type"] = "application/json";
    description["body"] = body;
  }
  description["headers"] = std::move(fields);
  const std::string text = boost::json::serialize(description);
  const AdminAnswer answer = ask_admin(door, "POST", "/v1/explain", text);
  if (answer.code != kOk) return complain_of(answer);
  if (globals.output == Output::human) {
    AdminDoor readable = door;
    readable.accept = "text/plain";
    const AdminAnswer shown = ask_admin(readable, "POST", "/v1/explain", text);
    if (shown.code != kOk) return complain_of(shown);
    show(globals, answer.body, shown.text);
  } else {
    show(globals, answer.body, {});
  }
  const boost::json::value* const verdict = member(answer.body, "verdict");
  return verdict != nullptr && count_of(*verdict, "status") != 0 ? kNo : kOk;
}

const Command kExplain{"explain",
                       "Say which policies a request meets, with which values and verdict",
                       kExplainExamples, declare_explain};

}  // namespace weir::app
