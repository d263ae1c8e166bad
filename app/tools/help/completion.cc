#include "embedded/completion.h"

#include <CLI/CLI.hpp>
#include <memory>

#include "app/support/command.h"
#include "app/support/exit_code.h"

namespace weir::app {
namespace {

constexpr std::string_view kCompletionExamples =
    "Examples:\n"
    "  source <(weir completion bash)       in this shell; in ~/.bashrc for all\n"
    "  weir completion zsh > \"${fpath[1]}/_weir\"\n"
    "  weir completion fish > ~/.config/fish/completions/weir.fish\n"
    "\n"
    "Commands, flags and their values are completed; the names of policies, lists and views are "
    "those\n"
    "of the running weir, asked at its admin door (--admin, $WEIR_ADMIN_LISTEN).";

std::function<int()> declare_completion(CLI::App& app, const Globals&) {
  auto shell = std::make_shared<std::string>();
  app.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}).description(""));
  return [shell] {
    print(*shell == "bash"  ? embedded::completion::k_completion_bash
          : *shell == "zsh" ? embedded::completion::k_completion_zsh
                            : embedded::completion::k_completion_fish);
    return int{kOk};
  };
}

}  // namespace

const Command kCompletion{"completion", "Print shell completion for weir", kCompletionExamples,
                          declare_completion};

}  // namespace weir::app
