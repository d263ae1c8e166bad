// Reads the body of an answer for policies: asks the app for a readable body, settles by the body,
// and reads on when the client has left.
#include "proxy/exchange.h"

namespace weir::proxy {

void Exchange::ask_for_readable_answer(UpstreamHeadOptions& options) {
  ctx_.codings.clear();
  net::append_readable_codings(ctx_.codings, ctx_.request.fields);
  options.whole_answer = true;
  options.codings = ctx_.codings;
}

// The head of the final answer is parsed into the context's response; `head` holds its bytes.
void Exchange::observe_head(std::string_view head) {
  if (ticket_ == nullptr) return;
  const net::ResponseHead& parsed = ctx_.response;
  Answer answer{parsed.status, parsed.fields.span(), BodyState::not_read, {}};
  tapping_ = ctx_.judge.answered(*ticket_, answer, ctx_.worker.now());
  if (!tapping_) return;
  if (!parsed.upgraded) return tap_.start(ctx_.worker.blocks(), head, parsed, is_head_);
  answer.body_state =
      BodyState::complete;  // no body: the bytes that follow do not belong to the answer
  tapping_ = false;
  ctx_.judge.answered_body(*ticket_, answer, ctx_.worker.now());
}

// Overwrites the context's response head.
void Exchange::settle_tap(bool whole) {
  if (!tapping_) return;
  tapping_ = false;
  const Answer answer = tap_.answer(whole, ctx_.settings.body_bytes_max, {is_head_, {}},
                                    ctx_.settings.head, ctx_.decoder, ctx_.response);
  ctx_.judge.answered_body(*ticket_, answer, ctx_.worker.now());
  tap_.clear();
}

// The client has left in the middle of an answer whose body a policy reads, perhaps to hide the
// part that counts. The rest is read without the client, for as long as the app may take for an
// answer. False: no policy needs the rest, and the answer is settled.
bool Exchange::begin_reading_on() {
  const bool may_end_well = tapping_ && tap_.may_be_read() && body_.done() &&
                            upstream_ != nullptr && !upstream_->broken();
  if (!may_end_well || answer_body_.done()) {
    settle_tap(answer_body_.done());
    return false;
  }
  state_ = State::reading_on;
  ctx_.notes.end(notes_);
  fd_.close();
  for (net::Bytes* bytes : {&in_, &out_, &kept_, &lines_}) bytes->clear();
  upstream_->in.clear();  // done: the caller is still handling the client's end
  expect(Phase::read_on, ctx_.settings.answer);
  if (upstream_->readable()) upstream_->look_again();  // bytes that came while the client was slow
  return true;
}

void Exchange::read_on() {
  for (std::size_t taken = 0; upstream_->readable();) {
    if (taken >= kTurnBytes) return upstream_->look_again();
    const std::span<char> into = upstream_->scratch_in();
    const net::IoResult result = upstream_->receive(into);
    if (result.bytes == 0) {
      if (result.would_block) return;
      const bool broken = result.error != 0 || upstream_->broken();
      if (!broken) answer_body_.end();
      return end_reading_on(answer_body_.done());
    }
    taken += result.bytes;
    const auto piece = answer_body_.take(into.first(result.bytes));
    if (piece.malformed()) return end_reading_on(false);
    tap_.add(ctx_.worker.blocks(), piece.data, ctx_.settings.body_bytes_max);
    if (answer_body_.done() || !tap_.may_be_read()) return end_reading_on(answer_body_.done());
  }
}

void Exchange::end_reading_on(bool whole) {
  settle_tap(whole);
  finish(gate::End::complete);
  close();
}

}  // namespace weir::proxy
