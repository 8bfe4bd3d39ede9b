// Byte strings in tests, written as hexadecimal digits.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace sumwire::nic {

inline std::byte from_digit(char digit) {
    if (digit >= '0' && digit <= '9') return static_cast<std::byte>(digit - '0');
    if (digit >= 'a' && digit <= 'f') return static_cast<std::byte>(digit - 'a' + 10);
    throw std::invalid_argument("no hexadecimal digit");
}

// "12 34ab" as bytes; blanks separate as the reader likes.
inline std::vector<std::byte> bytes(std::string_view hex) {
    std::string digits;
    for (const char c : hex) {
        if (c != ' ') digits += c;
    }
    std::vector<std::byte> result;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        result.push_back((from_digit(digits[i]) << 4) | from_digit(digits[i + 1]));
    }
    return result;
}

inline std::vector<std::byte> zeros(std::size_t count) {
    return std::vector<std::byte>(count, std::byte{0});
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

}  // namespace sumwire::nic
