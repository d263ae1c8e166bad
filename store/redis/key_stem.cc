#include "store/redis/key_stem.h"

#include "limiter/exchange/shared_key.h"

namespace weir::store {

std::string key_stem(std::string_view what, std::string_view name, const Hash128& id) {
  std::string out = "weir:";
  out += what;
  out += ':';
  limiter::ReadableKey text(out);
  text.add_text(name);
  text.end();
  out += ":{";
  limiter::append_hashed_key(out, id);
  out += '}';
  return out;
}

}  // namespace weir::store
