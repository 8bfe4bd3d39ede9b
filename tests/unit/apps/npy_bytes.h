// .npy files, written byte by byte.
#pragma once

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sumwire::apps::testing {

inline std::string little_endian(std::uint64_t value, unsigned bytes) {
    std::string text;
    for (unsigned i = 0; i < bytes; ++i)
        text += static_cast<char>(value >> (8 * i));
    return text;
}

inline std::string npy_magic(unsigned version) {
    return "\x93NUMPY" + little_endian(version, 1) + little_endian(0, 1);
}

inline std::string npy_head(std::string_view dictionary, unsigned version = 1) {
    return npy_magic(version) + little_endian(dictionary.size(), version == 1 ? 2 : 4) +
           std::string(dictionary);
}

inline std::string float_bytes(const std::vector<float>& values) {
    std::string text;
    for (const float value : values)
        text += little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return text;
}

inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
    std::ofstream(path, std::ios::binary)
        .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A one-dimensional array.
inline void write_gradient(const std::filesystem::path& path, const std::vector<float>& values) {
    write_file(path, npy_head("{'descr': '<f4', 'fortran_order': False, 'shape': (" +
                              std::to_string(values.size()) + ",), }\n") +
                         float_bytes(values));
}

}  // namespace sumwire::apps::testing
