#include "config/load.h"

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

#include "config/import/imported.h"
#include "config/table_check.h"
#include "config/text/table_file.h"
#include "config/text/tree.h"
#include "config/text/yaml_text.h"
#include "core/key.h"
#include "core/text.h"

namespace weir::config {
namespace {

constexpr std::size_t kFilesMax = 1000;
constexpr int kLinksMax = 40;  // on the way to a file, as in the kernel

/// Sixteen bytes as hex digits of a hash without a secret, so that it is equal everywhere: it names
/// a version, and protects nothing.
std::string content_hash(std::string_view bytes) {
  return hex_of(HashSecret::from_bytes({}).hash(bytes));
}

// The most bytes of a table: 1,000,000 lines with values of 40 bytes each.
constexpr std::size_t kTableBytes = std::size_t{64} << 20;
constexpr std::size_t kOtherBytes = std::size_t{4} << 20;

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

/// Reads the text of a file of the configuration, whose parser says where it is too large.
std::string read_yaml(const std::string& path, std::string& text) {
  return read_regular(path, TreeLimits{}.bytes + 1, text);
}

/// Reads a file that must not have more than `most` bytes.
std::string read_whole(const std::string& path, std::size_t most, std::string& text) {
  std::string why = read_regular(path, most + 1, text);
  if (text.size() <= most) return why;
  text.clear();
  return "it has more than " + human_size(most);
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

std::string join(const std::string& directory, const std::string& path) {
  if (path.starts_with('/') || directory == ".") return path;
  return directory.ends_with('/') ? directory + path : directory + "/" + path;
}

/// A path relative to the main file's directory. It is part of the hash of a configuration, which
/// does not depend on where the files lie or how the main file's path is written.
std::string name_in_hash(const std::string& path, const std::string* directory) {
  if (directory == nullptr || *directory == ".") return path;
  const std::string before = directory->ends_with('/') ? *directory : *directory + "/";
  return path.starts_with(before) ? path.substr(before.size()) : path;
}

/// Adds a file to what the configuration's hash is made of.
void add_to_hash(std::string& all, const std::string& path, const std::string* directory,
                 const std::string& hash) {
  const std::string name = name_in_hash(path, directory);
  all += std::to_string(name.size()) + ":" + name + hash;
}

/// Where a change may put another file behind this path.
struct Places {
  std::set<std::string> directories;  // as they are written
  std::set<std::string> links;        // where symbolic links stand, and what they lead to

  void add(const std::string& path) {
    directories.insert(directory_of(path));
    follow(path);
  }
  void tell(Loaded& out) const {
    out.directories.assign(directories.begin(), directories.end());
    std::set<std::string> all = links;
    all.insert(directories.begin(), directories.end());
    out.watched.assign(all.begin(), all.end());
  }

 private:
  void follow(const std::string& path);
};

/// Walks the path as the kernel does, link by link; a missing part is used as written.
void Places::follow(const std::string& path) {
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

/// `rate_limits`: files of another program, which knows no case files, and passes over folders.
std::vector<std::string> expand(const std::string& directory, const std::string& pattern,
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

/// Device and inode: two names of one file have the same ones.
std::optional<std::pair<dev_t, ino_t>> identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_dev, status.st_ino};
}

/// A new match of a pattern, as far as it exists by name: `a/*/b.yaml` -> `a/x`.
std::string would_be_match(const std::string& directory, const std::string& pattern) {
  const std::size_t wild = std::min(pattern.find_first_of("*?["), pattern.size());
  return join(directory, pattern.substr(0, wild) + (wild < pattern.size() ? "x" : ""));
}

struct Included {
  std::vector<IncludePattern> patterns;
  std::vector<SourceText> texts;
};

/// `rate_limits`: the patterns name files of envoyproxy/ratelimit.
void include(const std::string& main_path, const std::vector<Text>& patterns, bool rate_limits,
             std::set<std::pair<dev_t, ino_t>>& seen, Included& out, Places& places,
             Problems& problems) {
  const std::string directory = directory_of(main_path);
  for (const Text& pattern : patterns) {
    places.add(would_be_match(directory, pattern.value));
    const std::vector<std::string> paths = expand(directory, pattern.value, rate_limits);
    out.patterns.push_back({pattern, paths.size()});
    if (paths.empty()) problems.warning(pattern.where, quoted(pattern.value) + " matches no file");
    for (const std::string& path : paths) {
      places.add(path);
      const auto id = identity(path);
      if (id && !seen.insert(*id).second) continue;
      if (out.texts.size() >= kFilesMax) {
        problems.error(pattern.where, "more than " + std::to_string(kFilesMax) + " files");
        return;
      }
      SourceText file{path, {}, rate_limits, {}};
      if (const std::string why = read_yaml(path, file.text); !why.empty()) {
        problems.error(pattern.where, "cannot read " + quoted(path) + ": " + why);
        continue;
      }
      out.texts.push_back(std::move(file));
    }
  }
}

/// A byte order mark says nothing in UTF-8, but some editors write one.
void drop_mark(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
}

/// Reads the file of limitador's limits as policies. Their YAML is a file of its own, so that
/// problems show what they are about.
void read_limitador(const std::string& main_path, const Text& file, const LimitsReader& limits,
                    Included& out, Places& places, Problems& problems) {
  const std::string path = join(directory_of(main_path), file.value);
  places.add(path);
  std::string text;
  if (const std::string why = read_whole(path, kOtherBytes, text); !why.empty())
    return problems.error(file.where, "cannot read " + quoted(path) + ": " + why);
  drop_mark(text);
  Imported imported = limits ? limits(text) : import_limitador(text);
  if (imported.error.empty()) imported.error = imported.broken;
  if (!imported.error.empty()) {
    // Another mistake is another version: a reload that tries only what has changed must see it.
    out.texts.push_back({path + " (as policies)", "# of " + content_hash(text) + "\n", false, {}});
    return problems.error(file.where, quoted(path) + ": " + imported.error);
  }
  for (const ImportNote& note : imported.left_out) {
    problems.warning(file.where, path + ":" + std::to_string(note.line) + ": " + quoted(note.what) +
                                     " is left out: " + note.why);
  }
  out.texts.push_back(
      {path + " (as policies)", std::move(imported.yaml), false, std::move(imported.limits)});
}

/// Reads the csv files of tables; they belong to the configuration like included files: a change is
/// a reload. Null `directory`: there is no file system to read from.
void read_tables(Model& model, const std::string* directory, Problems& problems, Places& places,
                 std::string& all) {
  for (TableDef& table : model.tables) {
    if (!table.file) continue;
    const std::string path =
        directory == nullptr ? table.file->value : join(*directory, table.file->value);
    if (directory != nullptr) places.add(path);
    std::string text;
    const std::string why =
        directory == nullptr ? "no files can be read here" : read_whole(path, kTableBytes, text);
    if (!why.empty()) {
      problems.error(table.file->where, "cannot read " + quoted(path) + ": " + why);
      table.sound = false;
      continue;
    }
    drop_mark(text);
    const std::size_t errors = problems.errors();
    fill_table(table, text, problems);
    table.sound = table.sound && problems.errors() == errors;
    add_to_hash(all, path, directory, content_hash(text));
  }
}

/// The certificates belong to the configuration in the same way: weir reads new ones by a reload.
void read_certificates(Model& model, const std::string* directory, Problems& problems,
                       Places& places, std::string& all) {
  if (!model.server.grpc.tls || directory == nullptr) return;
  Server::Grpc::Tls& tls = *model.server.grpc.tls;
  for (Text* const file : {&tls.cert, &tls.key, tls.client_ca ? &*tls.client_ca : nullptr}) {
    if (file == nullptr || file->value.empty()) continue;
    file->value = join(*directory, file->value);
    places.add(file->value);
    std::string text;
    if (const std::string why = read_whole(file->value, kOtherBytes, text); !why.empty()) {
      problems.error(file->where, "cannot read " + quoted(file->value) + ": " + why);
      continue;
    }
    add_to_hash(all, file->value, directory, content_hash(text));
  }
}

/// Makes the paths of lists and of remote texts openable from here, and checks that the lists'
/// files exist. Their content is no part of the configuration: the running process reads it,
/// however large it is, and reads it again when it changes.
void place_files(Model& model, const std::string* directory, Problems& problems) {
  const auto place = [&](std::optional<Text>& path) {
    if (path && directory != nullptr) path->value = join(*directory, path->value);
  };
  for (ListDef& list : model.lists) {
    if (list.url) {
      place(list.url->token_file);
      place(list.url->ca_file);
    }
    if (!list.file || directory == nullptr) continue;
    place(list.file);
    struct stat status {};
    const bool there = ::stat(list.file->value.c_str(), &status) == 0;
    const std::string why = !there                     ? std::strerror(errno)
                            : !S_ISREG(status.st_mode) ? "it is not a regular file"
                            : ::access(list.file->value.c_str(), R_OK) != 0 ? std::strerror(errno)
                                                                            : "";
    if (!why.empty())
      problems.error(list.file->where, "cannot read " + quoted(list.file->value) + ": " + why);
  }
  for (RemoteDef& remote : model.remotes) {
    place(remote.token_file);
    place(remote.ca_file);
  }
}

Loaded finish(std::vector<SourceText> texts, const Environment& environment, Problems problems,
              const std::string* directory, Places places) {
  Loaded out;
  out.problems = std::move(problems);
  for (SourceText& text : texts) drop_mark(text.text);
  Model model = parse(texts, environment, out.problems);
  std::string all;
  for (SourceText& text : texts) {
    std::string hash = content_hash(text.text);
    add_to_hash(all, text.name, directory, hash);
    out.files.push_back({std::move(text.name), std::move(text.text), std::move(hash)});
  }
  for (std::size_t i = out.files.size(); i < model.files.size(); ++i)
    out.files.push_back({model.files[i], {}, {}});
  read_tables(model, directory, out.problems, places, all);
  check_limits(model, out.problems);
  read_certificates(model, directory, out.problems, places, all);
  place_files(model, directory, out.problems);
  places.tell(out);
  out.hash = content_hash(all);
  if (!out.problems.has_errors()) {
    out.model = std::move(model);
  } else {
    model.draft = true;
    out.draft = std::move(model);
  }
  return out;
}

}  // namespace

bool is_case_file(std::string_view path) noexcept {
  return path.ends_with("_test.yaml") || path.ends_with("_test.yml");
}

std::vector<FileView> Loaded::views() const {
  std::vector<FileView> out;
  for (const SourceFile& file : files) out.push_back({file.name, file.text});
  return out;
}

Loaded load_file(const std::string& path, const Environment& environment,
                 const RemoteReader& remote, const LimitsReader& limits) {
  Problems problems;
  Places places;
  places.add(path);
  SourceText main{path, {}, false, {}};
  if (const std::string why = read_yaml(path, main.text); !why.empty()) {
    Loaded out;
    out.files.push_back({path, {}, {}});
    places.tell(out);
    out.problems.error({}, "cannot read the file: " + why);
    return out;
  }
  drop_mark(main.text);
  Included included;
  const FilePatterns patterns = file_patterns(main.text);
  std::set<std::pair<dev_t, ino_t>> seen;
  if (const auto id = identity(path)) seen.insert(*id);
  include(path, patterns.included, false, seen, included, places, problems);
  include(path, patterns.rate_limits, true, seen, included, places, problems);
  for (const Text& file : patterns.limitador)
    read_limitador(path, file, limits, included, places, problems);
  for (const RemoteDef& def : patterns.remotes) {
    RemoteRead read = remote ? remote(def) : RemoteRead{{}, "nothing is fetched here"};
    if (read.problem.empty()) {
      included.texts.push_back({def.name(), std::move(read.text), false});
    } else {
      problems.error(def.where, "cannot include " + quoted(def.name()) + ": " + read.problem);
    }
  }
  std::vector<SourceText> texts;
  texts.push_back(std::move(main));
  std::move(included.texts.begin(), included.texts.end(), std::back_inserter(texts));
  const std::string directory = directory_of(path);
  Loaded out =
      finish(std::move(texts), environment, std::move(problems), &directory, std::move(places));
  out.includes = std::move(included.patterns);
  return out;
}

Loaded load_text(std::string_view name, std::string_view text) {
  return load_texts({{std::string(name), std::string(text), false, {}}});
}

Loaded load_texts(std::vector<SourceText> texts, const Environment& environment) {
  return finish(std::move(texts), environment, {}, nullptr, {});
}

}  // namespace weir::config
