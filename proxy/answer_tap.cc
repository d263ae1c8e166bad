#include "proxy/answer_tap.h"

#include "core/assert.h"
#include "core/http_status.h"

namespace weir::proxy {
void AnswerTap::start(net::BlockPool& blocks, std::string_view head,
                      const net::ResponseHead& parsed, bool to_head) {
  bytes_.clear();
  head_bytes_ = static_cast<std::uint32_t>(head.size());
  coding_ = net::content_coding(parsed.fields);
  state_ = is_partial_answer(parsed.status, to_head) ? BodyState::broken
           : coding_ == net::ContentCoding::other    ? BodyState::encoded
                                                     : BodyState::complete;
  bytes_.append(blocks, head);
}

void AnswerTap::add(net::BlockPool& blocks, std::string_view data, std::size_t most) {
  if (state_ != BodyState::complete) return;
  if (bytes_.size() - head_bytes_ + data.size() > most) {
    state_ = BodyState::too_large;
    bytes_.truncate(head_bytes_);
    return;
  }
  bytes_.append(blocks, data);
}

Answer AnswerTap::answer(bool whole, std::size_t most, const net::AnsweredRequest& asked,
                         const net::HeadLimits& limits, net::ContentDecoder& decoder,
                         net::ResponseHead& parsed) const {
  net::HeadProgress progress;
  const auto status = net::parse_response_head(bytes_.view(), asked, limits, progress, parsed);
  WEIR_ASSERT(status == net::HeadStatus::complete);
  Answer out{parsed.status, parsed.fields.span(), state_, {}};
  if (state_ != BodyState::complete) return out;
  if (!whole) {
    out.body_state = BodyState::broken;
    return out;
  }
  const auto decoded = decoder.decode(coding_, bytes_.view().substr(head_bytes_), most);
  switch (decoded.status) {
    case net::ContentDecoder::Status::complete:
      out.body = decoded.body;
      break;
    case net::ContentDecoder::Status::too_large:
      out.body_state = BodyState::too_large;
      break;
    case net::ContentDecoder::Status::broken:
      out.body_state = BodyState::broken;
      break;
  }
  return out;
}

}  // namespace weir::proxy
