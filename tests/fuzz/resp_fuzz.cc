// Replies of a hostile Redis: what the guard admits, hiredis' reader takes without asking for more
// than the guard allows, the same whatever the split; and codec and slots read it or refuse it.
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/assert.h"
#include "store/redis/codec.h"
#include "store/redis/resp_reader.h"
#include "store/redis/slots.h"

using namespace weir;

namespace {

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
      }
      static const limiter::SharedCounter counter({1, 2}, [] {
        limiter::CounterSpec spec;
        spec.metric = limiter::Metric::last;
        spec.window = limiter::Window::log;
        spec.outcome = true;
        return spec;
      }());
      limiter::SharedPart part;
      part.counter = &counter;
      limiter::SharedOp op;
      op.parts = {&part, 1};
      limiter::SharedReply out;
      std::size_t at = 2;
      static_cast<void>(store::read_answer(reply, at, op, out));
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
