#include "core/zones/zones.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <zlib.h>

#include <fstream>

namespace weir::zones_test {
namespace {

/// An archive of these bytes, packed; gone with the object.
class Packed {
 public:
  explicit Packed(const std::string& text)
      : path_(testing::TempDir() + "zones." + std::to_string(getpid()) + ".gz") {
    const gzFile file = gzopen(path_.c_str(), "wb");
    EXPECT_EQ(gzwrite(file, text.data(), static_cast<unsigned>(text.size())),
              static_cast<int>(text.size()));
    EXPECT_EQ(gzclose(file), Z_OK);
  }
  ~Packed() { unlink(path_.c_str()); }
  Packed(const Packed&) = delete;
  Packed& operator=(const Packed&) = delete;

  const char* path() const { return path_.c_str(); }
  std::string zone(std::string_view name) const { return zones::in_archive(path(), name); }

 private:
  std::string path_;
};

TEST(Zones, AnArchiveGivesTheBytesOfAZone) {
  const Packed archive("A/B 0 4\nA/Bc 4 3\nSame 0 4\n\nabcdxyz");
  EXPECT_EQ(archive.zone("A/B"), "abcd");
  EXPECT_EQ(archive.zone("A/Bc"), "xyz");
  EXPECT_EQ(archive.zone("Same"), "abcd");
}

TEST(Zones, WhatAnArchiveHasNotIsEmpty) {
  const Packed archive("A/B 0 4\n\nA/C 0 4\n");
  for (const char* name : {"A", "A/", "A/C", "A/B ", "A/B 0", "", "a/b"})
    EXPECT_EQ(archive.zone(name), "") << name;
  EXPECT_EQ(zones::in_archive("/nonexistent/zones.gz", "A/B"), "");
}

TEST(Zones, ADamagedArchiveGivesNothing) {
  for (const char* text : {"", "A 0 4\n", "A 0 4\n\nabc", "A 0\n\nabcd", "A 0 4 \n\nabcd",
                           "A x 4\n\nabcd", "A 0 99999999\n\nabcd", "A -1 4\n\nabcd", "A 0 4"}) {
    EXPECT_EQ(Packed(text).zone("A"), "") << text;
  }
  const Packed cut("A 0 4000\n\n" + std::string(4000, 'z'));
  std::ifstream whole(cut.path(), std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(whole)), {});
  std::ofstream(cut.path(), std::ios::binary | std::ios::trunc)
      << bytes.substr(0, bytes.size() / 2);
  EXPECT_EQ(cut.zone("A"), "");
}

TEST(Zones, NamesDoNotLeaveTheFolderOfTheSystem) {
  cctz::time_zone zone;
  EXPECT_TRUE(zones::load("Asia/Shanghai", zone));
  for (const char* name : {"", "/usr/share/zoneinfo/Asia/Shanghai", "Asia/../Asia/Shanghai",
                           "file:Asia/Shanghai", "Asia/Shangai"}) {
    EXPECT_FALSE(zones::load(name, zone)) << name;
  }
}

}  // namespace
}  // namespace weir::zones_test
