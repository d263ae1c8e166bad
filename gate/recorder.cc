#include "gate/recorder.h"

#include <algorithm>
#include <boost/endian/conversion.hpp>
#include <cstring>

#include "core/text.h"

namespace weir::gate {
namespace {

using telemetry::Metric;

/// Bits that are drawn with one hash: each node of a binary tree of this height takes one of its
/// 128 bits.
constexpr unsigned kBitsPerHash = 7;

/// The first `size` bits of `bits`, each flipped or not by a random function of those before it.
std::uint64_t flipped(std::uint64_t bits, unsigned size, const HashSecret& secret) noexcept {
  std::uint64_t flips = 0;
  for (unsigned at = 0; at < size; at += kBitsPerHash) {
    const std::uint64_t before = at == 0 ? 0 : bits >> (64 - at) << (64 - at);
    std::array<char, 11> input{'b', static_cast<char>(size), static_cast<char>(at)};
    std::memcpy(input.data() + 3, &before, sizeof before);
    const Hash128 hash = secret.hash({input.data(), input.size()});
    for (unsigned bit = at, node = 1; bit < std::min(at + kBitsPerHash, size); ++bit) {
      const std::uint64_t half = node < 64 ? hash.lo : hash.hi;
      flips |= (half >> node % 64 & 1U) << (63 - bit);
      node = node << 1 | static_cast<unsigned>(bits >> (63 - bit) & 1U);
    }
  }
  return bits ^ flips;
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

void append_address(std::string& out, const Address& address) {
  char text[46];
  out.append(text, address.to_chars(text));
}

/// An app may report a request without its caller.
bool knows_client(const policies::PolicySet& set, const policies::Record* record) {
  if (record == nullptr) return true;
  const auto ip = set.slots.find("ip");
  return std::none_of(record->values.begin(), record->values.end(), [&](const auto& preset) {
    return preset.slot == ip && preset.value.is_null();
  });
}

}  // namespace

Address pseudonym(const Address& address, const HashSecret& secret) noexcept {
  std::array<std::uint8_t, 16> bytes = address.bytes();
  if (address.is_v4()) {
    const std::uint64_t bits = boost::endian::load_big_u32(bytes.data() + 12);
    return Address::v4(static_cast<std::uint32_t>(flipped(bits << 32, 32, secret) >> 32));
  }
  const auto low = low_half(bytes, secret);
  std::copy(low.begin(), low.end(), bytes.begin() + 8);
  boost::endian::store_big_u64(bytes.data(),
                               flipped(boost::endian::load_big_u64(bytes.data()), 64, secret));
  return Address::v6(bytes);
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

bool Recorder::sampled(policies::Driver& driver, const policies::Judgement& judgement,
                       const Request* request) {
  if (settings_.sample >= 1) return true;
  canonical_ = "s";
  const policies::Plan& plan = judgement.plan;
  bool found = false;
  const auto look_at = [&](policies::EventIndex event) {
    const auto& slot = fields_->subject[event];
    found = found || (slot && append_canonical(canonical_, driver.value(judgement, *slot)));
  };
  // The fields of a named event win over the fields of every request.
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
  } else if (value.is(Type::address)) {
    out += '"';
    append_address(out, value.as_address());
    out += '"';
  } else {
    append_json(out, value.as_text());
  }
}

bool Recorder::append_field(const policies::Slot& slot, bool hashed, bool address,
                            const Value& value, bool first, std::string& out) {
  const bool scalar = value.is(Type::boolean) || value.is(Type::text) || value.is(Type::address) ||
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
    append_address(out, pseudonym(*parsed, settings_.secret));
  } else {
    append_hashed(out, canonical_, settings_.secret);
  }
  out += '"';
  return true;
}

bool Recorder::begin(policies::Driver& driver, const policies::Judgement& judgement,
                     const Request* request, const policies::Record* record, TimePoint now,
                     Row& row) {
  row.text.clear();
  if (fields_ == nullptr || !sampled(driver, judgement, request)) return false;
  row.fields = fields_;
  const policies::PolicySet& set = driver.set();
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
      if (text.data() == nullptr) continue;  // the app has not reported this field
      out += name;
      append_json(out, text);
    }
    out += ",\"ip\":\"";
    if (knows_client(set, record)) {
      const Address& client = request->client;
      append_address(out, fields_->plain_ip ? client : pseudonym(client, settings_.secret));
    }
    out += '"';
  }
  out += ",\"fields\":{";
  bool first = true;
  for (const policies::RecordedField& field : fields_->request) {
    const Value value = driver.value(judgement, field.slot);
    if (append_field(set.slots[field.slot], field.hashed, field.address, value, first, out)) {
      first = false;
    }
  }
  // A field that the app reported by its name, and that no expression computes from.
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

void Recorder::answered(policies::Driver& driver, const policies::Judgement& judgement,
                        const Answer& answer, Row& row) {
  const policies::PolicySet& set = *judgement.loaded->set;
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
                     driver.value(judgement, field.slot), first, row.text)) {
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
