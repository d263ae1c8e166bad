#include "gate/recorder.h"

#include <algorithm>
#include <cstring>

#include "core/text.h"

namespace weir::gate {
namespace {

using telemetry::Metric;

/// One bit that depends on the first `bits` bits of the address alone.
unsigned bit_after(const std::array<std::uint8_t, 16>& address, unsigned bits,
                   const HashSecret& secret) noexcept {
  std::array<char, 18> input{'b', static_cast<char>(bits)};
  for (unsigned i = 0; i < bits; i += 8) {
    const unsigned kept = std::min(8U, bits - i);
    const auto mask = static_cast<std::uint8_t>(0xff00U >> kept);
    input[2 + i / 8] = static_cast<char>(address[i / 8] & mask);
  }
  return static_cast<unsigned>(secret.hash({input.data(), input.size()}).lo & 1U);
}

std::array<std::uint8_t, 8> low_half(const std::array<std::uint8_t, 16>& address,
                                     const HashSecret& secret) noexcept {
  std::array<char, 17> input{'l'};
  std::memcpy(input.data() + 1, address.data(), address.size());
  const std::uint64_t hash = secret.hash({input.data(), input.size()}).lo;
  std::array<std::uint8_t, 8> out{};
  std::memcpy(out.data(), &hash, out.size());
  return out;
}

/// An app may tell of a request and not of its caller.
bool knows_client(const policies::PolicySet& set, const policies::Record* record) {
  if (record == nullptr) return true;
  const auto ip = set.slots.find("ip");
  return std::none_of(record->values.begin(), record->values.end(), [&](const auto& preset) {
    return preset.slot == ip && preset.value.is_null();
  });
}

}  // namespace

Address pseudonym(const Address& address, const HashSecret& secret) noexcept {
  const auto& from = address.bytes();
  std::array<std::uint8_t, 16> to = from;
  const unsigned first = address.is_v4() ? 96 : 0;
  const unsigned last = address.is_v4() ? 128 : 64;
  for (unsigned bit = first; bit < last; ++bit) {
    const unsigned flip = bit_after(from, bit, secret) << (7 - bit % 8);
    to[bit / 8] = static_cast<std::uint8_t>(to[bit / 8] ^ flip);
  }
  if (address.is_v4()) {
    return Address::v4(static_cast<std::uint32_t>(to[12]) << 24 |
                       static_cast<std::uint32_t>(to[13]) << 16 |
                       static_cast<std::uint32_t>(to[14]) << 8 | to[15]);
  }
  const auto low = low_half(from, secret);
  std::copy(low.begin(), low.end(), to.begin() + 8);
  return Address::v6(to);
}

void append_hashed(std::string& out, std::string_view canonical, const HashSecret& secret) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  Hash128 hash = secret.hash(canonical);
  out += '#';
  for (int i = 0; i < 16; ++i) {
    out += kDigits[hash.lo & 63U];
    hash.lo = hash.lo >> 6 | hash.hi << 58;
    hash.hi >>= 6;
  }
}

Recorder::Recorder(Settings settings, telemetry::MetricCells& metrics)
    : settings_(std::move(settings)), metrics_(metrics) {
  queue_.reserve(settings_.queue);
}

void Recorder::use(const policies::PolicySet& set) {
  fields_ = std::make_shared<const policies::RecordedFields>(
      policies::recorded_fields(set, settings_.subject));
}

bool Recorder::sampled(policies::Evaluator& evaluator, const Request* request) {
  if (settings_.sample >= 1) return true;
  canonical_ = "s";
  const policies::Plan& plan = evaluator.plan();
  bool found = false;
  const auto look_at = [&](policies::EventIndex event) {
    const auto& slot = fields_->subject[event];
    found = found || (slot && append_canonical(canonical_, evaluator.value(*slot)));
  };
  // What a named event calls so goes before what every request does.
  for (const auto* events : {&plan.events, &plan.open_events}) {
    for (const policies::EventIndex event : *events) {
      if (event != policies::kRequestEvent) look_at(event);
    }
  }
  if (request != nullptr) look_at(policies::kRequestEvent);
  if (!found && request != nullptr) {
    const Address network = request->client.masked(32, 64);
    canonical_.append(reinterpret_cast<const char*>(network.bytes().data()), 16);
  }
  const auto hash = static_cast<double>(settings_.secret.hash(canonical_).lo);
  return hash < settings_.sample * 0x1p64;
}

void Recorder::append_value(std::string& out, const Value& value) {
  if (value.is(Type::boolean)) {
    out += value.as_boolean() ? "true" : "false";
  } else if (value.is_number()) {
    char digits[32];
    const std::size_t size = value.as_number().to_chars(digits);
    out.append(digits, size);
    // A double stays one: `3` would come back as an integer.
    const std::string_view text(digits, size);
    if (value.is(Type::real) && text.find_first_of(".e") == std::string_view::npos) out += ".0";
  } else {
    append_json(out, value.as_text());
  }
}

bool Recorder::append_field(const policies::Slot& slot, bool hashed, bool address,
                            const Value& value, bool first, std::string& out) {
  const bool scalar = value.is(Type::boolean) || value.is(Type::text) ||
                      (value.is_number() && value.as_number().is_finite());
  if (!scalar) return false;
  if (!first) out += ',';
  append_json(out, slot.text);
  out += ':';
  if (!hashed) {
    append_value(out, value);
    return true;
  }
  canonical_.clear();
  append_canonical(canonical_, value);
  out += '"';
  if (const auto parsed = address ? Address::parse(canonical_) : std::nullopt) {
    out += pseudonym(*parsed, settings_.secret).to_string();
  } else {
    append_hashed(out, canonical_, settings_.secret);
  }
  out += '"';
  return true;
}

bool Recorder::begin(policies::Evaluator& evaluator, const Request* request,
                     const policies::Record* record, TimePoint now, Row& row) {
  row.text.clear();
  if (fields_ == nullptr || !sampled(evaluator, request)) return false;
  row.fields = fields_;
  const policies::PolicySet& set = evaluator.set();
  std::string& out = row.text;
  char digits[32];
  out = "{\"ts\":";
  out.append(digits, Number{to_ms(now)}.to_chars(digits));
  const TimePoint own = record != nullptr ? record->time : request->time;
  if (own != now) {
    out += ",\"time\":";
    out.append(digits, Number{to_ms(own)}.to_chars(digits));
  }
  if (record != nullptr && (record->event != policies::kRequestEvent || request == nullptr)) {
    out += ",\"event\":";
    append_json(out, set.events[record->event].name);
  }
  if (request != nullptr) {
    for (const auto& [name, text] :
         {std::pair{",\"method\":", request->method}, std::pair{",\"path\":", request->path}}) {
      if (text.data() == nullptr) continue;  // the app has not told
      out += name;
      append_json(out, text);
    }
    out += ",\"ip\":\"";
    if (knows_client(set, record)) {
      const Address& client = request->client;
      out += (fields_->plain_ip ? client : pseudonym(client, settings_.secret)).to_string();
    }
    out += '"';
  }
  out += ",\"fields\":{";
  bool first = true;
  for (const policies::RecordedField& field : fields_->request) {
    const Value value = evaluator.value(field.slot);
    if (append_field(set.slots[field.slot], field.hashed, field.address, value, first, out)) {
      first = false;
    }
  }
  // What the app told by the name of a field, of which nothing can be computed.
  if (record != nullptr) {
    for (const policies::Preset& preset : record->values) {
      if (!std::binary_search(fields_->told.begin(), fields_->told.end(), preset.slot)) continue;
      const policies::Slot& slot = set.slots[preset.slot];
      if (append_field(slot, false, false, preset.value, first, out)) first = false;
    }
  }
  out += '}';
  return true;
}

void Recorder::answered(policies::Evaluator& evaluator, const policies::PolicySet& set,
                        const Answer& answer, Row& row) {
  if (answer.status != 0) {
    char digits[32];
    row.text += ",\"status\":";
    row.text.append(digits, Number{answer.status}.to_chars(digits));
  }
  bool first = true;
  for (const policies::RecordedField& field : row.fields->answer) {
    const std::size_t before = row.text.size();
    if (first) row.text += ",\"answer\":{";
    if (append_field(set.slots[field.slot], field.hashed, field.address,
                     evaluator.value(field.slot), first, row.text)) {
      first = false;
    } else {
      row.text.resize(before);
    }
  }
  if (!first) row.text += '}';
}

void Recorder::write(Row& row) {
  row.text += "}\n";
  {
    const std::lock_guard lock(mutex_);
    if (queue_.size() + row.text.size() <= settings_.queue) {
      queue_ += row.text;
      row.text.clear();
    }
  }
  metrics_.add(row.open() ? Metric::record_dropped : Metric::record_rows);
  row.text.clear();
}

void Recorder::take(std::string& into) {
  const std::lock_guard lock(mutex_);
  into += queue_;
  queue_.clear();
}

}  // namespace weir::gate
