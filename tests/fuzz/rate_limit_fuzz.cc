#include <boost/json/parse.hpp>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "authz/check_request.h"
#include "authz/limitador_http.h"
#include "authz/rate_limit_http.h"
#include "authz/rate_limit_json.h"
#include "authz/rate_limit_service.h"
#include "config/import/imported.h"
#include "config/load.h"
#include "envoy/service/auth/v3/external_auth.pb.h"
#include "policies/set/compile.h"
#include "tests/authz/fake_call.h"
#include "tests/fuzz/require.h"

/// Requests of proxies and callers at the doors: the first byte selects the message. Any
/// bytes give an answer that its reader can read, or an error.
namespace {

using namespace weir;

constexpr const char* kLimits = R"(
domain: shop
descriptors:
  - {key: path, value: "/a*b", detailed_metric: true, rate_limit: {unit: minute, requests_per_unit: 2}}
  - key: user
    value_to_metric: true
    descriptors: [{key: path, share_threshold: false, rate_limit: {unit: day, requests_per_unit: 3, name: x, replaces: [{name: y}]}}]
  - {key: k, shadow_mode: true, quota_mode: true, metadata: {a: {b: [1]}}, rate_limit: {unit: second, requests_per_unit: 0, name: y}}
)";
constexpr std::string_view kLimitador = R"(
- {namespace: shop, max_value: 3, seconds: 60, name: n, conditions: ["descriptors[0].a != 'b'"], variables: [user]}
- {namespace: shop, max_value: 30, seconds: 600, conditions: [], variables: ["descriptors[0]['x y']"]}
)";

struct World {
  World() {
    config::Imported limits = config::import_limitador(kLimitador);
    config::Loaded loaded = config::load_texts(
        {{"weir.yaml", "weir: 1\npolicies: []\nratelimit: {headers: true, metadata: true}\n"},
         {"limits.yaml", kLimits, true},
         {"limitador.yaml", limits.yaml, false, limits.limits}});
    for (const auto& problem : loaded.problems.all())
      std::fprintf(stderr, "%s\n", problem.message.c_str());
    require(loaded.model.has_value());
    auto set = policies::compile(*loaded.model, loaded.problems);
    require(set != nullptr && bool(set->attach(bank, lists, secret)));
    gate.use(std::move(set));
  }
  limiter::Bank bank{limiter::BankLimits{std::uint64_t{8} << 20, 10'000}};
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({7});
  policies::StatsBank stats{1};
  telemetry::Metrics metrics{1};
  gate::Shared shared{bank, lists, secret, stats};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  authz::LimitadorCounters counters;
  authz::RateLimitService service{gate, metrics.cells(0), metrics.rules()};
  authz::RateLimitHttp http{gate, metrics.cells(0), metrics.rules()};
  authz::LimitadorHttp limitador{gate, metrics.cells(0), metrics.rules(), counters};
};

/// Each is answered at once: nothing is shared here.
void answered(const net::HttpReply& reply) {
  require(reply.status == 200 || reply.status == 400 || reply.status == 429);
  if (reply.content_type.find("json") != std::string::npos) {
    boost::system::error_code error;
    static_cast<void>(boost::json::parse(reply.body, error));
    require(!error);
  }
  for (const auto& [name, value] : reply.fields)
    require(value.find_first_of("\r\n") == std::string::npos);
}

/// weir's own reading of a check against protobuf's. Texts that weir does not read may be bytes of
/// any kind, and groups, which no message has, are refused: so weir takes what protobuf takes, but
/// for groups, and more.
void compare(std::string_view bytes, bool taken) {
  envoy::service::auth::v3::CheckRequest message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !taken) return;
  static authz::Messages memory;
  static authz::CheckFields fields;
  memory.clear();
  require(fields.read(bytes, memory));
  const auto& attributes = message.attributes();
  const auto& http = attributes.request().http();
  require(fields.method == http.method() && fields.path == http.path());
  require(fields.host == http.host() && fields.scheme == http.scheme());
  require(fields.body == http.body() && fields.raw_body == http.raw_body());
  require(fields.has_http == attributes.request().has_http());
  const auto& address = attributes.source().address();
  require(fields.source.has_value() == address.has_socket_address());
  require(fields.source.value_or("") == address.socket_address().address());
  for (const auto& [name, value] : fields.headers)
    require(http.headers().contains(std::string(name)));
  for (const auto& [name, value] : fields.context)
    require(attributes.context_extensions().contains(std::string(name)));
  require(fields.lines.size() == static_cast<std::size_t>(http.header_map().headers_size()));
  for (int i = 0; i < http.header_map().headers_size(); ++i) {
    const auto& line = http.header_map().headers(i);
    require(fields.lines[static_cast<std::size_t>(i)].name == line.key());
    require(fields.lines[static_cast<std::size_t>(i)].value ==
            (line.raw_value().empty() ? line.value() : line.raw_value()));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  static TimePoint now = from_ms(1'700'000'000'000);
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  now += milliseconds{7};
  int answers = 0;
  const auto count = [&](const net::HttpReply& reply) {
    ++answers;
    answered(reply);
  };
  using Ask = authz::LimitadorHttp::Ask;
  switch (data[0] % 5) {
    case 0:
      world.http.json(bytes, now, count);
      return require(answers == 1), 0;
    case 1:
      world.limitador.ask(static_cast<Ask>(data[0] / 5 % 3), bytes, now, count);
      return require(answers == 1), 0;
    case 2:
      world.limitador.counters(std::string(bytes), now, count);
      return require(answers == 1), 0;
    case 3: {
      authz::FakeCall call{std::string(bytes)};
      world.service.start(call, now);
      require(call.done());
      envoy::service::ratelimit::v3::RateLimitResponse response;
      // Strings that are no UTF-8 do not parse.
      if (call.answer) require(response.ParseFromString(*call.answer));
      return 0;
    }
    default: {
      static const authz::CheckRules kRules;
      static authz::TargetRoom room;
      static authz::CheckReader reader(room);
      static authz::Messages memory;
      memory.clear();
      const bool taken = reader.parse(bytes, memory);
      compare(bytes, taken);
      if (!taken) return 0;
      static_cast<void>(reader.read({}, kRules, now));
      require(reader.request().path.empty() || reader.request().path.front() == '/');
      return 0;
    }
  }
}
