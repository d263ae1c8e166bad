#include "replay/row_share.h"

namespace weir::replay {

RowShare::RowShare(const policies::PolicySet& set,
                   const std::map<std::string, policies::KeySlot>& places, const HashSecret& secret,
                   unsigned threads)
    : set_(set), secret_(secret), threads_(threads) {
  for (const policies::Event& event : set.events) {
    const auto place = places.find(event.source);
    places_.push_back(place == places.end() ? std::nullopt : std::optional(place->second));
  }
}

unsigned RowShare::owner(const Row& row, policies::EventIndex event) {
  const auto& place = places_[event];
  if (!place) return 0;  // no policy counts it
  if (set_.events[event].source.empty() && !row.recorded) {
    frame_.begin(set_.slots, row.request, nullptr);
  } else {
    frame_.begin(set_.slots, record_of(row, event), nullptr);
  }
  builder_.start();
  Address masked;
  if (!builder_.add(policies::key_part(*place, frame_.load(place->slot), masked))) return 0;
  const std::uint64_t hash = builder_.hash(secret_).lo >> 32;
  return static_cast<unsigned>(hash * threads_ >> 32);
}

}  // namespace weir::replay
