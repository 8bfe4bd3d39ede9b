// Sizes as command lines write them: "64", "1K", "64M", "1G" (powers of 1,024).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sumwire::apps {

// Throws std::invalid_argument that quotes the text and says what is expected.
std::size_t parse_size(std::string_view text);

// For CLI::Validator: empty if the text is a size.
std::string check_size(const std::string& text);

}  // namespace sumwire::apps
