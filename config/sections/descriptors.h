#pragma once

#include "config/text/reader.h"

/// Events that calls of Envoy's rate limit service make: `domain` and `descriptors`.
namespace weir::config {

inline constexpr std::size_t kDescriptorEntriesMax = 32;

void read_domain(Reader& reader, const Member& m, std::optional<DescriptorDef>& out);
void read_descriptors(Reader& reader, const Member& m, std::optional<DescriptorDef>& out);

/// Events by their names, or described in place as `{domain: ..., descriptors: {...}}`;
/// descriptions go to `described` under names of their own.
std::vector<Text> read_watched(Reader& reader, const Member& m, std::vector<EventDef>& described);

/// The name of an event that is described in place: equal for equal descriptions.
std::string described_name(const DescriptorDef& def);

/// Puts events described in place among the others, once each. Then counts of events that a
/// rate limit call makes become sums of its hits.
void take_described(Model& model);
/// Whether take_described() has made a sum of hits from a count in the file.
bool is_count_of_hits(const MetricDef& metric) noexcept;

}  // namespace weir::config
