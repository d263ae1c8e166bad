#include <boost/json/error.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/stream_parser.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include "api/batch.h"
#include "config/load.h"
#include "policies/set/compile.h"
#include "tests/fuzz/require.h"

/// Bodies of `POST /v1/events`. Any bytes give an answer that is JSON, one line for each that is
/// not empty; and the reader of objects accepts and returns what Boost.JSON does,
/// except texts that it refuses on purpose.
namespace {

using namespace weir;
namespace json = boost::json;

constexpr std::string_view kConfig = R"(weir: 1
events:
  login: {match: 'POST /login/{id}', fields: {user: body.user, n: int(body.n), d: header.x_d}}
  failed: {is: login, when: 'status in [401, 403]'}
  row: {source: {json: true, time: {field: ts, as: seconds}}}
policies:
  - {name: a, watch: failed, key: [ip, user], window: 10m, reset: login, then: [{over: 2, do: deny, for: 1h}]}
  - {name: b, watch: row, key: k, metric: sum(v), window: 1m, then: [{over: 5, do: flag, score: 3}]}
  - {name: c, watch: login, when: 'query.q != cookie.c', key: [id, host], window: {last: 1m, exact: true}, then: [{over: 1, do: graylist, for: 1m}]}
  - {name: d, watch: request, when: 'body.x == response.body.x', key: path, metric: distinct(url), window: 1m, then: [{over: 1, do: challenge}]}
)";

/// Nothing is shared here: no event waits for a store.
struct Nobody final : api::Asker {
  void resume(TimePoint) override {}
};

struct World {
  World() {
    config::Loaded loaded = config::load_text("weir.yaml", kConfig);
    const config::FileView text{"weir.yaml", kConfig};
    if (!loaded.model)
      std::fputs(config::render_human(loaded.problems, {text}, false).c_str(), stderr);
    require(loaded.model.has_value());
    auto set = policies::compile(*loaded.model, loaded.problems);
    require(set != nullptr);
    require(bool(set->attach(bank, lists, secret)));
    gate.use(std::move(set));
  }
  limiter::Bank bank{limiter::BankLimits{std::uint64_t{8} << 20, 10'000}};
  limiter::ListBank lists;
  HashSecret secret = HashSecret::from_bytes({7});
  policies::StatsBank stats{1};
  telemetry::Metrics metrics{1};
  gate::Shared shared{bank, lists, secret, stats};
  gate::Gate gate{shared, 0, gate::GateLimits{}, metrics.cells(0), nullptr};
  api::LineJudge lines{gate, metrics.cells(0)};
};

/// A number that neither an integer of 64 bits nor a double holds, which is null for ours.
bool is_beyond(const json::value& number) {
  constexpr double kIntegers = 9.2e18;  // 2^63, less than what Boost's conversion may be away
  return number.is_uint64() || (number.is_double() && std::abs(number.get_double()) > kIntegers);
}

void compare(const api::JsonMember& ours, const json::value& theirs) {
  using Kind = api::JsonMember::Kind;
  switch (ours.kind) {
    case Kind::null:
      return require(theirs.is_null() || is_beyond(theirs));
    case Kind::boolean:
      return require(theirs.is_bool() && theirs.get_bool() == ours.boolean);
    case Kind::integer:
      return require(theirs.is_number() && theirs.to_number<std::int64_t>() == ours.integer);
    case Kind::real: {
      // Boost's conversion is not exact: it may be a few units in the last place away.
      const double there = theirs.to_number<double>();
      return require(std::abs(there - ours.real) <= std::abs(ours.real) * 1e-14 + 1e-300);
    }
    case Kind::text:
      return require(theirs.is_string() && std::string_view(theirs.get_string()) == ours.text);
    case Kind::object:
      return require(theirs.is_object() && json::parse(ours.text) == theirs);
    case Kind::array:
      return require(theirs.is_array() && json::parse(ours.text) == theirs);
  }
}

void compare_with_boost(std::string_view text) {
  static api::JsonMembers ours;
  const auto wrong = ours.read(text);
  json::parse_options options;
  options.max_depth = api::JsonMembers::kDepthMax;
  boost::system::error_code error;
  const json::value theirs = json::parse(text, error, {}, options);
  if (!wrong) {
    // A number beyond every double is null for ours. Boost refuses the text if the exponent does
    // not fit either.
    if (error == json::error::exponent_overflow) return;
    require(!error && theirs.is_object() && theirs.get_object().size() == ours.members().size());
    for (const api::JsonMember& member : ours.members()) {
      const json::value* const found = theirs.get_object().if_contains(member.name);
      require(found != nullptr && member.at < text.size());
      compare(member, *found);
    }
    return;
  }
  require(wrong->at <= text.size() && !wrong->what.empty());
  if (error || !theirs.is_object()) return;
  const bool on_purpose = wrong->what.find("given twice") != std::string::npos ||
                          wrong->what.find("too large or too small") != std::string::npos ||
                          wrong->what.find("members") != std::string::npos;
  require(on_purpose);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static World world;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  compare_with_boost(text);
  const TimePoint now = from_ms(1'800'000'000'000 + data[0]);
  const auto ask = data[0] % 2 == 0 ? api::Ask::events : api::Ask::query;
  api::Batch batch(std::string(text), api::Batch::Form::lines, ask);
  std::size_t lines = 0;
  Nobody nobody;
  while (batch.work(world.lines, now, nobody) == api::Batch::Left::some) {
  }
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    if (text.substr(begin, end - begin).find_first_not_of(" \t\r") != std::string_view::npos)
      ++lines;
    begin = end + 1;
  }
  std::string_view answer = batch.answer();
  for (; lines > 0; --lines) {
    const std::size_t end = answer.find('\n');
    require(end != std::string_view::npos);
    boost::system::error_code error;
    const json::value line = json::parse(answer.substr(0, end), error);
    require(!error && line.is_object());
    require(line.get_object().contains("verdict") != line.get_object().contains("error"));
    answer.remove_prefix(end + 1);
  }
  require(answer.empty());
  return 0;
}
