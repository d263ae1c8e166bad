#include "app/tools/replay/replay_threads.h"

#include <sys/stat.h>

#include <algorithm>

#include "app/support/command.h"
#include "app/support/machine.h"
#include "core/text.h"

namespace weir::app {
namespace {

constexpr unsigned kMost = 64;
/// Below it the other threads would hardly have begun.
constexpr std::uint64_t kWorth = std::uint64_t{4} << 20;

std::uint64_t bytes_of(const replay::Plan& plan) {
  std::uint64_t out = 0;
  for (const replay::Plan::Source& source : plan.sources) {
    struct stat status {};
    if (::stat(source.path.c_str(), &status) == 0)
      out += static_cast<std::uint64_t>(status.st_size);
  }
  return out;
}

}  // namespace

Threads threads_for(std::size_t asked, const replay::Plan& plan, bool store) {
  if (store) return {asked, 1, "Redis is asked in the order of the rows"};
  if (asked == 1) return {asked, 1, "no more are asked for"};
  if (asked > 1) return {asked, static_cast<unsigned>(asked), {}};
  if (bytes_of(plan) < kWorth) return {asked, 1, "the input is small"};
  const Machine machine = look_at_machine();
  const unsigned cores = std::min(usable_cores(machine.affinity, machine.quota), kMost);
  return {asked, cores, cores == 1 ? "this process has one core" : ""};
}

void tell_threads(const replay::Split& split, const Threads& threads, bool verbose) {
  const bool reads_too = threads.most > 1;  // beside one that judges
  const bool less = split.threads == 1 && threads.asked > (reads_too ? 2U : 1U);
  if (!less && !verbose) return;
  if (split.threads > 1)
    return complain(std::to_string(split.threads) + " threads share out " + split.text);
  const std::string asked = less ? "--threads " + std::to_string(threads.asked) + ": " : "";
  complain(asked + (reads_too ? "one thread judges, another one reads: " : "one thread: ") +
           (threads.why.empty() ? split.text : threads.why));
}

std::string threads_text(const policies::PolicySet& set) {
  const replay::Split split = replay::make_split(set, nullptr, kMost, false);
  if (split.by == replay::Split::By::nothing)
    return "replay: one thread judges: " + split.text + "\n";
  if (split.by == replay::Split::By::rows) return "replay: threads share out " + split.text + "\n";
  return "replay: up to " + std::to_string(split.threads) + " threads share out " + split.text +
         "\n";
}

std::string threads_json(const policies::PolicySet& set) {
  const replay::Split split = replay::make_split(set, nullptr, kMost, false);
  const bool rows = split.by == replay::Split::By::rows;
  std::string out = "{\"threads\":" + std::to_string(split.threads) + ",\"by\":";
  append_json(out, split.by == replay::Split::By::nothing ? "nothing" : rows ? "rows" : "policies");
  out += rows ? ",\"field\":" : ",\"text\":";
  append_json(out, rows ? split.field : split.text);
  return out + "}";
}

}  // namespace weir::app
