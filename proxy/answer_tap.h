#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/event.h"
#include "net/bytes.h"
#include "net/http/content_coding.h"
#include "net/http/response_head.h"

namespace weir::proxy {

/// Copies an answer beside its stream, as far as policies may read it: the head, and the body as it
/// is coded. The body is decoded once, when all of it is there. Bounded by `most` bytes of body,
/// coded and decoded alike. Used by one session.
class AnswerTap {
 public:
  /// `head`: the bytes that `parsed` was parsed from. `to_head`: the request was a HEAD.
  void start(net::BlockPool& blocks, std::string_view head, const net::ResponseHead& parsed,
             bool to_head);
  /// A piece of the body, without framing.
  void add(net::BlockPool& blocks, std::string_view data, std::size_t most);
  /// Whether the body can still be read if all of it arrives.
  bool may_be_read() const noexcept { return state_ == BodyState::complete; }
  /// The answer as policies see it. `whole`: the body has ended according to its framing. Parses
  /// the head again into `parsed`. The views live until clear(), and until the decoder's next use.
  Answer answer(bool whole, std::size_t most, const net::AnsweredRequest& asked,
                const net::HeadLimits& limits, net::ContentDecoder& decoder,
                net::ResponseHead& parsed) const;
  void clear() noexcept { bytes_.clear(); }
  std::size_t held() const noexcept { return bytes_.held(); }  ///< bytes of the pool

 private:
  net::Bytes bytes_;  // the head, then the body
  std::uint32_t head_bytes_ = 0;
  BodyState state_ = BodyState::not_read;
  net::ContentCoding coding_ = net::ContentCoding::identity;
};

}  // namespace weir::proxy
