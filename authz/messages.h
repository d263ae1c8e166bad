#pragma once

#include <google/protobuf/arena.h>
#include <google/protobuf/message_lite.h>

#include <memory>
#include <string>

#include "net/grpc/service.h"

namespace weir::authz {

/// Memory of the messages of one call: an arena whose first block is kept, so that messages that
/// fit into it take no heap memory except for texts of more than 15 bytes. One for each open call;
/// the worker's thread alone.
class Messages {
 public:
  static constexpr std::size_t kFirstBlock = 8 << 10;

  Messages();

  /// A message that lives until the next clear().
  template <class M>
  M& make() {
    return *google::protobuf::Arena::CreateMessage<M>(&arena_);
  }
  /// Call it at the end of a call: returns memory beyond the usual.
  void clear() noexcept;

  /// Completes the call with this message. Its texts must be UTF-8: Envoy cannot read a message
  /// with others, and takes it for an error.
  void complete(net::grpc::Call& call, const google::protobuf::MessageLite& message);
  /// Sends this message as one of a stream, as Call::send().
  void send(net::grpc::Call& call, const google::protobuf::MessageLite& message);

 private:
  std::unique_ptr<char[]> block_;
  google::protobuf::Arena arena_;
  std::string encoded_;
};

}  // namespace weir::authz
