// statements: SQL of sql/, cut into statements, lists and words. It knows the SQL of that folder and no
// other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace outboxd::app {

// Without comments, but for those between $outboxd$ marks, and without the semicolons.
std::vector<std::string> statements_of(std::string_view sql);

// Runs of blanks are one blank, none are at the ends; what is quoted stays.
std::string on_one_line(std::string_view sql);

// What is between the parenthesis at `open` and its own closing one, and where that is. Nothing in a quoted
// name or text is a parenthesis.
std::size_t closing_parenthesis(std::string_view sql, std::size_t open);

// The parts of a list, which commas outside of parentheses and quotes separate; each on one line.
std::vector<std::string> list_of(std::string_view sql);

// Where `words` begin outside of quotes and parentheses; npos: nowhere.
std::size_t find_words(std::string_view sql, std::string_view words);

// 'text', with an E before it.
std::string text_literal(std::string_view text);

}  // namespace outboxd::app
