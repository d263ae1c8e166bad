#include "store/redis/codec.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "core/chars/parse.h"
#include "core/number.h"
#include "limiter/kinds/amounts.h"
#include "store/redis/near_reading.h"
#include "store/redis/packer.h"
#include "store/redis/parameters.h"
#include "store/redis/pattern_codec.h"
#include "store/redis/scripts.h"
#include "store/resp/resp_writer.h"

namespace weir::store {
namespace {

using limiter::Datum;
using limiter::SharedError;
using limiter::SharedForm;
using limiter::SharedOp;
using limiter::SharedPart;
using limiter::SharedReading;
using limiter::SharedReply;
using limiter::SharedVerb;
using limiter::Window;

constexpr double kMost = kExactInteger;
constexpr std::int64_t kFlightsMax = 10'000;

bool has_real_amounts(const limiter::CounterSpec& spec) noexcept { return spec.real; }

void append_edges(Packer& pack, const limiter::CounterSpec& spec, TimePoint wall) {
  const TimeZone::Span here = spec.zone->span(spec.unit, wall);
  pack.ms(spec.zone->span(spec.unit, here.begin - milliseconds(1)).begin);
  pack.ms(here.begin);
  pack.ms(here.end);
  pack.ms(spec.zone->span(spec.unit, here.end).end);
}

void append_datum(Packer& pack, const Datum* datum) {
  if (datum == nullptr || datum->type == Datum::Type::none) return;
  if (datum->type == Datum::Type::text && datum->text.size() > Datum::kTextMax) return;
  switch (datum->type) {
    case Datum::Type::boolean:
      pack.byte('b');
      pack.byte(datum->boolean ? 1 : 0);
      break;
    case Datum::Type::number:
      pack.byte(datum->number.is_real() ? 'r' : 'i');
      pack.bits(datum->number.is_real() ? std::bit_cast<std::uint64_t>(datum->number.as_real())
                                        : static_cast<std::uint64_t>(datum->number.integer()));
      break;
    case Datum::Type::text:
      pack.byte('t');
      pack.out += datum->text;
      break;
    case Datum::Type::none:
      break;
  }
}

bool read_datum(std::string_view bytes, SharedReply& reply) {
  Datum& datum = reply.datum;
  datum = Datum{};
  if (bytes.empty()) return false;
  const std::string_view rest = bytes.substr(1);
  std::uint64_t bits = 0;
  if (rest.size() == sizeof bits) std::memcpy(&bits, rest.data(), sizeof bits);
  switch (bytes[0]) {
    case 'b':
      datum.type = Datum::Type::boolean;
      datum.boolean = rest == "\1";
      return rest.size() == 1;
    case 'i':
      datum.type = Datum::Type::number;
      datum.number = Number(static_cast<std::int64_t>(bits));
      return rest.size() == sizeof bits;
    case 'r':
      datum.type = Datum::Type::number;
      datum.number = Number::real(std::bit_cast<double>(bits));
      return rest.size() == sizeof bits;
    case 't':
      datum.type = Datum::Type::text;
      reply.text = rest;
      datum.text = reply.text;
      return rest.size() <= Datum::kTextMax;
    default:
      return false;
  }
}

/// A number of an answer: an integer, or a double as text.
bool read_number(const Reply& answer, std::size_t at, bool real, Number& out) {
  if (at >= answer.size()) return false;
  const Reply::Node& node = answer[at];
  if (node.type == Reply::Type::integer) {
    out = real ? Number::real(static_cast<double>(node.integer)) : Number(node.integer);
    return true;
  }
  if (node.type != Reply::Type::string) return false;
  const auto value = parse_whole<double>(answer.text(node));
  if (!value) return false;
  out = Number::real(*value);
  return true;
}

bool is_nil(const Reply& answer, std::size_t at) {
  return at < answer.size() && answer[at].type == Reply::Type::nil;
}

/// Reads the reply of one cell, which near_reading.h interprets: the value's text, then the settled
/// value's.
bool read_cell(const Reply& answer, std::size_t& at, const SharedOp& op, const SharedPart& part,
               SharedReply& reply) {
  const auto text = [&](std::size_t i) {
    const bool there = i < answer.size() && answer[i].type == Reply::Type::string;
    return there ? answer.text(answer[i]) : std::string_view{};
  };
  reply.text.clear();
  append_cell(reply.text, text(at), has_outcomes(part) ? text(at + 1) : text(at));
  limiter::Reading& reading = reply.parts[0].reading;
  if (text(at++).empty()) return false;
  if (has_outcomes(part)) {
    Number open;
    if (text(at).empty() || !read_number(answer, at + 1, false, open)) return false;
    reading.in_flight = static_cast<std::uint32_t>(std::clamp(open.as_real(), 0.0, 4e9));
    at += 2;
  }
  if (op.verb == SharedVerb::add) ++at;
  return true;
}

bool read_part(const Reply& answer, std::size_t& at, const SharedOp& op, const SharedPart& part,
               SharedReading& out, SharedReply& reply) {
  const limiter::CounterSpec& spec = part.counter->spec;
  limiter::Reading& reading = out.reading;
  reading = {};
  out.undo = 0;
  const bool real =
      spec.metric == Metric::average || (has_real_amounts(spec) && takes_amount(spec.metric));
  if (part.counter->grid) return read_cell(answer, at, op, part, reply);
  reading.has_value = !is_nil(answer, at);
  if (spec.metric == Metric::last) {
    if (at >= answer.size()) return false;
    if (reading.has_value) {
      if (answer[at].type != Reply::Type::string || !read_datum(answer.text(answer[at]), reply)) {
        return false;
      }
      reading.datum = &reply.datum;
      if (reply.datum.type == Datum::Type::number) reading.value = reply.datum.number;
    }
  } else if (reading.has_value && !read_number(answer, at, real, reading.value)) {
    return false;
  }
  ++at;
  reading.settled = reading.value;
  if (has_outcomes(part)) {
    Number open;
    if (spec.metric != Metric::last && !is_nil(answer, at) &&
        !read_number(answer, at, real, reading.settled)) {
      return false;
    }
    if (!read_number(answer, at + 1, false, open)) return false;
    reading.in_flight = static_cast<std::uint32_t>(std::clamp(open.as_real(), 0.0, 4e9));
    at += 2;
  }
  if (spec.metric == Metric::in_flight) {
    const Number own =
        op.verb == SharedVerb::add || op.verb == SharedVerb::reserve || op.verb == SharedVerb::look
            ? Number(std::int64_t{limiter::count_of(op.event)})
            : Number(0);
    reading.in_flight =
        static_cast<std::uint32_t>(std::clamp((reading.value - own).as_real(), 0.0, 4e9));
  }
  const bool says_when = part.counter->form == SharedForm::fixed &&
                         spec.window == Window::every_first && op.verb == SharedVerb::read;
  if (op.verb == SharedVerb::add || says_when) {
    Number undo;
    if (!read_number(answer, at++, true, undo)) return false;
    out.undo = undo.as_real();
  }
  out.began = {};
  if (spec.window == Window::every_first && part.counter->form == SharedForm::fixed)
    out.began = from_ms(static_cast<std::int64_t>(std::clamp(out.undo, 0.0, kMost)));
  return true;
}

struct Word {
  std::string_view code;
  SharedError error;
};
constexpr Word kWords[] = {
    {"NOSCRIPT", SharedError::no_script},
    {"MOVED", SharedError::moved},
    {"ASK", SharedError::moved},
    {"TRYAGAIN", SharedError::busy},
    {"LOADING", SharedError::loading},
    {"BUSY", SharedError::busy},
    {"READONLY", SharedError::read_only},
    {"NOREPLICAS", SharedError::read_only},
    {"CLUSTERDOWN", SharedError::cluster_down},
    {"MASTERDOWN", SharedError::cluster_down},
    {"OOM", SharedError::out_of_memory},
    {"MISCONF", SharedError::misconfigured},
    {"NOAUTH", SharedError::denied},
    {"WRONGPASS", SharedError::denied},
    {"NOPERM", SharedError::denied},
    {"WRONGTYPE", SharedError::wrong_type},
};

}  // namespace

bool has_outcomes(const SharedPart& part) noexcept {
  return part.counter->spec.outcome && part.counter->spec.metric != Metric::in_flight;
}

double amount_of(const SharedOp& op) noexcept {
  const limiter::CounterSpec& spec = op.parts.front().counter->spec;
  const Takes takes = row_of(spec.metric).takes;
  if (takes == Takes::nothing) return limiter::count_of(op.event);
  if (takes != Takes::amount) return 1;
  if (has_real_amounts(spec)) return op.event.amount.as_real();
  return std::clamp(static_cast<double>(limiter::integer_of(op.event.amount)), -kMost, kMost);
}

/// Totals stop at 2^53, below which every integer limit is exact.
double limit_of(const SharedPart& part) noexcept {
  if (!part.ceiling) return std::numeric_limits<double>::infinity();
  return part.ceiling->limit.as_real();
}

void append_part(Packer& pack, const SharedPart& part, bool take_back, TimePoint wall) {
  const limiter::CounterSpec& spec = part.counter->spec;
  const SharedForm form = part.counter->form;
  const bool times = form == SharedForm::log && !part.counter->remembers;
  pack.byte(times ? kTimesForm : static_cast<unsigned>(form));
  pack.byte((part.ceiling && part.ceiling->inclusive ? 1U : 0U) |
            (has_real_amounts(spec) ? 2U : 0U) | (has_outcomes(part) ? 4U : 0U) |
            (part.counter->remembers ? 0U : 8U));
  pack.byte(static_cast<unsigned>(spec.metric));
  pack.byte(static_cast<unsigned>(spec.window));
  pack.real(take_back ? part.undo : limit_of(part));
  const bool has_edges = spec.window == Window::calendar;
  if (has_edges) append_edges(pack, spec, wall);
  const std::span<const Parameter> own = parameters_of(form);
  for (std::size_t i = has_edges ? kEdges.size() : 0; i < kParameters; ++i)
    pack.real(i < own.size() && own[i].of != nullptr ? own[i].of(part) : 0);
}

bool can_send(const SharedOp& op) noexcept {
  if (op.pattern != nullptr) return can_send_pattern(op);
  if (op.parts.empty() || op.parts.size() > SharedOp::kPartsMax) return false;
  if (op.verb > SharedVerb::take_back) return false;
  for (const SharedPart& part : op.parts) {
    if (part.counter == nullptr || part.counter->kind == nullptr) return false;
    // A reply has room for the answer to one of them, and their cells differ.
    if (part.counter->kind->near && op.parts.size() != 1) return false;
  }
  if (op.verb == SharedVerb::read || op.verb == SharedVerb::reset) return true;
  const limiter::CounterSpec& spec = op.parts.front().counter->spec;
  if (!op.event.amount.is_finite()) return false;
  if (spec.metric == Metric::count || spec.window == Window::leaky) {
    if (op.event.amount.is_negative()) return false;
  }
  // Each of those is a member of a set, a gauge is one however much it is.
  return op.parts.front().counter->form != SharedForm::flights ||
         op.event.amount <= Number(kFlightsMax);
}

bool counts_once(const SharedOp& op) noexcept {
  return op.verb != SharedVerb::add ||
         std::all_of(op.parts.begin(), op.parts.end(),
                     [](const SharedPart& part) { return part.counter->remembers; });
}

void append_key(std::string& out, const SharedPart& part, std::string_view key,
                std::string_view tail) {
  if (part.counter->form == SharedForm::decimal) return append_bulk(out, key);
  const std::string& name = part.counter->name;
  append_count(out, '$', 8 + name.size() + key.size() + tail.size());
  out += "weir:";
  out += name;
  out += ":{";
  out += key;
  out += '}';
  out += tail;
  out += "\r\n";
}

unsigned append_keys(std::string& out, const SharedOp& op) {
  if (op.pattern != nullptr) return append_pattern_keys(out, op);
  unsigned n = 0;
  for (const SharedPart& part : op.parts) {
    append_key(out, part, op.key);
    ++n;
    if (!has_outcomes(part)) continue;
    append_key(out, part, op.key, ":r");
    ++n;
  }
  return n;
}

void append_argument(std::string& out, const SharedOp& op, bool retry, Now now) {
  if (op.pattern != nullptr) return append_pattern_argument(out, op, retry, now);
  constexpr std::size_t kHead = 55, kPart = 12 + 8 * kParameters;
  const Metric metric = op.parts.front().counter->spec.metric;
  // The length comes first: only the datum varies in size, so it is packed first.
  thread_local std::string datum;
  datum.clear();
  if (metric == Metric::last) {
    Packer pack{datum};
    append_datum(pack, op.event.datum);
  } else if (const auto& grid = op.parts.front().counter->grid) {
    Packer pack{datum};
    const limiter::UnitVector at = limiter::UnitVector::of(op.place);
    for (const double v : {at.x, at.y, at.z, grid->reach()}) pack.real(v);
  }
  append_count(out, '$', kHead + kPart * op.parts.size() + datum.size());
  Packer pack{out};
  pack.byte(static_cast<unsigned>(op.verb));
  pack.byte(static_cast<unsigned>(op.parts.size()));
  pack.byte(retry ? 1 : 0);
  pack.high_first(op.id.origin, 6);
  pack.high_first(op.id.sequence, 6);
  pack.real(amount_of(op));
  pack.real(op.now ? static_cast<double>(to_ms(*op.now)) : -1.0);
  pack.ms(op.at);
  pack.real(static_cast<double>(op.lifetime.count()));
  pack.bits(op.event.member);
  for (const SharedPart& part : op.parts) {
    append_part(pack, part, op.verb == SharedVerb::take_back, op.now.value_or(now.wall));
  }
  out += datum;
  out += "\r\n";
}

unsigned answer_width(const SharedOp& op) noexcept {
  if (op.pattern != nullptr) return 2;
  unsigned width = 1;
  for (const SharedPart& part : op.parts) {
    width += 1 + (has_outcomes(part) ? 2U : 0U) + (op.verb == SharedVerb::add ? 1U : 0U);
  }
  return width;
}

std::size_t skip_answer(const Reply& answer, std::size_t at, unsigned width) noexcept {
  if (at >= answer.size()) return at;
  return at + (answer[at].integer == -1 ? 2 : width);
}

bool read_answer(const Reply& answer, std::size_t& at, const SharedOp& op, SharedReply& reply) {
  if (at >= answer.size() || answer[at].type != Reply::Type::integer) return false;
  const std::int64_t flag = answer[at++].integer;
  if (flag == -1) {
    if (at >= answer.size()) return false;
    reply.error = error_of(answer.text(answer[at++]));
    return true;
  }
  if (flag != 0 && flag != 1) return false;
  reply.error = SharedError::none;
  reply.admitted = flag == 1;
  if (op.pattern != nullptr) {
    return at < answer.size() && answer[at].type == Reply::Type::string &&
           read_pattern_answer(answer.text(answer[at++]), reply.pattern);
  }
  for (std::size_t i = 0; i < op.parts.size(); ++i) {
    if (!read_part(answer, at, op, op.parts[i], reply.parts[i], reply)) return false;
    reply.parts[i].reading.stored = reply.admitted && op.verb != SharedVerb::read;
    reply.parts[i].reading.refused = !reply.admitted;
  }
  return true;
}

SharedError error_of(std::string_view text) noexcept {
  // Redis 6 puts "@user_script: 12: -" or more before what a script hands on.
  const bool handed_on = text.starts_with('@') || text.starts_with("ERR Error running") ||
                         text.starts_with("user_script");
  for (const Word& word : kWords) {
    const std::size_t at = handed_on ? text.find(word.code) : 0;
    if (at == text.npos || !text.substr(at).starts_with(word.code)) continue;
    const std::size_t end = at + word.code.size();
    if (end == text.size() || text[end] == ' ') return word.error;
  }
  if (text.starts_with("ERR Function not found")) return SharedError::no_script;
  // A renamed or forbidden command, a password where none is set.
  if (text.starts_with("ERR unknown command") || text.find("AUTH") != text.npos ||
      text.find("Unknown Redis command") != text.npos ||
      text.find("can't run this command") != text.npos ||
      text.find("ACL failure in script") != text.npos) {
    return SharedError::denied;
  }
  return SharedError::refused;
}

}  // namespace weir::store
