#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "config/model.h"
#include "core/clock.h"

namespace weir::app {

/// A text that is fetched from elsewhere, with the last good one on disk. The user calls ask() at
/// intervals, checks the fresh text, and calls keep() or refuse(). Not thread-safe.
class RemoteText {
 public:
  /// How a key of Redis is read: its value, or why there is none. Null: there is no Redis.
  struct KeyValue {
    std::string value, error;
    bool found = false;
  };
  using ReadKey = std::function<KeyValue(const std::string& key)>;

  /// `directory`: where the last good text is kept; empty: nowhere.
  RemoteText(config::RemoteDef def, const std::string& directory, std::size_t bytes_max);

  /// Reads the last good text of an earlier process. Sends no request. False: there is none.
  bool restore();
  /// The result: a text that was not there before (`fresh`), the same text, or none (`why`).
  enum class Turn { fresh, same, failed };
  Turn ask(milliseconds deadline, const ReadKey& read_key, const std::atomic<bool>* stop = nullptr);
  /// The text of the last ask(). Valid until the next ask().
  const std::string& fresh() const noexcept { return fresh_; }
  /// The fresh text is good: it is kept, here (unless `here` is false: it is large) and on disk. If
  /// it can't be written, each ask() tries again: with the text that is kept here, else with the
  /// body of the new answer. unkept() has the result.
  void keep(bool here = true);
  /// Why the last good text is not on disk; empty: it is there, or is to be kept nowhere.
  const std::string& unkept() const noexcept { return unkept_; }
  /// Rejects the fresh text. It is not fetched again until it changes. `why` becomes the text of
  /// failed().
  void refuse(std::string why);
  /// The last good one, if it is kept here.
  const std::string& text() const noexcept { return text_; }
  std::string take_text() { return std::exchange(text_, {}); }
  bool has_text() const noexcept { return has_text_; }

  const config::RemoteDef& def() const noexcept { return def_; }
  /// Why there is no newer text, or why it was refused; empty: all is well.
  const std::string& why() const noexcept { return why_; }
  std::string file() const;  ///< where it is kept; empty: nowhere

 private:
  std::string whose() const;  ///< the source that a text on disk must come from
  /// Why it can't be read, or nothing; without `token_file` the token stays empty.
  std::string read_token(std::string& token) const;
  Turn failed(std::string why);
  Turn came(std::string body);
  Turn same();
  void write(std::string_view text);
  std::string wrong_with(const std::string& body, milliseconds deadline, const ReadKey& read_key,
                         const std::atomic<bool>* stop);

  const config::RemoteDef def_;
  const std::string directory_;
  const std::size_t bytes_max_;
  std::string text_, fresh_, why_, refused_why_, unkept_;
  bool has_text_ = false;
  std::string etag_, last_modified_;              // of the last text that was fetched
  std::string fresh_etag_, fresh_last_modified_;  // of the text in examination
  std::string last_digest_;                       // of that text, good or not
};

/// The beginning of the problem of a text that is in force and not on disk. RemoteText::unkept()
/// follows.
inline constexpr std::string_view kUnkept = "it is in force, and can't be kept: ";

/// The SHA-256 of a text, 64 hex digits.
std::string sha256_hex(std::string_view text);

}  // namespace weir::app
