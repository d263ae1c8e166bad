#include <gmock/gmock.h>
#include <stdio.h>

#include <array>
#include <string>

/// What the compiler and linker were told must be seen on the binary (checksec's list).
namespace weir::app::hardening_test {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

std::string printed_by(const std::string& tool) {
  std::string out;
  FILE* pipe = ::popen((tool + " '" WEIR_BINARY "' 2>&1").c_str(), "r");
  if (pipe == nullptr) return out;
  std::array<char, 4096> piece;
  while (const std::size_t n = ::fread(piece.data(), 1, piece.size(), pipe))
    out.append(piece.data(), n);
  ::pclose(pipe);
  return out;
}

std::string readelf(const std::string& options) { return printed_by("readelf -W " + options); }

#ifndef WEIR_SANITIZED

TEST(Hardening, the_binary_is_position_independent) {
  EXPECT_THAT(readelf("-h"), HasSubstr("Type:                              DYN"));
}

TEST(Hardening, relocations_are_read_only_and_bound_at_start) {
  EXPECT_THAT(readelf("-l"), HasSubstr("GNU_RELRO"));
  EXPECT_THAT(readelf("-d"), AnyOf(HasSubstr("BIND_NOW"), HasSubstr("Flags: NOW")));
}

TEST(Hardening, no_segment_is_writable_and_executable) {
  const std::string segments = readelf("-l");
  EXPECT_THAT(segments, Not(HasSubstr("RWE")));
  EXPECT_THAT(segments, HasSubstr("GNU_STACK"));
}

TEST(Hardening, stacks_are_guarded) {
  EXPECT_THAT(readelf("--dyn-syms"), HasSubstr("__stack_chk_fail"));
}

TEST(Hardening, fortified_functions_are_used) {
  EXPECT_THAT(readelf("--dyn-syms"), AnyOf(HasSubstr("__memcpy_chk"), HasSubstr("__snprintf_chk"),
                                           HasSubstr("__read_chk"), HasSubstr("__poll_chk")));
}

TEST(Hardening, indirect_jumps_land_where_they_may) {
#ifdef __x86_64__
  EXPECT_THAT(readelf("-S"), HasSubstr(".note.gnu.property"));
#endif
}

TEST(Hardening, no_library_is_searched_for_beside_the_system_s) {
  EXPECT_THAT(readelf("-d"), Not(AnyOf(HasSubstr("RPATH"), HasSubstr("RUNPATH"))));
}

// g++ 12 leaves out calls of functions that do nothing but prefetch (core/prefetch.h), which no
// other test would notice.
TEST(MachineCode, prefetches_are_in_it) {
  const std::string code = printed_by(
      "objdump --no-show-raw-insn "
      "--disassemble=_ZNK4weir7limiter4Bank8prefetchENS0_9CounterIdERKNS0_10CounterKeyE");
  ASSERT_THAT(code, HasSubstr("weir7limiter4Bank8prefetch"));
  EXPECT_THAT(code, AnyOf(HasSubstr("\tprefetch"), HasSubstr("\tprfm"),
                          HasSubstr("limiter5Table8prefetch")));  // called, where little is inlined
}

#else

TEST(Hardening, is_looked_at_on_binaries_without_sanitizers) {
  EXPECT_THAT(readelf("-h"), HasSubstr("ELF"));
}

#endif

}  // namespace
}  // namespace weir::app::hardening_test
