#include "net/http/content_coding.h"

#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include <random>
#include <string>
#include <vector>

#include "tests/support/codings.h"

namespace weir::net::content_coding_test {
namespace {

using test::deflate_coded;
using test::gzip_coded;
using test::zstd_coded;
using Status = ContentDecoder::Status;

/// The fields of a head, as a parser gives them.
struct Fields {
  explicit Fields(const std::vector<std::pair<std::string, std::string>>& lines) : lines_(lines) {
    for (const auto& [name, value] : lines_) {
      list.fields[list.count] = {name, value};
      list.kinds[list.count++] = field_kind(name);
    }
  }
  std::vector<std::pair<std::string, std::string>> lines_;
  FieldList list;
};

TEST(ContentCoding, every_line_and_every_member_counts) {
  const auto coding = [](std::vector<std::pair<std::string, std::string>> lines) {
    return content_coding(Fields(lines).list);
  };
  const std::string name = "Content-Encoding";
  EXPECT_EQ(coding({}), ContentCoding::identity);
  EXPECT_EQ(coding({{name, ""}}), ContentCoding::identity);
  EXPECT_EQ(coding({{name, "identity, ,Identity"}}), ContentCoding::identity);
  EXPECT_EQ(coding({{name, "GZip"}}), ContentCoding::gzip);
  EXPECT_EQ(coding({{name, "x-gzip"}}), ContentCoding::gzip);
  EXPECT_EQ(coding({{name, " deflate\t"}}), ContentCoding::deflate);
  EXPECT_EQ(coding({{name, "zstd"}}), ContentCoding::zstd);
  EXPECT_EQ(coding({{name, "br"}}), ContentCoding::other);
  EXPECT_EQ(coding({{name, "gzip;q=1"}}), ContentCoding::other);
  EXPECT_EQ(coding({{name, "identity"}, {name, "gzip"}}), ContentCoding::gzip);
  EXPECT_EQ(coding({{name, ""}, {name, "gzip"}}), ContentCoding::gzip);
  EXPECT_EQ(coding({{name, "identity, gzip"}}), ContentCoding::gzip);
  EXPECT_EQ(coding({{name, "gzip"}, {name, "gzip"}}), ContentCoding::other);
  EXPECT_EQ(coding({{name, "br, gzip"}}), ContentCoding::other);
  EXPECT_EQ(coding({{"content_encoding", "gzip"}}), ContentCoding::gzip);
}

TEST(ContentCoding, an_app_is_asked_for_what_can_be_read) {
  const auto asked = [](std::vector<std::string> values) {
    std::vector<std::pair<std::string, std::string>> lines;
    for (std::string& value : values) lines.emplace_back("Accept-Encoding", std::move(value));
    std::string out = "> ";
    append_readable_codings(out, Fields(lines).list);
    return out.substr(2);
  };
  EXPECT_EQ(asked({}), "") << "servers then send plain bytes";
  EXPECT_EQ(asked({"gzip"}), "gzip");
  EXPECT_EQ(asked({"gzip, deflate, br, zstd"}), "gzip, deflate, zstd");
  EXPECT_EQ(asked({"br;q=1.0, gzip;q=0.8, *;q=0.1"}), "gzip;q=0.8");
  EXPECT_EQ(asked({"br", "zstd"}), "zstd");
  EXPECT_EQ(asked({"br"}), "identity");
  EXPECT_EQ(asked({"br, identity;q=0"}), "identity")
      << "what nobody here can send is not asked for";
  EXPECT_EQ(asked({"gzip;q=0, br"}), "identity");
  EXPECT_EQ(asked({"gzip, identity;q=0"}), "gzip, identity;q=0");
  EXPECT_EQ(asked({"*"}), "gzip");
  EXPECT_EQ(asked({"*;q=0.5"}), "gzip;q=0.5");
  EXPECT_EQ(asked({"*;q=0"}), "identity");
  EXPECT_EQ(asked({"gzip;q=0, *"}), "identity") << "`*` speaks of what is not named";
  EXPECT_EQ(asked({""}), "");
  EXPECT_EQ(asked({",, ,"}), "");
}

std::string_view decoded(ContentDecoder& decoder, ContentCoding coding, std::string_view coded,
                         std::size_t most = 64 << 10) {
  const auto result = decoder.decode(coding, coded, most);
  EXPECT_EQ(result.status, Status::complete);
  return result.body;
}

TEST(ContentDecoder, gives_back_what_real_encoders_made) {
  ContentDecoder decoder;
  std::mt19937 random(7);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{300}, std::size_t{64} << 10}) {
    std::string text;
    while (text.size() < size) text += static_cast<char>('a' + random() % 20);
    EXPECT_EQ(decoded(decoder, ContentCoding::gzip, gzip_coded(text)), text);
    EXPECT_EQ(decoded(decoder, ContentCoding::deflate, deflate_coded(text)), text);
    EXPECT_EQ(decoded(decoder, ContentCoding::deflate, deflate_coded(text, true)), text) << "bare";
    EXPECT_EQ(decoded(decoder, ContentCoding::zstd, zstd_coded(text)), text);
    EXPECT_EQ(decoded(decoder, ContentCoding::zstd, zstd_coded(text, false)), text)
        << "without its size, with a window of megabytes";
    EXPECT_EQ(decoded(decoder, ContentCoding::identity, text), text);
  }
  EXPECT_EQ(decoded(decoder, ContentCoding::gzip, ""), "") << "an answer to HEAD";
}

TEST(ContentDecoder, members_and_frames_follow_each_other) {
  ContentDecoder decoder;
  EXPECT_EQ(decoded(decoder, ContentCoding::gzip,
                    gzip_coded("{\"usage\":") + gzip_coded("") + gzip_coded("5}")),
            "{\"usage\":5}");
  const std::string skippable("\x50\x2a\x4d\x18\x03\x00\x00\x00xyz", 11);
  EXPECT_EQ(decoded(decoder, ContentCoding::zstd, zstd_coded("ab") + skippable + zstd_coded("c")),
            "abc");
}

TEST(ContentDecoder, the_bound_is_exact) {
  ContentDecoder decoder;
  const std::string text(1'000, 'x');
  for (const auto& [coding, coded] : {std::pair{ContentCoding::gzip, gzip_coded(text)},
                                      std::pair{ContentCoding::deflate, deflate_coded(text)},
                                      std::pair{ContentCoding::deflate, deflate_coded(text, true)},
                                      std::pair{ContentCoding::zstd, zstd_coded(text)},
                                      std::pair{ContentCoding::zstd, zstd_coded(text, false)},
                                      std::pair{ContentCoding::identity, text}}) {
    EXPECT_EQ(decoder.decode(coding, coded, 1'000).status, Status::complete);
    EXPECT_EQ(decoder.decode(coding, coded, 999).status, Status::too_large);
    EXPECT_EQ(decoder.decode(coding, coded, 10).status, Status::too_large);
  }
}

TEST(ContentDecoder, a_bomb_costs_its_bound) {
  ContentDecoder decoder;
  const std::string zeros(64 << 20, '\0');
  const std::string members = [&] {
    std::string all;
    const std::string one = gzip_coded(std::string_view(zeros).substr(0, 60'000));
    while (all.size() < 60'000) all += one;
    return all;
  }();
  const std::string gzip = gzip_coded(zeros), zstd = zstd_coded(zeros, false);
  EXPECT_LT(gzip.size(), zeros.size() / 1'000);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(decoder.decode(ContentCoding::gzip, gzip, 64 << 10).status, Status::too_large);
    EXPECT_EQ(decoder.decode(ContentCoding::gzip, members, 64 << 10).status, Status::too_large);
    EXPECT_EQ(decoder.decode(ContentCoding::zstd, zstd, 64 << 10).status, Status::too_large);
  }
}

TEST(ContentDecoder, what_is_cut_short_or_damaged_is_broken_at_every_byte) {
  ContentDecoder decoder;
  const std::string text =
      "{\"usage\": {\"total_tokens\": 50000}, \"text\": \"" + std::string(200, 'y') + "\"}";
  const std::pair<ContentCoding, std::string> bodies[] = {
      {ContentCoding::gzip, gzip_coded(text)},
      {ContentCoding::deflate, deflate_coded(text)},
      {ContentCoding::deflate, deflate_coded(text, true)},
      {ContentCoding::zstd, zstd_coded(text)}};
  for (const auto& [coding, coded] : bodies) {
    for (std::size_t cut = 1; cut < coded.size(); ++cut) {
      ASSERT_EQ(decoder.decode(coding, coded.substr(0, cut), 4096).status, Status::broken)
          << static_cast<int>(coding) << " cut at " << cut;
    }
    EXPECT_EQ(decoder.decode(coding, coded + "x", 4096).status, Status::broken) << "a tail";
    EXPECT_EQ(decoder.decode(coding, "plain text, nothing coded", 4096).status, Status::broken);
  }
  // gzip checks its bytes: a flipped bit of the data never passes.
  const std::string& gzip = bodies[0].second;
  for (std::size_t at = 10; at < gzip.size(); ++at) {
    std::string damaged = gzip;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x04);
    ASSERT_NE(decoder.decode(ContentCoding::gzip, damaged, 4096).status, Status::complete) << at;
  }
  EXPECT_EQ(decoded(decoder, ContentCoding::gzip, gzip), text) << "and it goes on working";
}

TEST(ContentDecoder, old_formats_of_zstd_are_refused) {
  ContentDecoder decoder;
  for (const int version : {0x22, 0x23, 0x24, 0x25, 0x26, 0x27}) {
    std::string old{static_cast<char>(version), '\xb5', '\x2f', '\xfd'};
    old += std::string(64, '\0');
    EXPECT_EQ(decoder.decode(ContentCoding::zstd, old, 4096).status, Status::broken);
  }
}

}  // namespace
}  // namespace weir::net::content_coding_test
