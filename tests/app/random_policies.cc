#include "tests/app/random_policies.h"

namespace weir::app {
namespace {

constexpr std::string_view kRequestEvents = R"(
fields: {user: header.x_user, device: header.x_device, amount: int(header.x_amount),
         lat: double(int(header.x_amount) % 4) * 0.004, lon: double(int(header.x_amount) % 3) * 0.004}
events:
  login: {match: POST /login}
  pay: {match: "* /pay/{shop}"}
  item: {match: "GET /item/{shop}"}
  captcha: {match: POST /captcha}
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok: {is: login, when: status == 200}
  not_found: {is: item, when: 'status == 404 || method == "PUT"'}
)";

constexpr std::string_view kRecordEvents = R"(
events:
  act: {source: {json: true, time: {field: at, as: millis}},
        fields: {amount: int(sum), lat: double(int(sum) % 4) * 0.004, lon: double(int(sum) % 3) * 0.004, shop: 'path.startsWith("/pay") ? "s" : "t"'}}
  login: {is: act, when: path == "/login"}
  pay: {is: act, when: path.startsWith("/pay/")}
  item: {is: act, when: path.startsWith("/item/")}
  captcha: {is: act, when: path == "/captcha"}
  login_failed: {is: login, when: 'state in [401, 403]'}
  login_ok: {is: login, when: state == 200}
  not_found: {is: item, when: state == 404}
)";

constexpr std::string_view kLists = R"(
lists:
  office: {of: ip, kind: allow, entries: [192.0.2.7]}
  banned: {of: device, kind: deny, entries: [d9]}
  gray_users: {of: user, kind: gray, release: captcha, forget: 2s}
  slow_users: {of: user, kind: gray, effect: deny, max: 2}
tables:
  by_device: {by: device, values: {d1: 2, d2: unlimited, "*": 4}}
policies:
)";

}  // namespace

std::string RandomPolicies::key() {
  std::vector<std::string> keys{"", "ip", "user", "device", "[ip, user]", "user", "ip"};
  if (traffic_ == Traffic::requests) keys.emplace_back("ip/24");
  const std::string key = pick(keys);
  return key.empty() ? "" : ", key: " + key;
}

std::string RandomPolicies::metric() {
  return pick({"count", "count", "count", "sum(amount)", "avg(amount)", "min(amount)",
               "max(amount)", "distinct(user)", "\"distinct(user, device)\"", "exists(device)",
               "last(amount)", "last(user)"});
}

std::string RandomPolicies::window() {
  switch (below(9)) {
    case 0:
      return "{last: 2s, buckets: " + number(1, 8) + "}";
    case 1:
      return "{last: " + pick({"500ms", "1s", "3s"}) + ", exact: true}";
    case 2:
      return "{every: " + pick({"1s", "2s"}) + "}";
    case 3:
      return "{every: 1500ms, from: first}";
    case 4:
      return "{events: " + number(2, 6) + "}";
    case 5:
      return "{events: " + number(2, 6) + ", last: 1s}";
    case 6:
      return "{calendar: " + pick({"hour", "day"}) + ", tz: Asia/Shanghai}";
    case 7:
      return "{leaky: " + number(1, 4) + ", drain: " + pick({"300ms", "1s"}) + "}";
    default:
      return pick({"1s", "2s", "10s"});
  }
}

std::string RandomPolicies::action(bool may_refuse) {
  switch (below(may_refuse ? 7 : 3)) {
    case 0:
      return "do: flag" + std::string(chance(30) ? ", score: 30" : "");
    case 1:
      return "do: graylist, for: " + pick({"1s", "3s", "[1s, 2s, 4s], forget: 2s"});
    case 2:
      return "do: graylist, list: " + pick({"gray_users", "slow_users"}) + ", for: 2s";
    case 3:
      return "do: delay, hold: 10ms";
    case 4:
      return "do: challenge" + std::string(chance(40) ? ", for: 2s" : "");
    case 5:
      return "do: deny, for: " + pick({"1s", "2s"});
    default:
      return "do: deny";
  }
}

std::string RandomPolicies::rungs(bool compares, const std::string& window) {
  std::string out = ", then: [";
  const std::size_t count = 1 + below(3);
  std::size_t threshold = 1 + below(3);
  for (std::size_t i = 0; i < count; ++i) {
    if (i != 0) out += ", ";
    const bool leaky = window.find("leaky") != std::string::npos;
    const std::string word = chance(12) ? "under" : pick({"over", "at"});
    if (!compares) {
      out += "{if: '" +
             pick({"value == null", "value == \"u1\"", "user == \"u2\"", "value != null"}) + "'";
    } else if (leaky && chance(50)) {
      out += "{clear: true";
    } else if (chance(8)) {
      out += "{" + word + ": by_device";
    } else if (chance(8)) {
      out += "{" + word + ": 'user == \"u1\" ? 1 : 3'";
    } else {
      out += "{" + word + ": " + std::to_string(threshold);
      threshold += 1 + below(3);
      if (chance(8)) out += ", if: 'device != \"d2\"'";
    }
    if (compares && !leaky && chance(12)) out += ", in: " + pick({"500ms", "5s", "{every: 1s}"});
    const bool ends = window.starts_with("{every: 1s}") || window.starts_with("{every: 2s}") ||
                      window.starts_with("{calendar");
    out += ", " + (ends && chance(20) ? "do: deny, for: window" : action(true));
    if (compares && chance(8)) out += ", clear: true";
    if (chance(6)) out += ", mode: shadow";
    out += "}";
  }
  return out + "]";
}

std::string RandomPolicies::clock() {
  if (!out_of_order_ && !chance(12)) return "";
  return ", clock: event" + (chance(70) ? ", late: " + pick({"500ms", "2s", "4s", "1m"}) : "");
}

std::string RandomPolicies::options() {
  std::string out = clock();
  if (chance(25)) out += ", charge: always";
  if (chance(30)) out += ", missing: " + pick({"same", "deny", "skip"});
  if (chance(12)) out += ", mode: shadow";
  if (chance(15)) out += ", guard: " + event();
  if (chance(15)) out += ", keep: " + number(2, 20);
  return out;
}

std::string RandomPolicies::counting() {
  const std::string metric = this->metric();
  const bool near = !metric.starts_with("last") && chance(12);  // 445 m and more from each other
  const std::string window = near ? "{last: 2s, exact: true}" : this->window();
  const bool compares = !metric.starts_with("last(user");
  std::string watch = event();
  if (const std::string also = event(); also != watch && chance(30))
    watch = "[" + watch + ", " + also + "]";
  std::string out = "watch: " + watch + (near ? ", key: {near: {lon, lat, radius: 600m}}" : key()) +
                    ", metric: " + metric + ", window: " + window;
  if (chance(20)) out += ", when: 'amount > 2'";
  if (chance(15)) out += ", reset: " + pick({"login_ok", "captcha"});
  return out + options() + rungs(compares, window);
}

std::string RandomPolicies::meters() {
  std::string out = "watch: " + event() + key() + ", metrics: {";
  for (const char* name : {"a", "b"}) {
    if (*name == 'b') out += ", ";
    out += std::string(name) + ": {watch: " + event() +
           ", metric: " + pick({"count", "sum(amount)", "distinct(user)"}) +
           ", window: " + window();
    if (chance(25)) out += ", when: amount > 1";
    if (chance(20)) out += key();
    out += "}";
  }
  out += "}" + clock() + ", then: [{if: '" +
         pick({"a > 2 && b == 0", "a > b", "a + b > 5", "b > 1"}) + "', " + action(true) + "}]";
  return out;
}

std::string RandomPolicies::pattern() {
  const std::string key = this->key();
  const std::string within = pick({"500ms", "1s", "3s"});
  std::string out;
  std::string does = action(true);
  switch (below(3)) {
    case 0:
      out = "sequence: [" + event() + ", " + event() + (chance(30) ? ", " + event() : "") +
            "], within: " + within;
      if (chance(30)) out += ", strict: true";
      if (chance(30)) out += ", overlap: false";
      break;
    case 1:
      out = "sequence: [" + event() + ", \"no " + event() + "\"], within: " + within;
      does = "do: graylist, list: " + pick({"gray_users", "slow_users"}) + ", for: 2s";
      break;
    default:
      out = "pair: [" + event() + ", " + event() +
            "], within: " + (chance(50) ? within : "{before: 300ms, after: 1s}");
      does = chance(50) ? "do: flag" : does;
  }
  return out + key + ", then: [{" + does + "}]";
}

std::string RandomPolicies::policy(std::size_t index) {
  const std::string name = "p" + std::to_string(index);
  const std::size_t kind = below(out_of_order_ ? 8 : 10);
  const std::string body = kind < 7 ? counting() : kind < 8 ? meters() : pattern();
  return "  - {name: " + name + ", " + body + "}\n";
}

std::string RandomPolicies::yaml() {
  std::string out(traffic_ == Traffic::requests ? kRequestEvents : kRecordEvents);
  out += kLists;
  const std::size_t count = 1 + below(4);
  for (std::size_t i = 0; i < count; ++i) out += policy(i);
  return out;
}

std::vector<RandomEvent> RandomPolicies::events(std::size_t count, std::int64_t start) {
  std::vector<RandomEvent> out;
  std::int64_t now = start;
  for (std::size_t i = 0; i < count; ++i) {
    // Bursts, single steps, the edges of windows, and pauses that outlast everything.
    const std::size_t step = below(20);
    now += step < 5    ? 0
           : step < 8  ? 1
           : step < 15 ? static_cast<std::int64_t>(below(300))
           : step < 19 ? (std::int64_t{500} << below(3)) - 1 + static_cast<std::int64_t>(below(3))
                       : static_cast<std::int64_t>(below(40'000));
    RandomEvent event;
    event.ms = now;
    if (out_of_order_ && i != 0 && chance(50))
      event.ms -= static_cast<std::int64_t>(below(chance(30) ? 5'000 : 600));
    event.ip = pick({"203.0.113.7", "203.0.113.9", "198.51.100.1", "2001:db8::1", "2001:db8::2",
                     chance(10) ? "192.0.2.7" : "203.0.113.7"});
    const std::string url = pick({"/login", "/login", "/pay/a", "/pay/b", "/item/1?q=2", "/item/2",
                                  chance(40) ? "/captcha" : "/login", "/other"});
    event.url = url;
    event.method = url.starts_with("/item") ? (chance(5) ? "PUT" : "GET") : "POST";
    if (!chance(8)) event.user = pick({"u1", "u2", "u3"});
    if (!chance(8)) event.device = pick({"d1", "d2", "d3", chance(8) ? "d9" : "d1"});
    if (!chance(8)) event.amount = chance(4) ? "abc" : chance(4) ? "-3" : std::to_string(below(6));
    event.status = url.starts_with("/item") ? (chance(40) ? 404 : 200)
                   : chance(50)             ? 401
                                            : 200 + 300 * static_cast<int>(below(2));
    out.push_back(event);
  }
  return out;
}

std::string_view card_yaml() {
  return R"(
fields: {user: header.x_user}
events:
  login:
    match: POST /api/login
    fields: {user: body.username.lowerAscii(), device: header.x_device}
  login_failed: {is: login, when: 'status in [401, 403]'}
  login_ok: {is: login, when: status == 200}
  ad_reward:
    match: POST /api/ad/reward
    fields: {gold: int(body.gold), ocpc: body.ocpc, os: header.x_amount}
lists:
  office: {of: ip, kind: allow, entries: [10.0.0.0/8]}
  gray_users: {of: user, kind: gray}
tables:
  gold_limit:
    by: [ocpc, os]
    values:
      baidu: {android: 3000, ios: 2500}
      toutiao: {android: 2000, "*": 1800}
      "*": 1500
policies:
  - name: login-per-ip
    watch: login_failed
    key: ip
    window: 10m
    then:
      - {over: 5, do: flag}
      - {over: 10, do: graylist, for: 15m}
      - {over: 50, do: deny, for: 1h}
  - name: login-per-user
    watch: login_failed
    key: user
    window: 1h
    reset: login_ok
    then: [{over: 5, do: challenge, for: 10m}]
  - name: accounts-per-device
    watch: login
    key: device
    metric: distinct(user)
    window: 1h
    then: [{over: 3, do: graylist, for: 1h}]
  - name: gold-per-user
    watch: ad_reward
    key: user
    metric: sum(gold)
    window: {last: 30m, exact: true}
    then: [{at: gold_limit, do: graylist, list: gray_users, for: 24h}]
)";
}

std::vector<RandomEvent> card_events(std::uint64_t seed, std::size_t count, std::int64_t start) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::size_t n) { return random() % n; };
  std::vector<RandomEvent> out;
  std::int64_t now = start;
  for (std::size_t i = 0; i < count; ++i) {
    now += static_cast<std::int64_t>(below(300) == 0 ? below(900'000) : below(3'000));
    RandomEvent event;
    event.ms = now;
    event.method = "POST";
    event.ip = below(12) == 0 ? "10.1.2.3" : "203.0.113." + std::to_string(below(3));
    event.device = below(10) == 0 ? "" : "d" + std::to_string(below(4));
    if (below(3) != 0) {
      event.url = "/api/login";
      event.body = "{\"username\":\"" + std::string(below(2) == 0 ? "Bob" : "bob") +
                   std::to_string(below(6) == 0 ? below(4) : below(4'000)) + "\"}";
      event.status = below(5) == 0 ? 200 : below(2) == 0 ? 401 : 403;
    } else {
      event.url = "/api/ad/reward";
      event.user = "u" + std::to_string(below(4));
      event.amount = below(2) == 0 ? "android" : "ios";
      event.body = "{\"gold\":" + std::to_string(below(900)) + ",\"ocpc\":\"" +
                   (below(2) == 0   ? "baidu"
                    : below(2) == 0 ? "toutiao"
                                    : "other") +
                   "\"}";
    }
    out.push_back(event);
  }
  return out;
}

}  // namespace weir::app
