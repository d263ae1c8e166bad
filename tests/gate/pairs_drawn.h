#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

/// Policies drawn at random, for the random tests of gates.
namespace weir::gate::pairs {

constexpr std::size_t kReplicas = 2;
constexpr std::int64_t kBuckets = 5;
constexpr double kPart = 0.5;

enum class Action : std::uint8_t { flag, graylist, challenge, deny };
inline const char* name_of(Action action) {
  constexpr const char* kNames[] = {"flag", "graylist", "challenge", "deny"};
  return kNames[static_cast<int>(action)];
}
inline bool refuses(Action action) { return action >= Action::challenge; }

struct Rung {
  bool at = false;  ///< else over
  int limit = 1;
  Action action = Action::flag;
  std::int64_t listed_for = 0;  ///< ms; 0: it lists no key
  bool clear = false;
  int score = 0;  ///< 0: none
  bool holds(double value, double part) const {
    return at ? value >= limit * part : value > limit * part;
  }
};

struct Drawn {
  enum class Metric : std::uint8_t { count, sum, distinct, in_flight, score };
  enum class Form : std::uint8_t { exact, every, buckets, rate };
  enum class OnError : std::uint8_t { local, part, allow, deny };
  std::string name;
  int version = 1;  ///< so that no two policies share a counter
  bool outcome = false, shared = false, shadow = false, guards_other = false, always = false,
       reset = false;
  Metric metric = Metric::count;
  Form form = Form::exact;
  OnError on_error = OnError::local;
  std::int64_t window = 10'000;  ///< ms; of a rate: in which one drains
  std::vector<Rung> rungs;

  static Drawn draw(std::mt19937_64& random, const std::string& name, int version) {
    const auto one_of = [&](unsigned n) { return random() % n == 0; };
    Drawn out;
    out.name = name;
    out.version = version;
    out.metric = static_cast<Metric>(random() % 4);
    const bool flies = out.metric == Metric::in_flight;
    const bool adds = out.metric == Metric::count || out.metric == Metric::sum;
    out.form = flies ? Form::exact : static_cast<Form>(random() % 4);
    const bool rough = out.form == Form::buckets || out.form == Form::rate;
    if (rough && !adds) out.form = Form::exact;
    out.outcome = !flies && (!rough || !adds) && one_of(2);
    if (out.form == Form::rate) out.window = 1'000;
    out.shared = one_of(2);
    if (out.shared) out.on_error = static_cast<OnError>(random() % 4);
    out.shadow = one_of(3);
    out.guards_other = one_of(4);
    out.always = !flies && one_of(5);
    out.reset = !flies && out.outcome && one_of(3);
    out.draw_rungs(random);
    return out;
  }

  /// Another policy on the same counter, if there can be one.
  static Drawn twin(std::mt19937_64& random, const Drawn& of, const std::string& name) {
    Drawn out = of;
    out.name = name;
    out.guards_other = random() % 4 == 0;
    if (out.shared) out.on_error = static_cast<OnError>(random() % 4);
    if (out.form == Form::rate) return out;  // its rungs say how much it holds
    out.rungs.clear();
    out.draw_rungs(random);
    for (Rung& rung : out.rungs) rung.clear = false;
    return out;
  }
  bool can_have_twin() const {
    const bool clears =
        std::any_of(rungs.begin(), rungs.end(), [](const Rung& r) { return r.clear; });
    return !shadow && !always && !clears;
  }

  /// A policy on what the rungs of the others give a request together.
  static Drawn draw_score(std::mt19937_64& random, const std::string& name) {
    Drawn out;
    out.name = name;
    out.metric = Metric::score;
    out.shadow = random() % 4 == 0;
    Rung rung;
    rung.at = random() % 2 == 0;
    rung.limit = 10 + static_cast<int>(random() % 40);
    rung.action = static_cast<Action>(random() % 4);
    lists(random, rung);
    out.rungs.push_back(rung);
    return out;
  }

  std::string yaml() const {
    constexpr const char* kMetrics[] = {"count", "sum(n)", "distinct(user)", "in_flight", "score"};
    constexpr const char* kOnError[] = {"local", "{local: 0.5}", "allow", "deny"};
    const bool scored = metric == Metric::score;
    const bool as_rungs = scored && !rungs.front().at;  // `score_over` instead of the metric
    std::string out =
        "  - {name: " + name + ", watch: " + (outcome ? "failed" : "try") + ", key: ip";
    if (!as_rungs) out += std::string(", metric: ") + kMetrics[static_cast<int>(metric)];
    if (!scored) out += ", version: " + std::to_string(version);
    if (metric != Metric::in_flight && !scored) out += ", window: " + window_yaml();
    if (shared)
      out += std::string(", share: redis, on_error: ") + kOnError[static_cast<int>(on_error)];
    if (shadow) out += ", mode: shadow";
    if (guards_other) out += ", guard: other";
    if (always) out += ", charge: always";
    if (reset) out += ", reset: ok";
    out += ",\n     then: [";
    for (const Rung& rung : rungs) {
      if (&rung != &rungs.front()) out += ", ";
      // Over a rate, a rung without a threshold means "over the burst".
      const bool is_burst = form == Form::rate && &rung == &rungs.back();
      const std::string compared = rung.at ? "at: " : as_rungs ? "score_over: " : "over: ";
      out += is_burst ? "{" : "{" + compared + std::to_string(rung.limit) + ", ";
      out += std::string("do: ") + name_of(rung.action);
      if (rung.listed_for != 0) out += ", for: " + std::to_string(rung.listed_for) + "ms";
      if (rung.clear) out += ", clear: true";
      if (rung.score != 0) out += ", score: " + std::to_string(rung.score);
      out += "}";
    }
    return out + "]}\n";
  }

 private:
  static void lists(std::mt19937_64& random, Rung& rung) {
    const bool may = rung.action != Action::flag;
    const bool must = rung.action == Action::graylist;
    if (must || (may && random() % 2 == 0))
      rung.listed_for = static_cast<std::int64_t>(1'000 + random() % 6'000);
  }

  void draw_rungs(std::mt19937_64& random) {
    const auto one_of = [&](unsigned n) { return random() % n == 0; };
    Rung last;
    last.action = static_cast<Action>(random() % 4);
    last.at = form != Form::rate && one_of(2);
    last.limit = 1 + static_cast<int>(random() % 4);
    last.clear = metric != Metric::in_flight && one_of(3);
    lists(random, last);
    if (one_of(3) && last.limit > 1) {
      Rung first;
      first.at = true;
      first.limit = last.limit - 1;
      first.action = one_of(2) ? Action::flag : Action::graylist;
      if (first.action <= last.action) {
        lists(random, first);
        rungs.push_back(first);
      }
    }
    rungs.push_back(last);
    for (Rung& rung : rungs) {
      if (one_of(2)) rung.score = 5 + static_cast<int>(random() % 30);
    }
  }

  std::string window_yaml() const {
    const std::string length = std::to_string(window) + "ms";
    switch (form) {
      case Form::every:
        return "{every: " + length + "}";
      case Form::buckets:
        return "{last: " + length + ", buckets: " + std::to_string(kBuckets) + "}";
      case Form::rate:
        return "{rate: 1/" + length + ", burst: " + std::to_string(rungs.back().limit) + "}";
      case Form::exact:
        break;
    }
    return "{last: " + length + ", exact: true}";
  }
};

}  // namespace weir::gate::pairs
