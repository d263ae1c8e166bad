#pragma once

#include "config/cases.h"
#include "config/sections/sections.h"

/// Parts of a case file that more than one source reads.
namespace weir::config {

/// `{name: value}`, each value one text.
std::vector<std::pair<Text, Text>> read_text_map(Reader& reader, const Member& m);
/// A scalar's text, which may be empty.
std::optional<Text> read_any_text(Reader& reader, const Member& m);
/// One text, or a list of them.
std::vector<Text> read_key_texts(Reader& reader, const Member& m);
/// `2m` or `2026-01-05T10:00:00Z`; reports an error if the value is neither.
std::optional<Text> read_when(Reader& reader, const Member& m);

void read_expect(Reader& reader, const Member& m, std::optional<CaseExpect>& out);
void add_expect_tables(std::vector<TableDoc>& out);

}  // namespace weir::config
