#include <gtest/gtest.h>
#include <nghttp2/nghttp2.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "net/grpc/long_values.h"

namespace weir::net::grpc::grpc_long_values_test {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

std::string length(std::size_t n, char huffman = 0) {
  if (n < 127) return std::string(1, static_cast<char>(n | static_cast<unsigned char>(huffman)));
  std::string out(1, static_cast<char>(127 | static_cast<unsigned char>(huffman)));
  for (n -= 127; n >= 128; n >>= 7) out += static_cast<char>(n % 128 + 128);
  return out + static_cast<char>(n);
}

std::string literal(char kind, const std::string& name, const std::string& value) {
  return kind + length(name.size()) + name + length(value.size()) + value;
}

/// libnghttp2's decoder, and its output.
class Decoder {
 public:
  Decoder() {
    nghttp2_hd_inflater* made = nullptr;
    EXPECT_EQ(nghttp2_hd_inflate_new(&made), 0);
    inflater_.reset(made);
  }
  /// The next bytes of a list; false: it is none.
  bool take(std::string_view bytes, bool last) {
    for (;;) {
      nghttp2_nv field;
      int flags = 0;
      const auto used = nghttp2_hd_inflate_hd2(inflater_.get(), &field, &flags,
                                               reinterpret_cast<const std::uint8_t*>(bytes.data()),
                                               bytes.size(), last ? 1 : 0);
      if (used < 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(used));
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) != 0) {
        fields.emplace_back(std::string(reinterpret_cast<char*>(field.name), field.namelen),
                            std::string(reinterpret_cast<char*>(field.value), field.valuelen));
      }
      if ((flags & NGHTTP2_HD_INFLATE_FINAL) != 0) {
        nghttp2_hd_inflate_end_headers(inflater_.get());
        return bytes.empty();
      }
      if ((flags & NGHTTP2_HD_INFLATE_EMIT) == 0 && bytes.empty()) return !last;
    }
  }
  Fields table() const {
    Fields out;
    for (std::size_t i = 62; i <= nghttp2_hd_inflate_get_num_table_entries(inflater_.get()); ++i) {
      const nghttp2_nv* const field = nghttp2_hd_inflate_get_table_entry(inflater_.get(), i);
      out.emplace_back(std::string(reinterpret_cast<char*>(field->name), field->namelen),
                       std::string(reinterpret_cast<char*>(field->value), field->valuelen));
    }
    return out;
  }
  Fields fields;

 private:
  struct Delete {
    void operator()(nghttp2_hd_inflater* it) const { nghttp2_hd_inflate_del(it); }
  };
  std::unique_ptr<nghttp2_hd_inflater, Delete> inflater_;
};

/// The list goes through in reads of any size. The output in all is as long as the input.
bool pass(LongValues& values, Decoder& to, std::string list, std::mt19937& dice,
          std::size_t read_most) {
  values.begin();
  std::string out;
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t n =
        std::min(list.size() - at, std::uniform_int_distribution<std::size_t>(1, read_most)(dice));
    const std::span<char> read(list.data() + at, n);
    values.take(read);
    const LongValues::Ready ready = values.ready({read.data(), read.size()});
    out.append(ready.kept).append(ready.read);
    at += n;
  }
  EXPECT_EQ(out.size(), list.size());
  return to.take(out, true);
}

TEST(LongValues, what_is_not_too_long_is_not_changed) {
  std::mt19937 dice(1);
  const std::string list = "\x82\x84" + literal('\x40', "x-one", "1") +
                           literal('\0', "x-two", std::string(65'536, 'v')) +
                           literal('\x10', std::string(300, 'n'), "") + "\x3F\xE1\x0F\xBE";
  std::string copy = list;
  LongValues values;
  values.take(copy);
  EXPECT_EQ(copy, list);
  EXPECT_EQ(values.ready(copy).read, copy);
}

/// A list as it comes, one with the same effect on the table whose texts are not too long, and the
/// fields that come out.
struct Lists {
  std::string list, same;
  Fields fields;

  void add(char kind, const std::string& name, const std::string& value) {
    list += literal(kind, name, value);
    same += literal(kind, name, value);
    fields.emplace_back(name, value);
  }
  void add_long_value(char kind, const std::string& name, std::mt19937& dice) {
    list += kind + length(name.size()) + name;
    add_long(name, dice);
    same += literal(kind, name, std::string(5'000, 'x'));  // empties the table as well
  }
  void add_long_name(char kind, std::mt19937& dice) {
    const std::size_t size = add_random(kind, dice);
    same += literal(kind, std::string(5'000, 'x'), "");
    const std::size_t first = 32'768 + (size - 4) % 32'768;
    fields.emplace_back(std::string(first, 'x'), "");
    for (std::size_t at = first + 1; at + 3 < size; at += 32'768)
      fields.emplace_back("x", std::string(32'761, 'x'));
    if (dice() % 3 == 0) return add_long("x", dice);
    const std::string value(dice() % 900, 'v');
    list += length(value.size()) + value;
    fields.emplace_back("x", value);
  }

 private:
  std::size_t add_random(std::optional<char> kind, std::mt19937& dice) {
    const std::size_t size = 65'537 + dice() % 200'000;
    const char huffman = dice() % 2 == 0 ? '\x80' : '\0';
    if (kind) list += *kind;
    list += length(size, huffman);
    for (std::size_t n = 0; n < size; ++n) list += static_cast<char>(dice());
    return size;
  }
  void add_long(const std::string& name, std::mt19937& dice) {
    const std::size_t size = add_random(std::nullopt, dice);
    const std::size_t first = 32'768 + size % 32'768;
    fields.emplace_back(name, std::string(first, 'x'));
    for (std::size_t at = first; at < size; at += 32'768)
      fields.emplace_back("x", std::string(32'761, 'x'));
  }
};

TEST(LongValues, a_long_text_becomes_several_fields_and_the_table_is_as_before) {
  std::mt19937 dice(7);
  for (int round = 0; round < 30; ++round) {
    Decoder got, wanted;
    LongValues values;
    const std::size_t read_most = round % 3 == 0 ? 3 : round % 3 == 1 ? 9'000 : 70'000;
    for (int list_number = 0; list_number < 3; ++list_number) {
      Lists lists;
      for (int i = 0; i < 12; ++i) {
        const char kind = "\x40\x00\x10"[dice() % 3];
        const std::string name = "x-" + std::to_string(dice() % 40);
        switch (dice() % 9) {
          case 0:
            lists.add_long_value(kind, name, dice);
            break;
          case 1:
            lists.add_long_name(kind, dice);
            break;
          default:
            lists.add(kind, name, std::string(dice() % 900, 'v'));
        }
      }
      got.fields.clear();
      ASSERT_TRUE(pass(values, got, lists.list, dice, read_most)) << round;
      ASSERT_TRUE(wanted.take(lists.same, true));
      ASSERT_EQ(got.fields, lists.fields) << round;
      ASSERT_EQ(got.table(), wanted.table()) << round;
    }
  }
}

TEST(LongValues, a_length_over_the_end_of_a_frame_is_left_as_it_is) {
  std::string list = literal('\0', "x", std::string(70'000, 'v'));
  const std::string before = list;
  LongValues values;
  values.begin();
  const std::span<char> all(list);
  values.take(all.first(5));  // two bytes of the length's four
  values.end_frame();
  EXPECT_EQ(values.ready({list.data(), 5}).read.size(), 5U) << "nothing waits";
  values.take(all.subspan(5));
  EXPECT_EQ(list, before);
  const LongValues::Ready rest = values.ready({list.data() + 5, list.size() - 5});
  EXPECT_TRUE(rest.kept.empty());
  EXPECT_EQ(rest.read.size(), list.size() - 5);
}

TEST(LongValues, what_is_no_hpack_goes_on_unchanged) {
  std::mt19937 dice(3);
  for (int round = 0; round < 2'000; ++round) {
    std::string list(dice() % 200, '\0');
    for (char& c : list) c = dice() % 3 == 0 ? '\xFF' : static_cast<char>(dice());
    const std::string before = list;
    LongValues values;
    std::string out;
    for (std::size_t at = 0; at < list.size();) {
      const std::size_t n = std::min<std::size_t>(list.size() - at, 1 + dice() % 20);
      values.take(std::span<char>(list).subspan(at, n));
      const LongValues::Ready ready = values.ready({list.data() + at, n});
      out.append(ready.kept).append(ready.read);
      at += n;
    }
    values.end_frame();
    out.append(values.ready({}).kept);
    ASSERT_EQ(out.size(), before.size());
  }
}

}  // namespace
}  // namespace weir::net::grpc::grpc_long_values_test
