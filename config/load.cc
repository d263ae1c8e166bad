#include "config/load.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>

#include "config/import/imported.h"
#include "config/table_check.h"
#include "config/text/table_file.h"
#include "config/text/tree.h"
#include "config/text/yaml_text.h"
#include "core/text.h"

namespace weir::config {
namespace {

constexpr std::size_t kFilesMax = 1000;

// The most bytes of a table: 1,000,000 lines with values of 40 bytes each.
constexpr std::size_t kTableBytes = std::size_t{64} << 20;
constexpr std::size_t kYamlBytes = TreeLimits{}.bytes + 1;  // whose parser says: it is too large
constexpr std::size_t kOtherBytes = std::size_t{4} << 20;

/// A path relative to the main file's directory. It is part of the hash of a configuration, which
/// does not depend on where the files lie or how the main file's path is written.
std::string name_in_hash(const std::string& path, const std::string* directory) {
  if (directory == nullptr || *directory == ".") return path;
  const std::string before = directory->ends_with('/') ? *directory : *directory + "/";
  return path.starts_with(before) ? path.substr(before.size()) : path;
}

/// Adds a file to the input of the configuration's hash.
void add_to_hash(std::string& all, const std::string& path, const std::string* directory,
                 const std::string& hash) {
  const std::string name = name_in_hash(path, directory);
  all += std::to_string(name.size()) + ":" + name + hash;
}

/// Device and inode: two names of one file have the same ones.
std::optional<std::pair<dev_t, ino_t>> identity(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return std::pair{status.st_dev, status.st_ino};
}

struct Included {
  std::vector<IncludePattern> patterns;
  std::vector<SourceText> texts;
};

/// `rate_limits`: the patterns name files of envoyproxy/ratelimit.
void include(const std::string& main_path, const std::vector<Text>& patterns, bool rate_limits,
             std::set<std::pair<dev_t, ino_t>>& seen, Included& out, Inputs& inputs,
             Problems& problems) {
  const std::string directory = directory_of(main_path);
  for (const Text& pattern : patterns) {
    const std::vector<std::string> paths = inputs.expand(directory, pattern.value, rate_limits);
    out.patterns.push_back({pattern, paths.size()});
    if (paths.empty()) problems.warning(pattern.where, quoted(pattern.value) + " matches no file");
    for (const std::string& path : paths) {
      const auto id = identity(path);
      if (id && !seen.insert(*id).second) {
        // A file with two names may become two files.
        if (!inputs.has_read(path)) inputs.depend_on_more();
        continue;
      }
      if (out.texts.size() >= kFilesMax) {
        problems.error(pattern.where, "more than " + std::to_string(kFilesMax) + " files");
        return;
      }
      Inputs::Read file = inputs.read(path, kYamlBytes);
      if (file.why.empty()) {
        out.texts.push_back({path, std::move(file.text), rate_limits, {}});
      } else {
        problems.error(pattern.where, "cannot read " + quoted(path) + ": " + file.why);
      }
    }
  }
}

/// A byte order mark has no meaning in UTF-8, but some editors write one.
void drop_mark(std::string& text) {
  if (text.starts_with("\xEF\xBB\xBF")) text.erase(0, 3);
}

/// Reads the file of limitador's limits as policies. Their YAML is a file of its own, so that
/// problems show their lines.
void read_limitador(const std::string& main_path, const Text& file, const LimitsReader& limits,
                    Included& out, Inputs& inputs, Problems& problems) {
  const std::string path = join(directory_of(main_path), file.value);
  auto [text, hash, why] = inputs.read_whole(path, kOtherBytes);
  if (!why.empty()) return problems.error(file.where, "cannot read " + quoted(path) + ": " + why);
  drop_mark(text);
  Imported imported = limits ? limits(text) : import_limitador(text);
  if (imported.error.empty()) imported.error = imported.broken;
  if (!imported.error.empty()) {
    // Another mistake is another version: a reload that skips unchanged files must see it.
    out.texts.push_back({path + " (as policies)", "# of " + hash + "\n", false, {}});
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
void read_tables(Model& model, const std::string* directory, Problems& problems, Inputs& inputs,
                 std::string& all) {
  for (TableDef& table : model.tables) {
    if (!table.file) continue;
    const std::string path =
        directory == nullptr ? table.file->value : join(*directory, table.file->value);
    Inputs::Read file = directory == nullptr ? Inputs::Read{{}, {}, "no files can be read here"}
                                             : inputs.read_whole(path, kTableBytes);
    if (!file.why.empty()) {
      problems.error(table.file->where, "cannot read " + quoted(path) + ": " + file.why);
      table.sound = false;
      continue;
    }
    drop_mark(file.text);
    const std::size_t errors = problems.errors();
    fill_table(table, file.text, problems);
    table.sound = table.sound && problems.errors() == errors;
    add_to_hash(all, path, directory, file.hash);
  }
}

/// The certificates belong to the configuration in the same way: weir reads new ones by a reload.
void read_certificates(Model& model, const std::string* directory, Problems& problems,
                       Inputs& inputs, std::string& all) {
  if (!model.server.grpc.tls || directory == nullptr) return;
  Server::Grpc::Tls& tls = *model.server.grpc.tls;
  for (Text* const file : {&tls.cert, &tls.key, tls.client_ca ? &*tls.client_ca : nullptr}) {
    if (file == nullptr || file->value.empty()) continue;
    file->value = join(*directory, file->value);
    const Inputs::Read read = inputs.read_whole(file->value, kOtherBytes);
    if (!read.why.empty()) {
      problems.error(file->where, "cannot read " + quoted(file->value) + ": " + read.why);
      continue;
    }
    add_to_hash(all, file->value, directory, read.hash);
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
              const std::string* directory, Inputs inputs) {
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
  read_tables(model, directory, out.problems, inputs, all);
  check_limits(model, out.problems);
  read_certificates(model, directory, out.problems, inputs, all);
  place_files(model, directory, out.problems);
  out.inputs = std::move(inputs);
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

std::vector<FileView> Loaded::views() const {
  std::vector<FileView> out;
  for (const SourceFile& file : files) out.push_back({file.name, file.text});
  return out;
}

Loaded load_file(const std::string& path, const Environment& environment,
                 const RemoteReader& remote, const LimitsReader& limits) {
  Problems problems;
  Inputs inputs;
  Inputs::Read main_file = inputs.read(path, kYamlBytes);
  if (!main_file.why.empty()) {
    Loaded out;
    out.files.push_back({path, {}, {}});
    out.inputs = std::move(inputs);
    out.problems.error({}, "cannot read the file: " + main_file.why);
    return out;
  }
  SourceText main{path, std::move(main_file.text), false, {}};
  drop_mark(main.text);
  Included included;
  const FilePatterns patterns = file_patterns(main.text);
  std::set<std::pair<dev_t, ino_t>> seen;
  if (const auto id = identity(path)) seen.insert(*id);
  include(path, patterns.included, false, seen, included, inputs, problems);
  include(path, patterns.rate_limits, true, seen, included, inputs, problems);
  for (const Text& file : patterns.limitador)
    read_limitador(path, file, limits, included, inputs, problems);
  if (!patterns.remotes.empty()) inputs.depend_on_more();
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
      finish(std::move(texts), environment, std::move(problems), &directory, std::move(inputs));
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
