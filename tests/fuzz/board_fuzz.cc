// A replica reads the fleet's board from a hostile Redis, from a replica of another
// version, or from a file: answers that fit no question, numbers beyond all times, texts of any
// kind. It stays within its bounds; it can write and read again all that it accepts.
#include <cstdint>
#include <string>
#include <string_view>

#include "app/change/fleet.h"
#include "app/change/table_history.h"
#include "core/assert.h"
#include "core/text.h"
#include "limiter/memory/frame.h"
#include "store/board/board_sync.h"

using namespace weir;

namespace {

constexpr TimePoint kNow{milliseconds{1'700'000'000'000}};

void read_override(std::string_view text) {
  const auto change = app::read_override_words(text);
  if (!change) return;
  const auto again = app::read_override_words(app::override_words(*change));
  WEIR_ASSERT(again && config::override_text(*again) == config::override_text(*change));
  static_cast<void>(iso_time(change->since));
}

void read_news(std::string_view text) {
  static_cast<void>(app::read_door_words(text, "here/1"));
  const auto entry = app::read_audit_words(text, "here/1");
  if (!entry) return;
  const std::string words = app::audit_words(*entry, "there/2");
  WEIR_ASSERT(words.size() <= store::BoardSync::kNewsBytesMax);
  WEIR_ASSERT(words.empty() || app::read_audit_words(words, "here/1"));
}

void read_tables(std::string_view text) {
  app::TableHistory book;
  admin::TableRecord ours;
  ours.table = "t";
  ours.state = admin::TableRecord::kApplied;
  ours.by = "ann";
  ours.at = kNow;
  ours.changes.push_back({{"a"}, std::nullopt, Number(5)});
  book.add(ours);
  if (book.merge("t", text)) {
    WEIR_ASSERT(book.records().size() <= app::TableHistory::kRecordsMax);
    WEIR_ASSERT(book.has_unsent("t"));
    const std::string told = book.table_text("t", std::size_t{1} << 20);
    app::TableHistory other;
    WEIR_ASSERT(told.empty() || other.merge("t", told));
    WEIR_ASSERT(told.empty() || other.table_text("t", std::size_t{1} << 20) == told);
  }
  app::TableHistory kept;
  if (!kept.from_json(text)) return;
  app::TableHistory again;
  WEIR_ASSERT(again.from_json(kept.to_json()) && again.to_json() == kept.to_json());
  for (const std::string& table : kept.tables()) kept.last_applied(table);
  for (const admin::TableRecord& record : kept.records()) static_cast<void>(iso_time(record.at));
}

// ---------------------------------------------------------------- answers

void add(store::Reply& reply, std::string_view text) {
  reply.add_text(store::Reply::Type::string, text);
}

/// A number as an answer has it: mostly a small one, at times any, or no number.
void add_number(limiter::Reader& in, store::Reply& reply, std::int64_t near) {
  const auto odd = in.get<std::uint8_t>();
  if (odd == 255) return add(reply, in.text());
  if (odd == 254) return add(reply, std::to_string(in.get<std::int64_t>()));
  add(reply, std::to_string(near + odd));
}

std::string item_name(limiter::Reader& in) {
  return "override:p" + std::to_string(in.get<std::uint8_t>() % 8) + ":mode";
}

void speak(limiter::Reader& in, std::size_t told, store::Reply& reply) {
  const std::int64_t now = to_ms(kNow);
  reply.clear();
  reply.add(in.get<std::uint8_t>() == 255 ? store::Reply::Type::string : store::Reply::Type::array);
  add_number(in, reply, now);
  add(reply, std::string(1, static_cast<char>('a' + in.get<std::uint8_t>() % 3)));  // the epoch
  add_number(in, reply, 0);
  add_number(in, reply, 0);
  add(reply, in.get<std::uint8_t>() % 2 == 0 ? "0" : "1");
  for (const int words : {3, 2, 4}) {  // replicas, versions, items
    const auto count = in.get<std::uint8_t>() % 5;
    const bool odd = in.get<std::uint8_t>() == 255;
    add(reply, std::to_string(odd ? in.get<std::int64_t>() : count));
    for (int i = 0; i < count; ++i) {
      add(reply, words == 4 ? item_name(in) : std::string(in.text()));
      add_number(in, reply, words == 4 ? 0 : now);
      if (words == 4) add_number(in, reply, now);
      if (words > 2) add(reply, in.text());
    }
  }
  for (std::size_t i = 0; i < told; ++i) add_number(in, reply, -1);
  for (int i = in.get<std::uint8_t>() % 4; i > 0; --i) add(reply, in.text());
}

void answer(std::string_view bytes) {
  limiter::Reader in(bytes);
  store::BoardSync sync("here/1", "fresh");
  TimePoint now = kNow;
  store::Reply reply;
  while (in.ok() && !in.at_end()) {
    const auto what = in.get<std::uint8_t>();
    if (what < 80) {
      const milliseconds lasts{what % 2 == 0 ? 0 : 1'000 * what};
      const TimePoint until = lasts.count() == 0 ? TimePoint{} : now + lasts;
      static_cast<void>(sync.put({item_name(in), std::string(in.text()), until, 0}, what % 4 < 2));
    } else if (what < 100) {
      static_cast<void>(sync.tell(std::string(in.text())));
    }
    sync.say("{}", std::string(1, static_cast<char>('a' + what % 3)), what % 7 == 0);
    const std::vector<std::string> words = sync.ask(now);
    WEIR_ASSERT(words.size() >= 10 + 5 * sync.flying());
    now += milliseconds{100 * in.get<std::uint8_t>()};
    if (what >= 250) {
      sync.failed("away");
      continue;
    }
    speak(in, sync.flying(), reply);
    auto read = store::BoardAnswer::read(reply, sync.flying());
    if (!read) {
      sync.failed("no answer");
      continue;
    }
    const store::BoardSync::Heard heard = sync.answered(std::move(*read), now);
    WEIR_ASSERT(sync.flying() == 0 && sync.why().empty());
    for (const store::BoardItem& item : sync.items("override:", now)) {
      WEIR_ASSERT(item.until == TimePoint{} || item.until > now);
      read_override(item.value);
    }
    for (const std::string& text : heard.news) read_news(text);
    const admin::FleetFacts facts = app::fleet_facts(sync, now);
    for (const admin::ReplicaFacts& row : facts.replicas) {
      static_cast<void>(iso_time(row.loaded));
      WEIR_ASSERT(!row.behind || !facts.newest.empty());
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      read_override(bytes);
      break;
    case 1:
      read_news(bytes);
      break;
    case 2:
      read_tables(bytes);
      break;
    default:
      answer(bytes);
  }
  return 0;
}
