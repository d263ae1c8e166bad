#pragma once

#include <map>
#include <string>
#include <vector>

namespace weir::config {

/// Notices that files in some directories may have changed: an editor's rename, a plain write, and
/// the `..data` swap by which Kubernetes updates a ConfigMap. It watches directories, never files:
/// a watch on a file that is replaced is dead after the first replacement.
///
/// It has no thread and never blocks. The owner waits until fd() is readable, calls drain(), lets
/// the dust settle (150 ms), loads again and compares content hashes; then it calls watch() with
/// the new load's directories, whether or not that load was good. Not thread-safe.
class Watch {
 public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  /// Readable when something happened; -1 if inotify is not to be had.
  int fd() const noexcept { return fd_; }
  /// Whether the owner must look every 5 s: there is no inotify, or a directory is missing or could
  /// not be watched.
  bool must_poll() const noexcept { return fd_ < 0 || !missing_.empty(); }
  const std::vector<std::string>& missing() const noexcept { return missing_; }

  /// Watches these directories from now on, and no others. True: one of them was not watched
  /// before, so earlier changes in it were not noticed.
  bool watch(const std::vector<std::string>& directories);
  /// Takes all waiting events; true if anything may have changed. Re-adds watches that the kernel
  /// dropped (the directory was replaced, or the queue ran over).
  bool drain();

 private:
  void add(const std::string& directory);

  int fd_ = -1;
  std::map<int, std::vector<std::string>> by_watch_;  // two names may be one directory
  std::vector<std::string> wanted_;
  std::vector<std::string> missing_;
};

}  // namespace weir::config
