#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weir::test {

/// A head and its expected outcome: a decision in words, or `refused: WORD`.
struct HeadCase {
  std::string bytes;
  std::string outcome;
};

/// Printable form of wire bytes for traces.
inline std::string escaped(std::string_view bytes) {
  std::string out;
  for (const char c : bytes.substr(0, 300)) {
    constexpr char kHex[] = "0123456789abcdef";
    const auto u = static_cast<unsigned char>(c);
    if (c == '\r') {
      out += "\\r";
    } else if (c == '\n') {
      out += "\\n";
    } else if (u < 0x20 || u >= 0x7f) {
      out += {'\\', 'x', kHex[u >> 4], kHex[u & 15]};
    } else {
      out += c;
    }
  }
  return out;
}

/// Feeds `bytes` up to each of the growing `ends` until the outcome is not "incomplete"; a fresh
/// reader per run. A reader gets everything that has arrived so far, in memory of exactly that size
/// (so that a sanitizer sees every byte that is read too far).
using HeadReader = std::function<std::string(std::string_view)>;
using MakeHeadReader = std::function<HeadReader()>;

inline std::string feed(const MakeHeadReader& make, std::string_view bytes,
                        const std::vector<std::size_t>& ends) {
  const HeadReader reader = make();
  std::string outcome = "incomplete";
  for (const std::size_t end : ends) {
    const std::vector<char> arrived(bytes.begin(),
                                    bytes.begin() + static_cast<std::ptrdiff_t>(end));
    outcome = reader({arrived.data(), arrived.size()});
    if (outcome != "incomplete") break;
  }
  return outcome;
}

/// Whole, byte by byte and cut in two at every place: the outcome is always the same.
inline void expect_outcome(const MakeHeadReader& make, const HeadCase& c) {
  SCOPED_TRACE(escaped(c.bytes));
  const std::size_t size = c.bytes.size();
  EXPECT_EQ(feed(make, c.bytes, {size}), c.outcome) << "whole";
  std::vector<std::size_t> each;
  for (std::size_t i = 0; i <= size; ++i) each.push_back(i);
  EXPECT_EQ(feed(make, c.bytes, each), c.outcome) << "byte by byte";
  const std::size_t step = size > 2000 ? 97 : 1;  // the long ones are long by repetition
  for (std::size_t i = 0; i <= size; i += step) {
    ASSERT_EQ(feed(make, c.bytes, {i, size}), c.outcome) << "cut at " << i;
  }
}

}  // namespace weir::test
