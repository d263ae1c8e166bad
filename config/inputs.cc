#include "config/inputs.h"

#include <fcntl.h>
#include <glob.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstring>
#include <set>

#include "core/key.h"
#include "core/text.h"

namespace weir::config {
namespace {

constexpr int kLinksMax = 40;  // on the way to a file, as in the kernel

/// Reads `most` bytes of a regular file at most, or says why not. A pipe or device would block or
/// never end.
std::string read_regular(const std::string& path, std::size_t most, std::string& text) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return std::strerror(errno);
  std::string why;
  struct stat status {};
  if (::fstat(fd, &status) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(status.st_mode)) {
    why = S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file";
  }
  while (why.empty() && text.size() < most) {
    char buffer[65536];
    const ssize_t n = ::read(fd, buffer, std::min(sizeof buffer, most - text.size()));
    if (n == 0) break;
    if (n > 0) {
      text.append(buffer, static_cast<std::size_t>(n));
    } else if (errno != EINTR) {
      why = std::strerror(errno);
    }
  }
  ::close(fd);
  return why;
}

/// The directory part is literal: a `[` in a path does not begin a pattern.
std::string escape_pattern(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (std::strchr("*?[]\\", c) != nullptr) out += '\\';
    out += c;
  }
  return out;
}

bool has_wildcard(std::string_view pattern) {
  return pattern.find_first_of("*?[") != std::string_view::npos;
}

bool is_hidden(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return path[slash == std::string::npos ? 0 : slash + 1] == '.';
}

bool is_directory(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

std::vector<std::string> matches(const std::string& directory, const std::string& pattern,
                                 bool rate_limits) {
  if (!has_wildcard(pattern)) return {join(directory, pattern)};
  const std::string whole =
      pattern.starts_with('/') ? pattern : join(escape_pattern(directory), pattern);
  glob_t found{};
  std::vector<std::string> out;
  if (::glob(whole.c_str(), GLOB_NOSORT, nullptr, &found) == 0) {
    for (std::size_t i = 0; i < found.gl_pathc; ++i) {
      std::string path = found.gl_pathv[i];
      const bool leave_out =
          is_hidden(path) || (rate_limits ? is_directory(path) : is_case_file(path));
      if (!leave_out) out.push_back(std::move(path));
    }
  }
  ::globfree(&found);
  std::sort(out.begin(), out.end());
  return out;
}

/// A new match of a pattern, as far as it exists by name: `a/*/b.yaml` -> `a/x`.
std::string would_be_match(const std::string& directory, const std::string& pattern) {
  const std::size_t wild = std::min(pattern.find_first_of("*?["), pattern.size());
  return join(directory, pattern.substr(0, wild) + (wild < pattern.size() ? "x" : ""));
}

/// The hash of the text, or of the reason why nothing could be read.
std::string hash_of(const std::string& text, const std::string& why) {
  return content_hash(why.empty() ? text : "unreadable: " + why);
}

}  // namespace

std::string content_hash(std::string_view bytes) {
  return hex_of(HashSecret::from_bytes({}).hash(bytes));
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& path) {
  if (path.starts_with('/') || directory == ".") return path;
  return directory.ends_with('/') ? directory + path : directory + "/" + path;
}

/// Where a change may put another file behind this path.
struct Inputs::Places {
  std::set<std::string> directories;  // as they are written
  std::set<std::string> links;        // symbolic links, and their targets

  void add(const std::string& path) {
    directories.insert(directory_of(path));
    follow(path);
  }

 private:
  void follow(const std::string& path);
};

/// Walks the path as the kernel does, link by link; a missing part is used as written.
void Inputs::Places::follow(const std::string& path) {
  std::string at = path.starts_with('/') ? "/" : ".";  // no link in it
  std::string rest = path;
  int found = 0;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string name = rest.substr(0, slash);
    rest.erase(0, slash == std::string::npos ? slash : slash + 1);
    if (name.empty() || name == ".") continue;
    const std::string next = join(at, name);
    std::array<char, PATH_MAX> target;
    const ssize_t n = ::readlink(next.c_str(), target.data(), target.size());
    if (n <= 0) {
      at = next;
      continue;
    }
    links.insert(at);
    if (++found > kLinksMax) return;
    if (target[0] == '/') at = "/";
    rest = std::string(target.data(), static_cast<std::size_t>(n)) + "/" + rest;
  }
  if (found > 0) links.insert(directory_of(at));
}

bool is_case_file(std::string_view path) noexcept {
  return path.ends_with("_test.yaml") || path.ends_with("_test.yml");
}

Inputs::Read Inputs::read(const std::string& path, std::size_t most) {
  Read out;
  out.why = read_regular(path, most, out.text);
  out.hash = hash_of(out.text, out.why);
  files_.push_back({path, out.hash, most});
  return out;
}

Inputs::Read Inputs::read_whole(const std::string& path, std::size_t most) {
  Read out = read(path, most + 1);
  if (out.text.size() <= most) return out;
  out.text.clear();
  out.why = "it has more than " + human_size(most);
  return out;
}

std::vector<std::string> Inputs::expand(const std::string& directory, const std::string& pattern,
                                        bool rate_limits) {
  patterns_.push_back({directory, pattern, rate_limits, matches(directory, pattern, rate_limits)});
  return patterns_.back().found;
}

bool Inputs::has_read(const std::string& path) const {
  return std::any_of(files_.begin(), files_.end(),
                     [&](const File& file) { return file.path == path; });
}

bool Inputs::are_unchanged() const {
  if (files_.empty() || depends_on_more_) return false;
  return std::all_of(patterns_.begin(), patterns_.end(),
                     [](const Pattern& pattern) {
                       return pattern.found ==
                              matches(pattern.directory, pattern.pattern, pattern.rate_limits);
                     }) &&
         std::all_of(files_.begin(), files_.end(), [](const File& file) {
           std::string text;
           const std::string why = read_regular(file.path, file.most, text);
           return file.hash == hash_of(text, why);
         });
}

Inputs::Places Inputs::places() const {
  Places out;
  for (const Pattern& pattern : patterns_) {
    out.add(would_be_match(pattern.directory, pattern.pattern));
    for (const std::string& path : pattern.found) out.add(path);
  }
  for (const File& file : files_) out.add(file.path);
  return out;
}

std::vector<std::string> Inputs::directories() const {
  const std::set<std::string> all = places().directories;
  return {all.begin(), all.end()};
}

std::vector<std::string> Inputs::watched() const {
  Places all = places();
  all.links.merge(all.directories);
  return {all.links.begin(), all.links.end()};
}

}  // namespace weir::config
