#include "authz/limitador_http.h"

#include <algorithm>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <limits>
#include <utility>

#include "core/chars/ascii.h"
#include "core/no_memory.h"
#include "core/number.h"
#include "core/text.h"
#include "net/http/json_reply.h"

namespace weir::authz {
namespace {

namespace json = boost::json;
using Limit = config::Server::LimitadorLimit;

// The largest number that counters hold: a larger delta is over every limit, too.
constexpr std::int64_t kDeltaMax = kExactInteger;

/// The body of a call.
struct Question {
  std::string space;
  LimitadorCounters::Values values;
  std::int64_t delta = 0;
  bool headers = false;  ///< asked for as `DraftVersion03`
};

/// Reads the body. Returns its problem; empty: none.
std::string read_question(std::string_view text, Question& out) {
  boost::system::error_code error;
  const json::value value = json::parse(text, error);
  if (error || !value.is_object()) return "the body is not a JSON object";
  const json::object& body = value.get_object();
  const json::value* const space = body.if_contains("namespace");
  const json::value* const values = body.if_contains("values");
  const json::value* const delta = body.if_contains("delta");
  if (space == nullptr || !space->is_string()) return "\"namespace\" is not text";
  if (values == nullptr || !values->is_object()) return "\"values\" is not a map of texts";
  if (delta == nullptr || !(delta->is_uint64() || (delta->is_int64() && delta->get_int64() >= 0)))
    return "\"delta\" is not a whole number from 0 to 18446744073709551615";
  out.space = space->get_string();
  out.delta = delta->is_uint64() ? kDeltaMax : std::min(delta->get_int64(), kDeltaMax);
  for (const auto& [name, one] : values->get_object()) {
    if (!one.is_string()) return "\"values\" is not a map of texts";
    out.values.emplace_back(std::string(name), std::string(one.get_string()));
  }
  std::sort(out.values.begin(), out.values.end());
  const json::value* const headers = body.if_contains("response_headers");
  if (headers != nullptr && !headers->is_null()) {
    if (!headers->is_string()) return "\"response_headers\" is not text";
    out.headers = headers->get_string() == "DraftVersion03";
  }
  return {};
}

net::HttpReply reply_with(int status, const json::value& body) {
  net::HttpReply reply = net::json_reply(body, status);
  if (reply.body.ends_with('\n')) reply.body.pop_back();  // byte for byte, as there
  return reply;
}

json::object json_of(const Limit& limit) {
  json::object out;
  const auto text_or_null = [](const std::optional<std::string>& text) {
    return text ? json::value(*text) : json::value(nullptr);
  };
  out["id"] = text_or_null(limit.id);
  out["namespace"] = limit.space;
  out["max_value"] = limit.most;
  out["seconds"] = limit.seconds;
  out["name"] = text_or_null(limit.name);
  out["conditions"] = json::array(limit.conditions.begin(), limit.conditions.end());
  out["variables"] = json::array(limit.variables.begin(), limit.variables.end());
  return out;
}

template <class Fits>
const Limit* limit_where(const config::Server::RateLimit& settings, Fits fits) {
  const auto found = std::find_if(settings.limits.begin(), settings.limits.end(), fits);
  return found == settings.limits.end() ? nullptr : &*found;
}

/// The limit that the policy counts.
const Limit* limit_of(const config::Server::RateLimit& settings, std::string_view policy) {
  return limit_where(settings, [&](const Limit& limit) { return limit.policy.value == policy; });
}

/// Null: no limit of the file that is loaded now is the counter's.
const Limit* limit_of(const config::Server::RateLimit& settings,
                      const LimitadorCounters::Counter& counter) {
  return limit_where(settings, [&](const Limit& limit) { return limit.identity == counter.limit; });
}

std::int64_t whole(const Number& number) {
  return number.is_real() ? static_cast<std::int64_t>(number.as_real()) : number.integer();
}

/// Never more than the window: the worker that noted its end may be a moment ahead of this one.
std::int64_t seconds_left(TimePoint end, const Limit& limit, TimePoint now) {
  const auto left = std::chrono::ceil<std::chrono::seconds>(end - now);
  return std::clamp<std::int64_t>(left.count(), 0, limit.seconds);
}

}  // namespace

net::HttpReply limitador_status(const LimitadorStatus& status) {
  const auto plain = [](TimePoint time) {  // without a zone: UTC
    std::string text = iso_time(time);
    if (text.ends_with('Z')) text.pop_back();
    return text;
  };
  json::object out;
  out["started_at"] = plain(status.started);
  out["config_applied_at"] = plain(status.applied);
  out["config_version"] = status.version;
  out["config_err_since"] = status.err_since;
  return reply_with(200, out);
}

net::HttpReply limitador_limits(const config::Server::RateLimit& settings, std::string_view space) {
  json::array out;
  for (const Limit& limit : settings.limits) {
    if (limit.space == space) out.push_back(json_of(limit));
  }
  return reply_with(200, out);
}

/// One call under way: several judgements after each other.
class LimitadorHttp::Active final : private RateLimitCall::Waiting {
 public:
  explicit Active(LimitadorHttp& http) : http_(http), call_(http.gate_, http.meter_) {}

  void ask(Ask what, std::string_view body, TimePoint now, Answered answered) {
    answered_ = std::move(answered);
    asked_ = what;
    limited_ = false;
    if (const std::string wrong = read_question(body, question_); !wrong.empty()) {
      http_.metrics_.add(telemetry::Metric::rate_limit_errors);
      return leave(net::problem(400, wrong));
    }
    step_ = Step::judging;
    using Mode = RateLimitCall::Mode;
    judge(what == Ask::check    ? Mode::look
          : what == Ask::report ? Mode::insist
                                : Mode::count,
          question_.delta, now);
  }

  void list(std::string space, TimePoint now, Answered answered) {
    answered_ = std::move(answered);
    listed_ = http_.counters_.of(space, now);
    step_ = Step::listing;
    if (listed_.empty()) return leave(reply_with(200, json::array()));
    question_.space = std::move(space);
    call_.begin(question_.space);
    for (const auto& counter : listed_) add(counter.values, 0);
    if (call_.judge(RateLimitCall::Mode::look, now, *this)) judged(call_, now);
  }

 private:
  enum class Step : std::uint8_t {
    judging,
    reading,  ///< which counters it was counted by
    listing,
  };

  void add(const LimitadorCounters::Values& values, std::int64_t hits) {
    call_.add().hits = hits;
    for (const auto& [name, value] : values) call_.add_entry(name, value);
  }

  void judge(RateLimitCall::Mode mode, std::int64_t hits, TimePoint now) {
    call_.begin(question_.space);
    add(question_.values, hits);
    if (call_.judge(mode, now, *this)) judged(call_, now);
  }

  void judged(RateLimitCall&, TimePoint now) override {
    if (!survives_no_memory([&] { go_on(now); }) && answered_) failed(call_);
  }
  void failed(RateLimitCall&) override {
    leave(net::problem(503, "there is no memory for the call"));
  }

  void go_on(TimePoint now) {
    switch (step_) {
      case Step::judging:
        limited_ = call_.is_over();
        if (asked_ == Ask::check_and_report) call_.meter();
        if (asked_ == Ask::check) return answer(now);
        if (asked_ == Ask::report) limited_ = false;  // it is no question
        if (limited_ && !question_.headers) return answer(now);
        step_ = Step::reading;
        return judge(RateLimitCall::Mode::look, 0, now);
      case Step::reading:
        if (!limited_) note(now);
        return answer(now);
      case Step::listing:
        return answer_list(now);
    }
  }

  void note(TimePoint now) {
    const auto& settings = http_.gate_.set().ratelimit;
    for (const auto& reading : call_.readings()) {
      const Limit* const limit = limit_of(settings, reading.policy);
      if (limit == nullptr || whole(reading.value) <= 0) continue;
      http_.counters_.note(counter_of(*limit, now), now);
    }
  }

  /// The counter of a limit for this call, with a window that begins now.
  LimitadorCounters::Counter counter_of(const Limit& limit, TimePoint now) const {
    LimitadorCounters::Counter out{question_.space,
                                   limit.identity,
                                   {},
                                   question_.values,
                                   now + std::chrono::seconds{limit.seconds}};
    for (std::size_t i = 0; i < limit.variables.size(); ++i)
      out.set.emplace_back(limit.variables[i], value_of(limit.keys[i]));
    return out;
  }

  /// The seconds until the counter's window ends; where that is not known the whole window.
  std::int64_t reset_of(const Limit& limit, TimePoint now) const {
    const LimitadorCounters::Counter counter = counter_of(limit, now);
    const TimePoint end = http_.counters_.end_of(counter, now).value_or(counter.end);
    return seconds_left(end, limit, now);
  }

  std::string value_of(std::string_view key) const {
    for (const auto& [name, value] : question_.values) {
      if (name == key) return value;
    }
    return {};
  }

  void answer(TimePoint now) {
    http_.metrics_.add(limited_ ? telemetry::Metric::rate_limit_over
                                : telemetry::Metric::rate_limit_ok);
    net::HttpReply reply = reply_with(limited_ ? 429 : 200, nullptr);
    if (limited_ && asked_ == Ask::check) {
      reply.content_type = "text/plain; charset=utf-8";
      reply.body = "Too many requests";
    }
    if (question_.headers && asked_ == Ask::check_and_report) add_headers(reply, now);
    leave(std::move(reply));
  }

  /// Adds the headers of draft-polli-03, the limit with the least left first.
  void add_headers(net::HttpReply& reply, TimePoint now) {
    struct Left {
      const Limit* limit;
      std::int64_t left;
    };
    std::vector<Left> limits;
    for (const auto& reading : call_.readings()) {
      const Limit* const limit = limit_of(http_.gate_.set().ratelimit, reading.policy);
      if (limit == nullptr) continue;
      // Reports may count more than 64 bits hold.
      const std::int64_t with =
          std::min(whole(reading.value), kDeltaMax) + (limited_ ? question_.delta : 0);
      limits.push_back({limit, std::max<std::int64_t>(0, limit->most - with)});
    }
    if (limits.empty()) return;
    std::stable_sort(limits.begin(), limits.end(),
                     [](const Left& a, const Left& b) { return a.left < b.left; });
    std::string all = std::to_string(limits.front().limit->most);
    for (const Left& one : limits) {
      all += ", " + std::to_string(one.limit->most) + ";w=" + std::to_string(one.limit->seconds);
      if (!one.limit->name) continue;
      all += ";name=\"";
      for (const char c : *one.limit->name)
        all += c == '"' ? '\'' : ascii::is_printable(c) ? c : '?';
      all += '"';
    }
    reply.fields.emplace_back("X-RateLimit-Limit", all);
    reply.fields.emplace_back("X-RateLimit-Remaining", std::to_string(limits.front().left));
    const std::int64_t reset = reset_of(*limits.front().limit, now);
    reply.fields.emplace_back("X-RateLimit-Reset", std::to_string(reset));
  }

  void answer_list(TimePoint now) {
    json::array out;
    for (std::size_t i = 0; i < listed_.size(); ++i) {
      const auto& counter = listed_[i];
      const Limit* const limit = limit_of(http_.gate_.set().ratelimit, counter);
      if (limit == nullptr) continue;
      const auto reading =
          std::find_if(call_.readings().begin(), call_.readings().end(), [&](const auto& one) {
            return one.descriptor == i && one.policy == limit->policy.value;
          });
      if (reading == call_.readings().end() || whole(reading->value) <= 0) continue;
      json::object one;
      one["limit"] = json_of(*limit);
      json::object& set = one["set_variables"].emplace_object();
      for (const auto& [name, value] : counter.set) set[name] = value;
      one["remaining"] = std::max<std::int64_t>(0, limit->most - whole(reading->value));
      one["expires_in_seconds"] = seconds_left(counter.end, *limit, now);
      out.push_back(std::move(one));
    }
    leave(reply_with(200, out));
  }

  void leave(net::HttpReply reply) {
    const Answered answered = std::exchange(answered_, nullptr);
    // A call may bring a thousand values, and a list of counters has ten thousand.
    call_.clear();
    question_ = Question();
    std::vector<LimitadorCounters::Counter>().swap(listed_);
    http_.active_.take_back(*this);
    answered(std::move(reply));
  }

  LimitadorHttp& http_;
  RateLimitCall call_;
  Question question_;
  std::vector<LimitadorCounters::Counter> listed_;
  Answered answered_;
  Ask asked_ = Ask::check;
  Step step_ = Step::judging;
  bool limited_ = false;
};

LimitadorHttp::LimitadorHttp(gate::Gate& gate, telemetry::MetricCells& metrics,
                             telemetry::RuleStats& rules, LimitadorCounters& counters)
    : gate_(gate), metrics_(metrics), meter_(rules), counters_(counters) {}
LimitadorHttp::~LimitadorHttp() = default;

void LimitadorHttp::ask(Ask what, std::string_view body, TimePoint now, Answered answered) {
  active_.lend(*this).ask(what, body, now, std::move(answered));
}

void LimitadorHttp::counters(std::string space, TimePoint now, Answered answered) {
  active_.lend(*this).list(std::move(space), now, std::move(answered));
}

}  // namespace weir::authz
