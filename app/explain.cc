#include "policies/explain.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>

#include "app/command.h"
#include "app/configuration.h"
#include "app/exit_code.h"
#include "app/files.h"
#include "config/render.h"
#include "net/http_target.h"

namespace weir::app {
namespace {

constexpr std::string_view kExamples =
    "Examples:\n"
    "  weir explain -c weir.yaml -X POST -d '{\"username\":\"alice\"}' --ip 203.0.113.7 "
    "/api/login\n"
    "  weir explain -H 'X-User-Id: 17' -H 'X-Os: android' http://shop.example/api/items?page=2\n"
    "\n"
    "Nothing is sent: the request is judged as the first one of a weir that has just started, and "
    "what\n"
    "only the app's answer can tell stays open. Exit codes: 0 it passes, 1 it is refused.";

struct Flags {
  std::string config, method, body, ip = "127.0.0.1", url;
  std::vector<std::string> headers;
};

/// A request made of flags. Owns what the Request looks at.
class Draft {
 public:
  /// What is wrong with the flags; empty: nothing.
  std::string fill(const Flags& flags, std::size_t body_max);
  const Request& request() const noexcept { return request_; }

 private:
  std::string take_url(const std::string& url);
  std::string take_headers(const std::vector<std::string>& lines);
  std::string take_body(const Flags& flags, std::size_t body_max);

  Request request_;
  std::string method_, host_, target_, body_;
  std::vector<std::pair<std::string, std::string>> lines_;
  std::vector<HeaderField> fields_;
  std::vector<char> path_room_;
};

std::string Draft::take_url(const std::string& url) {
  host_ = "localhost";
  request_.scheme = "http";
  std::string_view rest = url;
  if (const std::size_t scheme = rest.find("://");
      scheme != std::string_view::npos && scheme < rest.find('/')) {
    const std::string_view name = rest.substr(0, scheme);
    if (name != "http" && name != "https")
      return "the URL must begin with http:// or https://, or be a path";
    if (name == "https") request_.scheme = "https";
    rest.remove_prefix(scheme + 3);
    const std::size_t path = std::min(rest.find_first_of("/?"), rest.size());
    host_ = rest.substr(0, path);
    rest.remove_prefix(path);
  }
  target_ = rest.starts_with('/') ? std::string(rest) : "/" + std::string(rest);
  for (const char c : target_) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == '#') {
      return "the URL holds a blank, a control character or a fragment; escape it, as a browser "
             "does";
    }
  }
  path_room_.resize(net::normal_path_room(target_.size()));
  net::NormalTarget normal;
  if (net::normalise_target(target_, net::PathRules{}, path_room_, normal) !=
      net::HttpRefusal::none) {
    return "weir answers such a path with 400: its escapes are broken or ambiguous";
  }
  request_.target = target_;
  request_.path = normal.path;
  request_.query = normal.query;
  return {};
}

std::string Draft::take_headers(const std::vector<std::string>& lines) {
  for (const std::string& line : lines) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos || colon == 0 ||
        line.find_first_of("\r\n") != std::string::npos) {
      return "a header looks like 'Name: value', not \"" + line + "\"";
    }
    std::string value = line.substr(colon + 1);
    value.erase(0, std::min(value.find_first_not_of(" \t"), value.size()));
    while (value.ends_with(' ') || value.ends_with('\t')) value.pop_back();
    lines_.emplace_back(line.substr(0, colon), std::move(value));
  }
  return {};
}

std::string Draft::take_body(const Flags& flags, std::size_t body_max) {
  body_ = flags.body;
  if (body_.starts_with('@')) {
    auto read = read_file(body_.substr(1), std::size_t{64} << 20);
    if (!read) return body_.substr(1) + ": " + read.error().message();
    body_ = std::move(*read);
  }
  const auto has = [&](std::string_view name) {
    return std::any_of(lines_.begin(), lines_.end(), [&](const auto& line) {
      return std::equal(
          line.first.begin(), line.first.end(), name.begin(), name.end(),
          [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; });
    });
  };
  if (!has("host")) lines_.emplace(lines_.begin(), "Host", host_);
  if (!body_.empty()) {
    const bool json = body_.starts_with('{') || body_.starts_with('[');
    if (!has("content-type")) {
      lines_.emplace_back("Content-Type",
                          json ? "application/json" : "application/x-www-form-urlencoded");
    }
    if (!has("content-length")) lines_.emplace_back("Content-Length", std::to_string(body_.size()));
  }
  request_.body = body_;
  request_.body_state = has("content-encoding")   ? BodyState::encoded
                        : body_.size() > body_max ? BodyState::too_large
                                                  : BodyState::complete;
  if (request_.body_state != BodyState::complete) request_.body = {};
  return {};
}

std::string Draft::fill(const Flags& flags, std::size_t body_max) {
  if (std::string wrong = take_url(flags.url); !wrong.empty()) return wrong;
  if (std::string wrong = take_headers(flags.headers); !wrong.empty()) return wrong;
  if (std::string wrong = take_body(flags, body_max); !wrong.empty()) return wrong;
  const auto client = Address::parse(flags.ip);
  if (!client) return "--ip wants an IPv4 or IPv6 address, not \"" + flags.ip + "\"";
  method_ = !flags.method.empty() ? flags.method : body_.empty() ? "GET" : "POST";
  request_.method = method_;
  std::transform(host_.begin(), host_.end(), host_.begin(), [](char c) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  request_.host = std::string_view(host_).substr(
      0, host_.starts_with('[') ? host_.find(']') + 1 : host_.find(':'));
  request_.client = *client;
  for (const auto& [name, value] : lines_) fields_.push_back({name, value});
  request_.headers = fields_;
  return {};
}

int explain(const Flags& flags, const Globals& globals) {
  const config::Environment environment = process_environment();
  const std::string path = flags.config.empty() ? default_config_path(environment) : flags.config;
  const Configuration configuration = compile(config::load_file(path, environment));
  if (!configuration.good()) {
    const std::string text =
        config::render_human(configuration.loaded.problems, configuration.loaded.views(),
                             globals.colours(STDERR_FILENO));
    static_cast<void>(write_all(STDERR_FILENO, text).has_value());
    return kNo;
  }
  const config::Server::Limits& limits = configuration.model().server.limits;
  Draft draft;
  if (const std::string wrong = draft.fill(flags, limits.body); !wrong.empty()) {
    complain(wrong);
    return kUsage;
  }
  const HashSecret secret = HashSecret::random();
  limiter::Bank counters({limits.memory, limits.keys});
  limiter::ListBank lists;
  policies::StatsBank stats(1);
  if (auto attached = configuration.set->attach(counters, lists, secret); !attached) {
    complain("the counters do not fit into limits.memory; \"weir check\" says what each needs");
    return kNo;
  }
  policies::Evaluator evaluator(counters, lists, secret);
  evaluator.use(policies::load_on_worker(configuration.set, stats, 0));
  Request request = draft.request();
  request.time = Clock::wall();
  const policies::Explanation explanation =
      policies::explain(evaluator, request, {request.time, request.time});
  std::string text = globals.output == Output::json
                         ? explanation.to_json()
                         : explanation.to_text(globals.colours(STDOUT_FILENO));
  if (!text.ends_with('\n')) text += '\n';
  print(text);
  return explanation.status != 0 ? kNo : kOk;
}

std::function<int()> declare(CLI::App& app, const Globals& globals) {
  auto flags = std::make_shared<Flags>();
  app.add_option("-c,--config", flags->config,
                 "The main file; else $WEIR_CONFIG, ./weir.yaml, /etc/weir/weir.yaml")
      ->type_name("FILE");
  app.add_option("-X,--request", flags->method, "The method; GET, or POST with -d")
      ->type_name("METHOD");
  app.add_option("-H,--header", flags->headers, "A header, 'Name: value'; may be repeated")
      ->type_name("HEADER")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("-d,--data", flags->body, "The body, or @FILE")->type_name("BODY");
  app.add_option("--ip", flags->ip, "Who asks")->type_name("ADDRESS")->capture_default_str();
  app.add_option("URL", flags->url, "What is asked for: a URL or a path")->required();
  return [flags, &globals] { return explain(*flags, globals); };
}

}  // namespace

const Command kExplain{"explain",
                       "Say which policies a request meets, with which values and verdict",
                       kExamples, declare};

}  // namespace weir::app
