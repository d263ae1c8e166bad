#include "core/descriptor.h"

#include "policies/lang/frame.h"

/// Extractors of one descriptor in a call of Envoy's rate limit service.
namespace weir::policies {
namespace {

Extracted read_domain(Frame& frame, const Argument&) noexcept {
  if (frame.descriptor() == nullptr) return Extracted::miss(MissReason::absent);
  return {Value::text(frame.descriptor()->domain)};
}

Extracted read_entry(Frame& frame, const Argument& argument) noexcept {
  if (frame.descriptor() == nullptr) return Extracted::miss(MissReason::absent);
  const DescriptorEntry* found = nullptr;
  for (const DescriptorEntry& entry : frame.descriptor()->entries) {
    if (entry.key != argument.name) continue;
    if (found != nullptr) return Extracted::miss(MissReason::ambiguous);
    found = &entry;
  }
  if (found == nullptr) return Extracted::miss(MissReason::absent);
  return {Value::text(found->value)};
}

/// limitador puts the entries into a map, in their order.
Extracted read_last_entry(Frame& frame, const Argument& argument) noexcept {
  if (frame.descriptor() == nullptr) return Extracted::miss(MissReason::absent);
  const auto entries = frame.descriptor()->entries;
  for (std::size_t i = entries.size(); i-- > 0;) {
    if (entries[i].key == argument.name) return {Value::text(entries[i].value)};
  }
  return Extracted::miss(MissReason::absent);
}

Extracted read_nth_entry(Frame& frame, const Argument& argument) noexcept {
  if (frame.descriptor() == nullptr) return Extracted::miss(MissReason::absent);
  const auto entries = frame.descriptor()->entries;
  if (argument.index >= entries.size()) return Extracted::miss(MissReason::absent);
  return {Value::text(entries[argument.index].value)};
}

/// Anything else that happens, happens once.
Extracted read_hits(Frame& frame, const Argument&) noexcept {
  return {Value::integer(frame.descriptor() == nullptr ? 1 : frame.descriptor()->hits)};
}

Extracted read_limit(Frame& frame, const Argument&) noexcept {
  if (frame.descriptor() == nullptr || !frame.descriptor()->limit)
    return Extracted::miss(MissReason::absent);
  return {Value::integer(frame.descriptor()->limit->requests)};
}

/// Keys and values with their lengths, so that no two descriptors are one text.
Extracted read_key(Frame& frame, const Argument&) noexcept {
  if (frame.descriptor() == nullptr) return Extracted::miss(MissReason::absent);
  std::size_t size = 0;
  const auto digits = [](std::size_t n) {
    std::size_t out = 1;
    for (; n >= 10; n /= 10) ++out;
    return out;
  };
  const auto parts = [&](auto&& each) {
    for (const DescriptorEntry& entry : frame.descriptor()->entries) {
      each(entry.key);
      each(entry.value);
    }
  };
  parts([&](std::string_view text) { size += digits(text.size()) + 1 + text.size(); });
  char* const begin = frame.arena().allocate(size);
  if (begin == nullptr) return Extracted::miss(MissReason::too_large);
  char* at = begin;
  parts([&](std::string_view text) {
    const std::size_t width = digits(text.size());
    std::size_t left = text.size();
    for (std::size_t i = width; i-- > 0; left /= 10) at[i] = static_cast<char>('0' + left % 10);
    at += width;
    *at++ = ':';
    for (const char c : text) *at++ = c;
  });
  return {Value::text({begin, size})};
}

constexpr ExtractorRow kDescriptorRows[] = {
    {"domain", ArgumentForm::none, Type::text, Side::request, false, false,
     "the domain of a rate limit call", read_domain},
    {"descriptor", ArgumentForm::name, Type::text, Side::request, false, false,
     "an entry of a rate limit call's descriptor: descriptor.remote_address, "
     "descriptor[\"odd key\"]",
     read_entry},
    {"descriptor_last", ArgumentForm::name, Type::text, Side::request, false, false,
     "the last of the descriptor's entries with this key, as limitador reads it", read_last_entry},
    {"descriptor_key", ArgumentForm::none, Type::text, Side::request, false, false,
     "all keys and values of the descriptor as one text, for keys", read_key},
    {"hits_addend", ArgumentForm::none, Type::integer, Side::request, false, false,
     "how many hits a rate limit call adds; 1 for everything else", read_hits},
    {"limit_override", ArgumentForm::none, Type::integer, Side::request, false, false,
     "the requests per unit in the limit of the call's descriptor", read_limit},
    {"entry", ArgumentForm::index, Type::text, Side::request, false, false,
     "the value of the descriptor's n-th entry", read_nth_entry},
};

}  // namespace

std::span<const ExtractorRow> descriptor_extractors() { return kDescriptorRows; }

}  // namespace weir::policies
