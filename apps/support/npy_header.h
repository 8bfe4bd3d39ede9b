// The header of a .npy file: a Python dictionary literal after a magic string.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sumwire::apps {

struct NpyHeader {
    std::string descr;  // "<f4"; "structured" for a record type
    bool fortran_order = false;
    std::vector<std::uint64_t> shape;
};

// Reads the dictionary. Throws std::invalid_argument that says what is wrong with it; never reads
// out of bounds, whatever the text.
NpyHeader parse_npy_dictionary(std::string_view text);

}  // namespace sumwire::apps
