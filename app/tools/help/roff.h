#pragma once

#include <string>
#include <string_view>

/// Text for man pages, in the man macros of roff.
namespace weir::app {

/// So that roff prints the text as it is, also at the beginning of a line.
std::string roff_text(std::string_view text);

/// The part of Markdown that weir's references are written in: headings, paragraphs, lists, code,
/// links (their text stays), and tables, of which each row becomes a term with its description.
std::string roff_of_markdown(std::string_view markdown);

}  // namespace weir::app
