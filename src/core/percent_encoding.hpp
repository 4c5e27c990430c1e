// percent_encoding: %XX in parts of a URL (RFC 3986, section 2.1).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace outboxd {

// Returns nullopt if a '%' is not followed by two hexadecimal digits.
std::optional<std::string> percent_decoded(std::string_view text);

// Encodes all characters except letters, digits, "-._~" and those in `plain_as_well`.
std::string percent_encoded(std::string_view text, std::string_view plain_as_well = "");

}  // namespace outboxd
