#include "authz/messages.h"

#include <google/protobuf/stubs/logging.h>

#include "core/assert.h"
#include "core/kept_memory.h"

namespace weir::authz {
namespace {

google::protobuf::ArenaOptions options_with(char* block) {
  google::protobuf::ArenaOptions out;
  out.initial_block = block;
  out.initial_block_size = Messages::kFirstBlock;
  return out;
}

}  // namespace

Messages::Messages()
    : block_(std::make_unique_for_overwrite<char[]>(kFirstBlock)),
      arena_(options_with(block_.get())) {
  // Otherwise protobuf writes a line to stderr for every text that is not UTF-8, as often as a peer
  // sends one.
  static const auto silenced = google::protobuf::SetLogHandler(nullptr);
  static_cast<void>(silenced);
}

void Messages::clear() noexcept {
  arena_.Reset();
  clear_keeping(encoded_, kFirstBlock);
}

void Messages::complete(net::grpc::Call& call, const google::protobuf::MessageLite& message) {
  const bool written = message.SerializeToString(&encoded_);
  WEIR_ASSERT(written);  // false: more than 2 GiB
  call.complete(encoded_);
}

void Messages::send(net::grpc::Call& call, const google::protobuf::MessageLite& message) {
  const bool written = message.SerializeToString(&encoded_);
  WEIR_ASSERT(written);
  call.send(encoded_);
}

}  // namespace weir::authz
