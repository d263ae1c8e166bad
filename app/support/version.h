#pragma once

#include <string>
#include <string_view>

/// Which weir this is.
namespace weir::app {

/// The commit that it was built from: 12 hex digits, with `-dirty` after them if the tree had
/// other changes; `unknown` outside of a repository. Generated (cmake/write_commit.cmake).
std::string_view commit() noexcept;

/// `weir 0.1.0 (1a2b3c4d5e6f)`
std::string version_text();

}  // namespace weir::app
