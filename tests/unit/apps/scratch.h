// A directory for a test's files, and ways to fill it.
#pragma once

#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "apps/support/temporary_directory.h"

namespace sumwire::apps {

class Scratch : public testing::Test {
  protected:
    std::filesystem::path write(const std::string& name, std::string_view bytes) const {
        const auto path = directory_.path() / name;
        std::ofstream(path, std::ios::binary) << bytes;
        return path;
    }
    const std::filesystem::path& directory() const { return directory_.path(); }

  private:
    TemporaryDirectory directory_;
};

inline std::string compress(std::string_view bytes) {
    std::string packed(ZSTD_compressBound(bytes.size()), '\0');
    packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
    return packed;
}

// A version 1 file as NumPy writes it, with the dictionary given.
inline std::string npy_bytes(std::string dictionary, std::string_view data) {
    constexpr std::size_t text_bytes = 118;
    dictionary.resize(text_bytes - 1, ' ');
    dictionary += '\n';
    return std::string("\x93NUMPY\x01", 7) + '\0' + static_cast<char>(text_bytes) + '\0' +
           dictionary + std::string(data);
}

inline std::string float32_npy(const std::string& shape, std::string_view data) {
    return npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + ", }", data);
}

// What an exception of that type says; fails if none is thrown.
template <typename Error, typename Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const Error& error) {
        return error.what();
    }
    ADD_FAILURE() << "nothing was thrown";
    return {};
}

}  // namespace sumwire::apps
