#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "config/import/haproxy_fields.h"

/// A file of HAProxy as its sections, with their rules in the order in which they are asked.
namespace weir::config {

/// When rules of a section are asked: those of a connection first.
enum class HaproxyStage : std::uint8_t {
  connection,
  session,
  content,
  request,
  redirect,
  backend,
  other,  ///< of answers, and lines that are no rules
};

/// A line of a section, taken apart: `http-request deny deny_status 429 if slow`.
struct HaproxyRule {
  std::size_t line = 0;
  HaproxyWords words;  ///< as in the file
  HaproxyStage stage = HaproxyStage::other;
  std::string action;      ///< `deny`
  HaproxyWords arguments;  ///< `deny_status 429`
  HaproxyWords condition;  ///< after `if` or `unless`
  bool unless = false;
};

/// A stick-table.
struct HaproxyTable {
  std::size_t line = 0;
  HaproxyWords words;
  std::string type = "ip", length = "32", expire;
  bool peers = false;
  std::map<std::string, std::string> stores;  ///< name: period
};

struct HaproxySection {
  std::size_t line = 0;
  std::string kind;  ///< frontend, listen, backend, defaults ...
  std::string name;
  std::string mode;                ///< tcp, http; empty: not set
  std::vector<HaproxyRule> rules;  ///< in the order of asking
  /// Criterion, flags and patterns of each line.
  std::map<std::string, std::vector<HaproxyWords>> acls;
  std::set<std::string> counting_acls;  ///< those that read a count
  std::set<std::string> counts;         ///< variables that rules of the file make of counts

  bool takes_requests() const { return kind == "frontend" || kind == "listen"; }
};

struct HaproxyFile {
  std::vector<HaproxySection> sections;
  std::map<std::string, HaproxyTable> tables;
};

HaproxyFile haproxy_file(std::string_view text);

/// A count that a condition reads.
struct HaproxyCount {
  std::string name;     ///< `http_req_rate`
  std::string slot;     ///< of sc_...: `0`
  std::string fetch;    ///< of src_... and ...,table_...: whose count, instead of a slot
  std::string table;    ///< empty: that of the slot, or the section's own
  std::string compare;  ///< gt, ge; not a limit: lt, le, eq
  std::int64_t number = 0;
};

/// One test of a condition.
struct HaproxyTest {
  std::string expression;  ///< empty: see count
  std::string definite;    ///< the same, never null: may be negated
  std::optional<HaproxyCount> count;
};

/// Alternatives of tests that hold together.
using HaproxyWays = std::vector<std::vector<HaproxyTest>>;

/// Does a word of these read a count, by itself or through an ACL?
bool reads_count(const HaproxySection& section, const HaproxyWords& words);
/// The condition after `if` or `unless`. Nothing: see `why`. The fields that it reads are added to
/// `fields`.
std::optional<HaproxyWays> haproxy_condition(const HaproxySection& section, const HaproxyRule& rule,
                                             std::vector<std::string>& fields, std::string& why);
/// All of them as one expression, for conditions without counts; `true` if nothing is asked.
std::string joined(const HaproxyWays& ways, bool definite);
/// `a && b`, without parts that are empty or `true`.
std::string all_of(const std::vector<std::string>& conditions);

}  // namespace weir::config
