#pragma once

#include <string>
#include <string_view>
#include <vector>

/// The findings of `weir doctor`.
namespace weir::app::doctor {

enum class State : std::uint8_t { ok, warning, problem };
std::string_view name_of(State state) noexcept;

struct Finding {
  State state;
  std::string check;   ///< the subject of the check: `redis`, `cgroup` ...
  std::string what;    ///< the observation
  std::string advice;  ///< the remedy; empty if all is well
};

class Findings {
 public:
  void ok(std::string_view check, std::string what) { add(State::ok, check, std::move(what), {}); }
  void warning(std::string_view check, std::string what, std::string advice) {
    add(State::warning, check, std::move(what), std::move(advice));
  }
  void problem(std::string_view check, std::string what, std::string advice) {
    add(State::problem, check, std::move(what), std::move(advice));
  }
  const std::vector<Finding>& all() const noexcept { return all_; }
  std::size_t count(State state) const noexcept;

  /// A line each, what to do below it.
  std::string to_text(bool colours) const;
  std::string to_json() const;

 private:
  void add(State state, std::string_view check, std::string what, std::string advice) {
    all_.push_back({state, std::string(check), std::move(what), std::move(advice)});
  }
  std::vector<Finding> all_;
};

}  // namespace weir::app::doctor
