// main() of a fuzzer in builds without libFuzzer: runs the seeds, then random changes of them.
//
//   weir_fuzz_NAME SECONDS SEED_FOLDER [RANDOM_SEED]
//
// No coverage guides the changes. This test notices a fuzzer that no longer compiles, a seed that
// fails, and faults that the first thousands of damaged inputs find; libFuzzer (scripts/fuzz) looks
// further. The random seed is printed, so that a run can be repeated; WEIR_FUZZ_SEED is used where
// none is given. The input that ends the process is printed in hexadecimal digits.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Weak: a build without sanitizers has none.
extern "C" void __sanitizer_set_death_callback(void (*callback)()) __attribute__((weak));

namespace {

const std::string* current = nullptr;  // the input under way

/// Runs in a process that is about to end: it allocates nothing.
void print_current() {
  if (current == nullptr) return;
  static constexpr char kDigits[] = "0123456789abcdef";
  const auto print = [](const char* text, std::size_t size) {
    if (::write(STDERR_FILENO, text, size) < 0) ::_exit(1);
  };
  print("\nfailing input: ", 16);
  for (const char c : *current) {
    const auto byte = static_cast<unsigned char>(c);
    const char digits[] = {kDigits[byte >> 4], kDigits[byte & 15]};
    print(digits, 2);
  }
  print("\n", 1);
  current = nullptr;
}

void on_abort(int) {
  print_current();
  ::signal(SIGABRT, SIG_DFL);
  ::raise(SIGABRT);
}

constexpr std::size_t kLongestInput = 4096;  // bytes, libFuzzer's default

void run(const std::string& input) {
  // A heap block of exactly the input's size: AddressSanitizer sees every read past its end.
  std::vector<std::uint8_t> bytes(input.begin(), input.end());
  bytes.shrink_to_fit();
  current = &input;
  LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  current = nullptr;
}

std::vector<std::string> seeds_of(const std::filesystem::path& folder) {
  std::vector<std::string> seeds;
  if (std::filesystem::is_directory(folder)) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(entry.path(), std::ios::binary);
      seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
  }
  std::sort(seeds.begin(), seeds.end());  // the order of a directory is not the same everywhere
  if (seeds.empty()) seeds.emplace_back();
  return seeds;
}

/// Applies 1 to 8 small changes: bytes replaced, inserted, removed, copied, or taken from another
/// seed.
std::string changed(std::string text, const std::vector<std::string>& seeds,
                    std::mt19937_64& random) {
  const auto below = [&](std::size_t n) {
    return n == 0 ? 0 : static_cast<std::size_t>(random() % n);
  };
  for (std::size_t changes = 1 + below(8); changes > 0; --changes) {
    const std::size_t at = below(text.size() + 1);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(random());
        break;
      case 1:
        text.insert(at, 1, static_cast<char>(random()));
        break;
      case 2:
        text.erase(at, 1 + below(16));
        break;
      case 3: {
        const std::string piece = text.substr(at, 1 + below(32));
        text.insert(below(text.size() + 1), piece);
        break;
      }
      case 4:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      default: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size() + 1), 1 + below(64)));
      }
    }
  }
  if (text.size() > kLongestInput) text.resize(kLongestInput);
  return text;
}

}  // namespace

int main(int count, char** words) {
  unsigned seconds = 0;
  if (count < 3 ||
      std::from_chars(words[1], words[1] + std::strlen(words[1]), seconds).ec != std::errc{}) {
    std::fprintf(stderr, "usage: %s SECONDS SEED_FOLDER [RANDOM_SEED]\n", words[0]);
    return 2;
  }
  if (__sanitizer_set_death_callback != nullptr) __sanitizer_set_death_callback(print_current);
  ::signal(SIGABRT, on_abort);
  std::uint64_t seed = std::random_device{}();
  const char* const given = count > 3 ? words[3] : std::getenv("WEIR_FUZZ_SEED");
  if (given != nullptr) std::from_chars(given, given + std::strlen(given), seed);
  std::printf("random seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  const std::vector<std::string> seeds = seeds_of(words[2]);
  for (const std::string& input : seeds) run(input);
  // Processor time: a busy machine does not shorten the test to nothing.
  std::mt19937_64 random(seed);
  std::uint64_t runs = 0;
  const std::clock_t end = std::clock() + static_cast<std::clock_t>(seconds) * CLOCKS_PER_SEC;
  while (std::clock() < end) {
    for (int i = 0; i < 32; ++i, ++runs)
      run(changed(seeds[random() % seeds.size()], seeds, random));
  }
  std::printf("%zu seeds and %llu changed inputs\n", seeds.size(),
              static_cast<unsigned long long>(runs));
  return 0;
}
