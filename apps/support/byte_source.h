// Reads a file's bytes in order, unpacked if the file is compressed with zstd.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

namespace sumwire::apps {

class ByteSource {
  public:
    virtual ~ByteSource() = default;
    ByteSource(const ByteSource&) = delete;
    ByteSource& operator=(const ByteSource&) = delete;

    // Fills the span from its beginning and returns how much there was; less than asked for only at
    // the end. Throws InputError (npy.h) if the file cannot be read or its compression is damaged.
    virtual std::size_t read(std::span<std::byte> out) = 0;

  protected:
    ByteSource() = default;
};

// Tells zstd from anything else by the file's first bytes. Throws InputError.
std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path);

}  // namespace sumwire::apps
