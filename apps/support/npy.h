// NumPy's array files, plain (.npy) or compressed with zstd (.npy.zst).
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <vector>

namespace sumwire::apps {

// A file cannot be used. The message names the file, what is wrong with it, and the remedy.
class InputError : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

// The values of a little-endian float32 array of any shape in C order, flattened. Throws
// InputError.
std::vector<float> read_npy(const std::filesystem::path& path);

// Writes a one-dimensional array, uncompressed. Throws InputError.
void write_npy(const std::filesystem::path& path, std::span<const float> values);

}  // namespace sumwire::apps
