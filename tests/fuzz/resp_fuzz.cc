// Replies of a hostile Redis: hiredis' reader takes all that the guard admits, and asks for no more
// than the guard allows, the same whatever the split; and all that reads answers takes it or
// refuses it: of operations of one part and of two, of plain ones, of cells, of patterns, of a
// Cluster.
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "store/redis/codec.h"
#include "store/redis/near_reading.h"
#include "store/redis/pattern_codec.h"
#include "store/redis/plain_calls.h"
#include "store/redis/slots.h"
#include "store/resp/resp_reader.h"

using namespace weir;

namespace {

limiter::CounterSpec spec_of(Metric metric, bool outcome) {
  limiter::CounterSpec spec;
  spec.metric = metric;
  spec.window = limiter::Window::log;
  spec.outcome = outcome;
  return spec;
}

void read_as_answers(const store::Reply& reply) {
  static const limiter::SharedCounter last({1, 2}, spec_of(Metric::last, true));
  static const limiter::SharedCounter count({3, 4}, spec_of(Metric::count, false));
  static const limiter::SharedPart both[] = {{&last, {}, 0}, {&count, {}, 0}};
  limiter::SharedReply out;
  for (const std::span<const limiter::SharedPart> parts :
       {std::span(both).first(1), std::span(both).last(1),
        std::span<const limiter::SharedPart>(both)}) {
    for (const limiter::SharedVerb verb : {limiter::SharedVerb::add, limiter::SharedVerb::read}) {
      limiter::SharedOp op;
      op.verb = verb;
      op.parts = parts;
      // As a call of many operations is read: one behind the other.
      for (std::size_t at = 2; at < reply.size();) {
        const std::size_t before = at;
        const std::size_t next = store::skip_answer(reply, at, store::answer_width(op));
        WEIR_ASSERT(next > at);
        if (!store::read_answer(reply, at, op, out)) break;
        WEIR_ASSERT(at > before);
      }
    }
  }
  limiter::SharedOp plain;
  plain.parts = std::span(both).last(1);
  for (std::size_t at = 2; at < reply.size(); ++at)
    static_cast<void>(store::read_plain_answer(reply, at, plain, out));
}

void read_as_text(std::string_view text) {
  static store::NearReading reading;
  for (const Metric metric : {Metric::count, Metric::distinct, Metric::average}) {
    for (const bool real : {false, true}) {
      limiter::CounterSpec spec = spec_of(metric, false);
      spec.real = real;
      reading.start(spec);
      for (int cell = 0; cell < 2; ++cell) static_cast<void>(reading.add(text));
      limiter::Reading out;
      reading.write(out);
    }
  }
  limiter::PatternReply pattern;
  static_cast<void>(store::read_pattern_answer(text, pattern));
}

std::size_t read(std::string_view bytes, std::size_t cut, bool& good) {
  store::RespReader reader;
  std::size_t nodes = 0;
  good = true;
  for (const std::string_view piece : {bytes.substr(0, cut), bytes.substr(cut)}) {
    if (!reader.feed(piece)) {
      good = false;
      return nodes;
    }
    for (;;) {
      const auto step = reader.next();
      if (step == store::RespReader::Step::broken) good = false;
      if (step != store::RespReader::Step::reply) break;
      const store::Reply& reply = reader.reply();
      nodes += reply.size();
      for (std::size_t i = 0; i < reply.size(); ++i) {
        WEIR_ASSERT(reply.text(reply[i]).size() <= bytes.size());
        read_as_text(reply.text(reply[i]));
      }
      read_as_answers(reply);
      static_cast<void>(
          store::read_slots(reply, [](unsigned first, unsigned last, const store::Endpoint&) {
            WEIR_ASSERT(first <= last && last < store::kSlots);
          }));
      if (reply.is_error()) {
        static_cast<void>(store::error_of(reply.text()));
        static_cast<void>(store::parse_redirect(reply.text()));
      }
    }
    if (!good) return nodes;
  }
  return nodes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  bool whole_good = false, split_good = false;
  const std::size_t whole = read(bytes, size, whole_good);
  const std::size_t split = read(bytes, size == 0 ? 0 : data[0] % size, split_good);
  WEIR_ASSERT(whole_good == split_good);
  WEIR_ASSERT(!whole_good || whole == split);
  return 0;
}
