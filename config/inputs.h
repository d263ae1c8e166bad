#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace weir::config {

/// Sixteen bytes as hex digits of a hash without a secret, so that it is equal everywhere: it names
/// a version, and protects nothing.
std::string content_hash(std::string_view bytes);

/// The directory part of a path; `.` if it has none.
std::string directory_of(const std::string& path);
/// A path that is relative to `directory`, as one that can be opened from here.
std::string join(const std::string& directory, const std::string& path);

/// Whether a path is that of cases for `weir test`, in files beside the policies that they test:
/// `x_test.yaml` or `x_test.yml`.
bool is_case_file(std::string_view path) noexcept;

/// Reads the files of a configuration, and remembers which files and patterns these were, with
/// hashes of the contents: are_unchanged() then finds out without parsing whether a load would read
/// anything else. Every function blocks on file I/O: call it off the workers. Not thread-safe.
class Inputs {
 public:
  struct Read {
    std::string text;
    std::string hash;  ///< content_hash() of the text, or of its substitute
    std::string why;   ///< why there is no text; empty: there is
  };
  /// Reads `most` bytes of a regular file at most. A pipe or device would block or never end.
  Read read(const std::string& path, std::size_t most);
  /// Reads a file that must not have more than `most` bytes.
  Read read_whole(const std::string& path, std::size_t most);

  /// The files that a pattern of glob(3) names, sorted by bytes; a relative pattern begins at
  /// `directory`. Hidden files are left out. `rate_limits`: files of another program, which knows
  /// no case files, and passes over folders.
  std::vector<std::string> expand(const std::string& directory, const std::string& pattern,
                                  bool rate_limits);

  bool has_read(const std::string& path) const;

  /// The load depends on more than the files and patterns: are_unchanged() is false from now
  /// on.
  void depend_on_more() noexcept { depends_on_more_ = true; }
  /// Whether a load would read the same contents from files with the same names.
  bool are_unchanged() const;

  /// Directories of every file and pattern, as they are written.
  std::vector<std::string> directories() const;
  /// To watch (config/text/watch.h): these, and where symbolic links on the way to the files are
  /// or lead now.
  std::vector<std::string> watched() const;

 private:
  struct File {
    std::string path, hash;
    std::size_t most = 0;  // bytes that are read
  };
  struct Pattern {
    std::string directory, pattern;
    bool rate_limits = false;
    std::vector<std::string> found;
  };
  struct Places;
  Places places() const;

  std::vector<File> files_;
  std::vector<Pattern> patterns_;
  bool depends_on_more_ = false;
};

}  // namespace weir::config
