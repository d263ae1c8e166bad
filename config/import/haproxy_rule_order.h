#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/import/haproxy_file.h"
#include "config/import/imported.h"

/// The effects of the rules of an HAProxy file before one of them refuses: which keys they track,
/// which requests they accept, which fields they change, and to which section requests go.
namespace weir::config {

/// The parts of the file that could not be imported, once for each line and reason.
class HaproxyNotes {
 public:
  void add(std::size_t line, const HaproxyWords& words, std::string why);
  void add(const HaproxyRule& rule, std::string why) { add(rule.line, rule.words, std::move(why)); }
  const std::vector<ImportNote>& all() const { return notes_; }

 private:
  std::vector<ImportNote> notes_;
  std::set<std::pair<std::size_t, std::string>> known_;
};

/// A track-sc rule.
struct HaproxyTracking {
  const HaproxySection* section = nullptr;
  const HaproxyRule* rule = nullptr;
  std::size_t order = 0;  ///< of the rule in its section
  std::string slot, fetch, table;
  std::vector<HaproxyField> key;
  std::string when;              ///< which requests it tracks
  std::string tracks;            ///< the same, never null, and of requests that have the key
  std::string why;               ///< why that cannot be said
  std::size_t behind = 0;        ///< line of a rule that refuses some by a count before; 0: none
  std::set<std::string> leaves;  ///< conditions under which the rules before ended, as negated
};

bool haproxy_refuses(std::string_view action);
/// weir judges requests: rules of connections are notes.
bool judges_requests(const HaproxySection& section);
std::string haproxy_text(const HaproxyWords& words);
std::string line_text(std::size_t line);

class HaproxyRuleOrder {
 public:
  /// Both outlive it.
  HaproxyRuleOrder(const HaproxyFile& file, HaproxyNotes& notes);

  const std::vector<HaproxyTracking>& trackings() const { return trackings_; }
  /// Is the rule asked at all?
  bool reached(const HaproxySection& section, std::size_t order) const;
  /// `!(path == "/")` of each rule that ends the evaluation before.
  std::vector<std::string> leaves(const HaproxySection& section, std::size_t order) const;
  /// Why that cannot be said; empty: it can.
  const std::string& too_long(const HaproxySection& section) const;
  /// The condition of a rule. Nothing: see `why`.
  std::optional<HaproxyWays> condition(const HaproxySection& section, std::size_t order,
                                       std::string& why) const;
  /// Which requests a section has: `true` for all.
  std::string requests_of(const HaproxySection& section);

 private:
  /// A rule after which no others are evaluated.
  struct Ending {
    std::size_t order = 0;
    HaproxyStage stage = HaproxyStage::request;
    bool of_all = false;    ///< of the later stages too
    std::string condition;  ///< definite
  };
  /// The effects of a section's rules on the rules after them.
  struct Effects {
    std::vector<Ending> endings;
    std::map<std::string, const HaproxyRule*> written;  ///< fields that rules change; the first
    std::array<std::size_t, 7> last_count{};  ///< of each stage: after the last rule that counts
    std::string too_long;
  };

  Effects& effects(const HaproxySection& section);
  const Effects& effects(const HaproxySection& section) const;
  static bool ends(const Ending& ending, const HaproxySection& section, std::size_t order);
  void follow(const HaproxySection& section);
  void track(const HaproxySection& section, std::size_t order, std::size_t refused);
  std::string key_of(HaproxyTracking& tracking, std::vector<std::string>& present) const;
  void end(const HaproxySection& section, std::size_t order);
  bool matters_later(const HaproxySection& section, std::size_t order, bool of_all) const;
  std::string changed_before(const HaproxySection& section, std::size_t order,
                             const std::vector<std::string>& fields) const;
  void route(const HaproxySection& door);

  const HaproxyFile& file_;
  HaproxyNotes& notes_;
  std::vector<Effects> effects_;              ///< of each section
  std::vector<const HaproxySection*> doors_;  ///< sections that take requests and pass them on
  std::map<std::string, std::vector<std::string>> routes_;  ///< section: when, of each door
  bool routed_ = false;
  std::vector<HaproxyTracking> trackings_;
};

}  // namespace weir::config
