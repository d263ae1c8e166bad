#include "api/event_reader.h"

#include <algorithm>

#include "config/text/problem.h"
#include "core/kept_memory.h"
#include "core/number.h"

namespace weir::api {

using policies::SlotId;
using Kind = JsonMember::Kind;

const EventReader::Word EventReader::kWords[] = {
    {"time", &EventReader::read_time},         {"ip", &EventReader::read_ip},
    {"method", &EventReader::read_method},     {"path", &EventReader::read_path},
    {"url", &EventReader::read_url},           {"host", &EventReader::read_host},
    {"scheme", &EventReader::read_scheme},     {"query", &EventReader::read_query},
    {"header", &EventReader::read_header},     {"cookie", &EventReader::read_cookie},
    {"body", &EventReader::read_body},         {"status", &EventReader::read_status},
    {"response", &EventReader::read_response},
};

namespace {

// The most bytes that are kept of a path, or another text, of an event that has been read: a body
// of 1 MiB may be one path.
constexpr std::size_t kKeptBytes = 8 << 10;

constexpr HeaderField kJson{"content-type", "application/json"};

std::string quoted(std::string_view text) { return '"' + std::string(text.substr(0, 64)) + '"'; }

std::string_view kind_text(Kind kind) {
  switch (kind) {
    case Kind::null:
      return "null";
    case Kind::boolean:
      return "a boolean";
    case Kind::integer:
      return "an integer";
    case Kind::real:
      return "a number with a fraction";
    case Kind::text:
      return "a text";
    case Kind::object:
      return "an object";
    case Kind::array:
      return "an array";
  }
  return "";
}

/// A double that is a whole number and fits.
std::optional<std::int64_t> whole(double real) {
  constexpr double kMost = kExactInteger;
  if (real < -kMost || real > kMost) return std::nullopt;
  const auto integer = static_cast<std::int64_t>(real);
  if (static_cast<double>(integer) != real) return std::nullopt;
  return integer;
}

}  // namespace

std::optional<JsonWrong> EventReader::read(std::string_view object, const policies::PolicySet& set,
                                           TimePoint now) {
  clear(now);
  text_ = object;
  path_rules_ = set.path_rules;
  if (Wrong wrong = members_.read(object)) return wrong;
  if (const Member* const id = members_.find("request_id")) return read_settlement(*id);
  if (Wrong wrong = find_event(set)) return wrong;
  const bool columns = !set.events[record_.event].source.empty();
  for (const Member& member : members_.members()) {
    if (member.name == "event") continue;
    if (Wrong wrong = columns ? read_column(set, member) : read_member(set, member)) return wrong;
  }
  if (!columns) {
    finish_request();
    preset_what_is_not_known(set);
    record_.request = &request_;
  }
  record_.values = presets_;
  if (Wrong wrong = check_says_something()) return wrong;
  return check_status(set);
}

// weir knows the request already.
EventReader::Wrong EventReader::read_settlement(const Member& id) {
  if (id.kind != Kind::text)
    return JsonWrong{id.at, "`request_id` is the text of X-Weir-Request-Id"};
  for (const Member& member : members_.members()) {
    if (&member == &id || member.kind == Kind::null) continue;
    Wrong wrong;
    if (member.name == "status") {
      wrong = read_status(member);
    } else if (member.name == "response") {
      wrong = read_response(member);
    } else {
      wrong =
          JsonWrong{member.name_at, "only `status` and `response` are allowed beside `request_id`"};
    }
    if (wrong) return wrong;
  }
  if (answer_.status == 0)
    return JsonWrong{id.name_at, "what was answered to this request? give `status`"};
  finish_request();
  settles_ = id.text;
  return std::nullopt;
}

// A request without any member is an error: most likely a mistake of the client.
EventReader::Wrong EventReader::check_says_something() const {
  for (const Member& member : members_.members()) {
    const bool aside =
        member.name == "time" || member.name == "status" || member.name == "response";
    if (!aside && member.kind != Kind::null) return std::nullopt;
  }
  return JsonWrong{0, "give `event`, or `method` and `path`"};
}

// An event that a status decides (`is: login, when: status == 200`), reported by its own name with
// a contradicting status: one of the two is wrong. Conditions that read more than the status are
// not checked here.
EventReader::Wrong EventReader::check_status(const policies::PolicySet& set) {
  const auto status = set.slots.find("status");
  if (answer_.status == 0 || !status) return std::nullopt;
  frame_.resume(set.slots, nothing_, answer_, record_.time, nullptr);
  for (std::uint16_t index = record_.event;; index = set.events[index].parent) {
    const policies::Event& event = set.events[index];
    const bool by_status =
        event.when && std::all_of(event.when->slots().begin(), event.when->slots().end(),
                                  [&](SlotId slot) { return slot == *status; });
    if (by_status && !event.when->eval(frame_).is_true()) {
      const Member* at = members_.find("status");
      if (at == nullptr) at = members_.find("response");
      return JsonWrong{at == nullptr ? 0 : at->at, "`status` contradicts the event: " + event.name +
                                                       " is when " + event.when->canonical()};
    }
    if (event.parent == index) return std::nullopt;
  }
}

void EventReader::clear(TimePoint now) {
  whole_.reset();
  arena_.reset();
  record_ = {};
  record_.time = now;
  request_ = {};
  request_.time = now;
  request_.body_state = BodyState::complete;
  settles_.reset();
  answer_ = {};
  answer_.body_state = BodyState::complete;
  presets_.clear();
  headers_.clear();
  answer_headers_.clear();
  for (; texts_used_ != 0; --texts_used_) clear_keeping(texts_[texts_used_ - 1], kKeptBytes);
  if (path_room_.capacity() > net::normal_path_room(kKeptBytes))
    std::vector<char>().swap(path_room_);
  addresses_.clear();
  has_ip_ = has_url_ = has_query_ = json_body_ = json_answer_body_ = false;
}

EventReader::Wrong EventReader::find_event(const policies::PolicySet& set) {
  const Member* const name = members_.find("event");
  if (name == nullptr) {
    record_.event = policies::kRequestEvent;
    return std::nullopt;
  }
  if (name->kind != Kind::text) return JsonWrong{name->at, "`event` is the name of an event"};
  const auto found = std::find_if(set.events.begin(), set.events.end(),
                                  [&](const auto& event) { return event.name == name->text; });
  if (found != set.events.end()) {
    record_.event = static_cast<std::uint16_t>(found - set.events.begin());
    return std::nullopt;
  }
  std::vector<std::string_view> known;
  for (const policies::Event& event : set.events) known.push_back(event.name);
  return JsonWrong{name->at, "there is no event " + quoted(name->text) + "; " +
                                 config::suggest(name->text, known)};
}

EventReader::Wrong EventReader::read_column(const policies::PolicySet& set, const Member& member) {
  const policies::Event& event = set.events[record_.event];
  scratch_ = "column ";
  scratch_.append(event.source).append(".").append(member.name);
  std::optional<SlotId> slot = set.slots.find(scratch_);
  if (!slot) {
    // No column that a policy reads: perhaps a field that the event computes from its columns.
    const auto own = event.fields.find(member.name);
    if (own != event.fields.end()) slot = own->second;
  }
  if (slot) {
    if (Wrong wrong = preset(set, *slot, member)) return wrong;
  }
  if (member.kind == Kind::null) return std::nullopt;
  if (!event.time_column.empty()) {
    if (member.name == event.time_column) return read_record_time(event.time_unit, member);
  } else if (member.name == "time") {
    return read_time(member);
  }
  return std::nullopt;
}

EventReader::Wrong EventReader::read_member(const policies::PolicySet& set, const Member& member) {
  const policies::Event& event = set.events[record_.event];
  if (const auto own = event.fields.find(member.name); own != event.fields.end()) {
    return preset(set, own->second, member);
  }
  for (const Word& word : kWords) {
    if (word.name != member.name) continue;
    if (member.kind == Kind::null) return std::nullopt;
    return (this->*word.read)(member);
  }
  std::vector<std::string_view> known;
  for (const auto& [field, slot] : event.fields) known.push_back(field);
  for (const Word& word : kWords) known.push_back(word.name);
  return JsonWrong{member.name_at, "the event " + event.name + " has no field " +
                                       quoted(member.name) + "; " +
                                       config::suggest(member.name, known)};
}

EventReader::Wrong EventReader::preset(const policies::PolicySet& set, SlotId id,
                                       const Member& member) {
  const policies::Slot& slot = set.slots[id];
  if (slot.kind != policies::Slot::Kind::attribute && slot.kind != policies::Slot::Kind::computed &&
      slot.kind != policies::Slot::Kind::column) {
    return std::nullopt;  // `event` under another name: it has its own type
  }
  const auto wrong_type = [&](std::string_view wanted) {
    return JsonWrong{member.at, quoted(member.name) + " is " + std::string(wanted) + ", not " +
                                    std::string(kind_text(member.kind))};
  };
  if (slot.side == policies::Side::answer) {
    return JsonWrong{member.name_at,
                     quoted(member.name) + " is read of the answer: give `status` or `response`"};
  }
  Value value;
  if (member.kind == Kind::object || member.kind == Kind::array) {
    if (slot.kind != policies::Slot::Kind::column) return wrong_type("a single value");
    value = nested(member);
  } else if (member.kind != Kind::null) {
    switch (slot.type) {
      case Type::text: {
        value = Value::text(*text_of(member));
        break;
      }
      case Type::address: {
        const auto address = member.kind == Kind::text ? Address::parse(member.text) : std::nullopt;
        if (!address) return wrong_type("an IP address");
        value = Value::address(&addresses_.emplace_back(*address));
        break;
      }
      case Type::boolean:
        if (member.kind != Kind::boolean) return wrong_type("a boolean");
        value = Value::boolean(member.boolean);
        break;
      case Type::integer: {
        const auto integer = member.kind == Kind::integer ? std::optional(member.integer)
                             : member.kind == Kind::real  ? whole(member.real)
                                                          : std::nullopt;
        if (!integer) return wrong_type("an integer");
        value = Value::integer(*integer);
        break;
      }
      case Type::real:
        if (member.kind != Kind::real && member.kind != Kind::integer)
          return wrong_type("a number");
        value = Value::real(member.kind == Kind::real ? member.real
                                                      : static_cast<double>(member.integer));
        break;
      default:
        value = member.kind == Kind::boolean   ? Value::boolean(member.boolean)
                : member.kind == Kind::integer ? Value::integer(member.integer)
                : member.kind == Kind::real    ? Value::real(member.real)
                                               : Value::text(member.text);
    }
  }
  std::erase_if(presets_, [&](const policies::Preset& other) { return other.slot == id; });
  presets_.push_back({id, value});
  return std::nullopt;
}

// A list or map in a record: expressions look into it, and it cannot be part of a key, as with a
// record in a file.
Value EventReader::nested(const Member& member) {
  const policies::PathStep name{std::string(member.name), 0, false};
  return whole_.find(arena_, BodyState::complete, text_, {&kJson, 1}, {&name, 1}).value;
}

// A word that the event does not give is unknown: null, not the empty text of the request that was
// made of the event.
void EventReader::preset_what_is_not_known(const policies::PolicySet& set) {
  const auto unknown = [&](std::string_view word, bool given) {
    if (given) return;
    const auto slot = set.slots.find(word);
    if (!slot) return;
    const bool preset = std::any_of(presets_.begin(), presets_.end(),
                                    [&](const auto& other) { return other.slot == *slot; });
    if (!preset) presets_.push_back({*slot, Value::null()});
  };
  unknown("ip", has_ip_);
  unknown("method", !request_.method.empty());
  unknown("path", !request_.path.empty());
  unknown("url", !request_.target.empty());
  unknown("host", !request_.host.empty());
  unknown("scheme", !request_.scheme.empty());
}

std::string_view EventReader::keep(std::string_view text) {
  if (texts_used_ == texts_.size()) texts_.emplace_back();
  std::string& kept = texts_[texts_used_++];
  kept.assign(text);
  return kept;
}

std::optional<std::string_view> EventReader::text_of(const Member& member) {
  char digits[32];
  switch (member.kind) {
    case Kind::text:
      return member.text;
    case Kind::boolean:
      return member.boolean ? "true" : "false";
    case Kind::integer:
      return keep({digits, Number(member.integer).to_chars(digits)});
    case Kind::real:
      return keep({digits, Number::real(member.real).to_chars(digits)});
    default:
      return std::nullopt;
  }
}

}  // namespace weir::api
