#pragma once

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string_view>

/// Seeds of random tests.
namespace weir::test {

/// The seed that the environment variable `WEIR_TEST_SEED` gives, else a new one. Who asks for a
/// seed prints it, so that a failure can be repeated. Any thread.
inline std::uint32_t new_seed() {
  std::uint32_t seed = std::random_device{}();
  if (const char* const given = std::getenv("WEIR_TEST_SEED")) {
    const std::string_view text = given;
    std::from_chars(text.data(), text.data() + text.size(), seed);
  }
  return seed;
}

}  // namespace weir::test
