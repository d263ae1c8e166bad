#include "net/http/chunked.h"

#include <algorithm>

#include "core/chars/hex.h"
#include "core/chars/token.h"
#include "net/http/scan.h"

namespace weir::net {
namespace {

using Refusal = HttpRefusal;

// Reads an unsigned byte, as the automaton has it: weir::hex_value makes other code of it.
constexpr int size_digit(unsigned char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ChunkedDecoder::Step ChunkedDecoder::next(std::string_view input) noexcept {
  Step step;
  std::size_t i = 0;
  while (i < input.size() && state_ != State::done) {
    if (state_ == State::data) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - i));
      step.data = input.substr(i, n);
      left_ -= n;
      if (left_ == 0) state_ = State::data_cr;
      i += n;
      break;
    }
    const auto c = static_cast<unsigned char>(input[i++]);
    step.refusal = state_ < State::data ? head_byte(c) : tail_byte(c);
    if (step.refusal != Refusal::none) break;
  }
  step.used = i;
  return step;
}

/// A byte of a chunk line.
Refusal ChunkedDecoder::head_byte(unsigned char c) noexcept {
  const bool token = is_token(static_cast<char>(c));
  if (state_ != State::size_lf && c != '\r') {
    if (++line_bytes_ > limits_.line) return Refusal::chunk_line_too_long;
    const bool extension = state_ > State::size || c == ';';
    if (extension && ++extension_bytes_ > limits_.extensions) {
      return Refusal::chunk_extensions_too_long;
    }
  }
  switch (state_) {
    case State::size_first:
    case State::size: {
      const int value = size_digit(c);
      if (value >= 0) {
        if (left_ >> 59 != 0) return Refusal::chunk_size;  // 2^63 and more
        if (++digits_ > 16) return Refusal::chunk_size;
        left_ = left_ << 4 | static_cast<unsigned>(value);
        state_ = State::size;
        return Refusal::none;
      }
      if (state_ == State::size_first) return Refusal::chunk_size;
      break;
    }
    case State::extension_name_first:
      if (!token) return Refusal::chunk_extension;
      state_ = State::extension_name;
      return Refusal::none;
    case State::extension_name:
      if (token) return Refusal::none;
      if (c == '=') {
        state_ = State::extension_value_first;
        return Refusal::none;
      }
      break;
    case State::extension_value_first:
      if (!token && c != '"') return Refusal::chunk_extension;
      state_ = token ? State::extension_token : State::extension_quoted;
      return Refusal::none;
    case State::extension_token:
      if (token) return Refusal::none;
      break;
    case State::extension_quoted:
    case State::extension_escape:
      if (scan::is_control(static_cast<char>(c))) return Refusal::chunk_extension;
      state_ = state_ == State::extension_escape ? State::extension_quoted
               : c == '\\'                       ? State::extension_escape
               : c == '"'                        ? State::extension_quoted_end
                                                 : State::extension_quoted;
      return Refusal::none;
    case State::size_lf:
      if (c != '\n') return Refusal::line_end;
      state_ = left_ == 0 ? State::trailer_first : State::data;
      return Refusal::none;
    default:
      break;
  }
  // After a size, a name, a token or a closing quote.
  if (c != ';' && c != '\r') {
    return state_ == State::size ? Refusal::chunk_size : Refusal::chunk_extension;
  }
  state_ = c == ';' ? State::extension_name_first : State::size_lf;
  return Refusal::none;
}

/// A byte between a chunk's data and the next chunk line, or of the trailers.
Refusal ChunkedDecoder::tail_byte(unsigned char c) noexcept {
  if (state_ == State::data_cr || state_ == State::data_lf) {
    if (c != (state_ == State::data_cr ? '\r' : '\n')) return Refusal::chunk_end;
    if (state_ == State::data_cr) {
      state_ = State::data_lf;
    } else {
      state_ = State::size_first;
      digits_ = 0;
      line_bytes_ = 0;
    }
    return Refusal::none;
  }
  if (++trailer_bytes_ > limits_.trailers) return Refusal::trailers_too_large;
  const bool token = is_token(static_cast<char>(c));
  switch (state_) {
    case State::trailer_first:
      if (!token && c != '\r') return Refusal::trailer;
      state_ = token ? State::trailer_name : State::end_lf;
      return Refusal::none;
    case State::trailer_name:
      if (!token && c != ':') return Refusal::trailer;
      if (!token) state_ = State::trailer_value;
      return Refusal::none;
    case State::trailer_value:
      if (c == '\r') {
        state_ = State::trailer_lf;
      } else if (scan::is_control(static_cast<char>(c))) {
        return Refusal::trailer;
      }
      return Refusal::none;
    default:
      if (c != '\n') return Refusal::trailer;
      state_ = state_ == State::end_lf ? State::done : State::trailer_first;
      return Refusal::none;
  }
}

std::size_t write_chunk_head(std::array<char, 18>& out, std::uint64_t size) noexcept {
  const int digits = size == 0 ? 1 : (67 - __builtin_clzll(size)) / 4;
  for (int i = digits; i-- > 0; size >>= 4) out[static_cast<std::size_t>(i)] = hex_digit(size);
  out[static_cast<std::size_t>(digits)] = '\r';
  out[static_cast<std::size_t>(digits) + 1] = '\n';
  return static_cast<std::size_t>(digits) + 2;
}

}  // namespace weir::net
