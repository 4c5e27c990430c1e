// query: the parameters of a request's target. Pure.
#pragma once

#include <string>
#include <string_view>

namespace outboxd::console {

// The part before the question mark.
std::string_view path_of(std::string_view target);

// The question mark and the text after it; empty if there is none.
std::string_view query_of(std::string_view target);

// The first value of this name, decoded; empty if there is none or it cannot be decoded.
std::string parameter(std::string_view target, std::string_view name);

}  // namespace outboxd::console
