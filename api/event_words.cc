#include <algorithm>
#include <charconv>

#include "api/event_reader.h"
#include "config/text/units.h"
#include "core/chars/ascii.h"
#include "core/chars/method.h"
#include "core/chars/percent.h"
#include "core/chars/token.h"
#include "core/http_status.h"
#include "core/time_pattern.h"
#include "net/http/fields.h"
#include "net/http/head.h"
#include "net/http/target.h"
#include "net/http/uri.h"

/// The built-in words of an event, from which a request and its answer are made.
namespace weir::api {

using Kind = JsonMember::Kind;

namespace {

constexpr std::int64_t kLastMillisecond = 253'402'300'799'999;  // of the year 9999

constexpr const char* kBadQuery = "the query has a blank, a control character or a fragment";

JsonWrong wrong(const JsonMember& member, std::string what) { return {member.at, std::move(what)}; }

}  // namespace

EventReader::Wrong EventReader::read_time(const Member& member) {
  if (member.kind == Kind::integer) {
    record_.time = from_ms(std::clamp(member.integer, std::int64_t{-1}, kLastMillisecond + 1));
  } else if (member.kind == Kind::text) {
    const auto parsed = config::parse_date(member.text);
    if (!parsed) return wrong(member, "`time`: " + parsed.message);
    record_.time = *parsed.value;
  } else {
    return wrong(member, "`time` is Unix milliseconds, or RFC 3339 as a text");
  }
  if (record_.time < TimePoint{} || record_.time > from_ms(kLastMillisecond)) {
    return wrong(member, "`time` is between 1970 and the year 9999, in UTC");
  }
  request_.time = record_.time;
  return std::nullopt;
}

EventReader::Wrong EventReader::read_record_time(std::optional<EpochUnit> unit,
                                                 const Member& member) {
  // A pattern is for the lines of files; here such a time is RFC 3339.
  if (!unit) return read_time(member);
  std::optional<TimePoint> time;
  if (member.kind == Kind::integer) {
    time = epoch_time(member.integer, *unit);
  } else if (member.kind == Kind::real) {
    time = epoch_time(Number::real(member.real), *unit);
  } else {
    const auto number = member.kind == Kind::text ? config::parse_data_number(member.text)
                                                  : config::Parsed<Number>{};
    if (!number)
      return wrong(member,
                   "the time of this event is a number of " + std::string(row_of(*unit).noun));
    time = epoch_time(*number.value, *unit);
  }
  if (!time) return wrong(member, "the time of an event is between 1970 and the year 9999");
  record_.time = *time;
  return std::nullopt;
}

EventReader::Wrong EventReader::read_ip(const Member& member) {
  const auto address = member.kind == Kind::text ? Address::parse(member.text) : std::nullopt;
  if (!address) return wrong(member, "`ip` is not an IP address");
  request_.client = *address;
  has_ip_ = true;
  return std::nullopt;
}

EventReader::Wrong EventReader::read_method(const Member& member) {
  if (member.kind != Kind::text) return wrong(member, "`method` is not an HTTP method");
  if (std::any_of(member.text.begin(), member.text.end(), ascii::is_lower))
    return wrong(member, "a method is written in capitals; the proxy answers others with 400");
  if (!is_method(member.text)) return wrong(member, "`method` is not an HTTP method");
  request_.method = member.text;
  return std::nullopt;
}

EventReader::Wrong EventReader::normalise(std::string_view path, const Member& member) {
  if (!path.starts_with('/') || net::lacks_escapes(path)) {
    return wrong(member, "a path begins with `/` and has no blank, control character or fragment");
  }
  path_room_.resize(net::normal_path_room(path.size()));
  if (net::normalise_target(path, path_rules_, path_room_, normal_) != net::HttpRefusal::none) {
    return wrong(member, "the proxy refuses this path with 400: it has a broken escape, or %00");
  }
  request_.path = normal_.path;
  request_.cased_path = normal_.cased_path;
  request_.readings = normal_.is_plain() ? nullptr : &normal_;
  return std::nullopt;
}

EventReader::Wrong EventReader::read_path(const Member& member) {
  if (has_url_) return wrong(member, "give `path` or `url`, not both");
  if (member.kind != Kind::text) return wrong(member, "`path` is a text");
  if (member.text.find('?') != std::string_view::npos) {
    return wrong(member, "`path` has no query: give `url`, or `query` besides");
  }
  return normalise(member.text, member);
}

EventReader::Wrong EventReader::read_url(const Member& member) {
  if (!request_.path.empty()) return wrong(member, "give `path` or `url`, not both");
  if (member.kind != Kind::text) return wrong(member, "`url` is a text");
  std::string_view url = member.text;
  for (const std::string_view scheme : {"http", "https"}) {
    if (!url.starts_with(scheme) || !url.substr(scheme.size()).starts_with("://")) continue;
    url.remove_prefix(scheme.size() + 3);
    const std::size_t end = std::min(url.find_first_of("/?"), url.size());
    const auto host = net::host_word_of(url.substr(0, end));
    if (!host) return wrong(member, "the host of `url` is neither HOST nor HOST:PORT");
    if (request_.scheme.empty()) request_.scheme = scheme;
    if (request_.host.empty()) request_.host = keep(*host);
    url.remove_prefix(end);
    if (!url.starts_with('/')) url = keep("/" + std::string(url));
    break;
  }
  const std::size_t question = url.find('?');
  if (question != std::string_view::npos) {
    const std::string_view query = url.substr(question + 1);
    if (has_query_) return wrong(member, "the query is given twice");
    if (net::lacks_escapes(query)) return wrong(member, kBadQuery);
    request_.query = query;
    has_query_ = true;
  }
  has_url_ = true;
  const Wrong bad = normalise(url, member);
  if (!bad) request_.target = normal_.target;
  return bad;
}

EventReader::Wrong EventReader::read_host(const Member& member) {
  const auto host = member.kind == Kind::text ? net::host_word_of(member.text) : std::nullopt;
  if (!host) return wrong(member, "`host` is neither HOST nor HOST:PORT");
  request_.host = keep(*host);
  return std::nullopt;
}

EventReader::Wrong EventReader::read_scheme(const Member& member) {
  if (member.kind != Kind::text || (member.text != "http" && member.text != "https")) {
    return wrong(member, "`scheme` is \"http\" or \"https\"");
  }
  request_.scheme = member.text;
  return std::nullopt;
}

EventReader::Wrong EventReader::read_query(const Member& member) {
  if (has_query_) return wrong(member, "the query is given twice");
  has_query_ = true;
  if (member.kind == Kind::text) {
    std::string_view query = member.text;
    if (query.starts_with('?')) query.remove_prefix(1);
    if (net::lacks_escapes(query)) return wrong(member, kBadQuery);
    request_.query = query;
    return std::nullopt;
  }
  if (member.kind != Kind::object)
    return wrong(member, "`query` is an object, or a text as in a URL");
  if (Wrong bad = innermost_.read(member.text, member.at)) return bad;
  scratch_.clear();
  for (const Member& parameter : innermost_.members()) {
    if (parameter.kind == Kind::null) continue;
    const auto text = text_of(parameter);
    if (!text) return wrong(parameter, "a parameter is a text, a number or a boolean");
    if (!scratch_.empty()) scratch_.push_back('&');
    append_percent_encoded(scratch_, parameter.name);
    scratch_.push_back('=');
    append_percent_encoded(scratch_, *text);
  }
  request_.query = keep(scratch_);
  return std::nullopt;
}

EventReader::Wrong EventReader::add_header(const Member& name, const Member& value,
                                           std::vector<HeaderField>& out) {
  const auto text = text_of(value);
  if (!text) return wrong(value, "a header's value is a text, a number or a boolean");
  if (ascii::has_control_but_tab(*text))
    return wrong(value, "a header's value has no control characters");
  if (out.size() == net::FieldList::kMax) return wrong(value, "too many headers");
  std::string spelt(name.name);
  std::replace(spelt.begin(), spelt.end(), '_', '-');
  const std::string_view kept = keep(spelt);
  out.push_back({kept, keep(*text)});
  return std::nullopt;
}

EventReader::Wrong EventReader::read_headers(const Member& member, std::vector<HeaderField>& out) {
  if (member.kind != Kind::object)
    return wrong(member, "`header` is an object of names and values");
  if (Wrong bad = innermost_.read(member.text, member.at)) return bad;
  for (const Member& header : innermost_.members()) {
    if (!is_token(header.name)) {
      return JsonWrong{header.name_at, "this is not a header name"};
    }
    if (header.kind == Kind::null) continue;
    if (Wrong bad = add_header(header, header, out)) return bad;
  }
  return std::nullopt;
}

EventReader::Wrong EventReader::read_header(const Member& member) {
  return read_headers(member, headers_);
}

EventReader::Wrong EventReader::read_cookie(const Member& member) {
  if (member.kind != Kind::object)
    return wrong(member, "`cookie` is an object of names and values");
  if (Wrong bad = innermost_.read(member.text, member.at)) return bad;
  scratch_.clear();
  for (const Member& cookie : innermost_.members()) {
    if (cookie.kind == Kind::null) continue;
    const auto text = text_of(cookie);
    if (!text || text->find(';') != std::string_view::npos || ascii::has_control_but_tab(*text)) {
      return wrong(cookie, "a cookie's value is a text without `;`, a number or a boolean");
    }
    if (!is_token(cookie.name)) return JsonWrong{cookie.name_at, "this is not a cookie name"};
    if (!scratch_.empty()) scratch_.append("; ");
    scratch_.append(cookie.name).append("=").append(*text);
  }
  if (!scratch_.empty()) headers_.push_back({"cookie", keep(scratch_)});
  return std::nullopt;
}

void EventReader::take_body(const Member& member, bool& json, BodyState& state,
                            std::string_view& body) {
  state = BodyState::complete;
  json = member.kind != Kind::text;
  if (member.kind == Kind::text) {
    body = keep(member.text);
    return;
  }
  body = member.kind == Kind::object || member.kind == Kind::array ? member.text : *text_of(member);
}

EventReader::Wrong EventReader::read_body(const Member& member) {
  take_body(member, json_body_, request_.body_state, request_.body);
  return std::nullopt;
}

EventReader::Wrong EventReader::read_status(const Member& member) {
  if (answer_.status != 0) return wrong(member, "the status is given twice");
  if (member.kind != Kind::integer || member.integer < 100 || member.integer > 599) {
    return wrong(member, "`status` is an integer between 100 and 599");
  }
  answer_.status = static_cast<int>(member.integer);
  return std::nullopt;
}

EventReader::Wrong EventReader::read_response(const Member& member) {
  if (member.kind != Kind::object) {
    return wrong(member, "`response` is an object: status, header, body");
  }
  if (Wrong bad = inner_.read(member.text, member.at)) return bad;
  for (const Member& part : inner_.members()) {
    Wrong bad;
    if (part.kind == Kind::null) continue;
    if (part.name == "status") {
      bad = read_status(part);
    } else if (part.name == "header") {
      bad = read_headers(part, answer_headers_);
    } else if (part.name == "body") {
      take_body(part, json_answer_body_, answer_.body_state, answer_.body);
    } else {
      bad = JsonWrong{part.name_at, "`response` has status, header and body"};
    }
    if (bad) return bad;
  }
  return std::nullopt;
}

// Called last, after all members are read.
void EventReader::finish_request() {
  if (!request_.path.empty() && request_.target.empty()) {
    scratch_.assign(request_.path);
    if (!request_.query.empty()) scratch_.append("?").append(request_.query);
    request_.target = keep(scratch_);
  }
  // A body that is not given as a text is JSON, unless a header says otherwise.
  const auto settle_type = [](std::vector<HeaderField>& headers, bool json) {
    const bool typed = std::any_of(headers.begin(), headers.end(), [](const HeaderField& field) {
      return net::same_ignoring_case(field.name, "content-type");
    });
    if (json && !typed) headers.push_back({"content-type", "application/json"});
  };
  settle_type(headers_, json_body_);
  settle_type(answer_headers_, json_answer_body_);
  if (request_.host.empty()) {
    const auto field = std::find_if(headers_.begin(), headers_.end(), [](const HeaderField& one) {
      return net::same_ignoring_case(one.name, "host");
    });
    // An app may report the headers as its client sent them. Refusing the event would let a client
    // with a Host such as `a..b` go uncounted, so that the event has no host then.
    const auto host = field != headers_.end() ? net::host_word_of(field->value) : std::nullopt;
    if (host) request_.host = keep(*host);
  }
  request_.headers = headers_;
  answer_.headers = answer_headers_;
  mark_partial(answer_, request_.method == "HEAD");
}

}  // namespace weir::api
