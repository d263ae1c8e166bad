#pragma once

namespace weir {

/// Maps all characters that some common program treats as equal without regard to letter case to
/// one character: the union of simple case folding in Go, .NET and Java. `S`, `s` and U+017F give
/// `s`; `K`, `k` and U+212A give `k`; U+0130 and U+0131 give `i`. Pure.
char32_t fold_case(char32_t code) noexcept;

}  // namespace weir
