#include "apps/support/npy.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <utility>

#include "apps/support/byte_source.h"
#include "apps/support/npy_header.h"

namespace sumwire::apps {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::string_view magic = "\x93NUMPY";
constexpr std::size_t preamble_bytes = 8;  // magic and version
// NumPy writes about a hundred bytes; what is longer than this is no header.
constexpr std::size_t most_header_bytes = 65536;
// Memory is taken as data arrives, so that a small file cannot ask for all of it.
constexpr std::size_t growth_elements = std::size_t{1} << 18U;

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
    throw InputError(fmt::format("'{}' {}", path.string(), what));
}

std::uint32_t read_little_endian(std::span<const std::byte> bytes) {
    std::uint32_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i)
        value |= std::to_integer<std::uint32_t>(bytes[i]) << (8 * i);
    return value;
}

NpyHeader read_header(const std::filesystem::path& path, ByteSource& source) {
    std::array<std::byte, preamble_bytes> preamble{};
    if (source.read(preamble) != preamble.size() ||
        std::memcmp(preamble.data(), magic.data(), magic.size()) != 0) {
        fail(path, path.extension() == ".zst"
                       ? "is damaged (its first bytes are not zstd's, nor NumPy's within); copy it "
                         "again, or compress it again with zstd"
                       : "is not a .npy file (its first bytes are not NumPy's); save the gradient "
                         "with numpy.save");
    }
    const auto version = std::to_integer<unsigned>(preamble[6]);
    if (version < 1 || version > 3) {
        fail(path, fmt::format("is a .npy file of version {}, but only 1 to 3 are known; save the "
                               "gradient with numpy.save",
                               version));
    }
    std::array<std::byte, 4> length_field{};
    const std::span length(length_field.data(), version == 1 ? 2U : 4U);
    if (source.read(length) != length.size()) {
        fail(path, "is truncated inside its header; copy it again");
    }
    const std::size_t bytes = read_little_endian(length);
    if (bytes > most_header_bytes) {
        fail(path,
             fmt::format("claims a header of {} bytes, which no array has; the file is damaged, "
                         "copy it again",
                         bytes));
    }
    std::string dictionary(bytes, '\0');
    if (source.read(std::as_writable_bytes(std::span(dictionary))) != bytes) {
        fail(path, "is truncated inside its header; copy it again");
    }
    try {
        return parse_npy_dictionary(dictionary);
    } catch (const std::invalid_argument& error) {
        fail(path, fmt::format("has a damaged .npy header: {}; save it again with numpy.save",
                               error.what()));
    }
}

// "float64 ('<f8')" where the code is of a number, which is easier to find in a script.
std::string describe(const std::string& descr) {
    const std::string quoted = fmt::format("'{}'", descr);
    constexpr std::array<std::pair<char, std::string_view>, 4> kinds{
        {{'f', "float"}, {'i', "int"}, {'u', "uint"}, {'c', "complex"}}};
    if (descr.size() < 3) return quoted;
    const auto kind = std::ranges::find(kinds, descr[1], &std::pair<char, std::string_view>::first);
    unsigned bytes = 0;
    const auto [end, error] = std::from_chars(&descr[2], descr.data() + descr.size(), bytes);
    const bool number = error == std::errc() && end == descr.data() + descr.size() && bytes <= 32;
    if (kind == kinds.end() || !number) return quoted;
    return fmt::format("{}{} ({})", kind->second, 8 * bytes, quoted);
}

void check_type(const std::filesystem::path& path, const NpyHeader& header) {
    constexpr std::string_view convert = "save it with numpy.save(path, array.astype('<f4'))";
    if (header.descr == ">f4") {
        fail(path, fmt::format("holds big-endian float32 ('>f4'), but little-endian is needed; {}",
                               convert));
    }
    if (header.descr != "<f4") {
        fail(path, fmt::format("holds {}, but float32 ('<f4') is needed; {}",
                               describe(header.descr), convert));
    }
    if (header.fortran_order && header.shape.size() > 1) {
        fail(path,
             "is in Fortran order, but C order is needed; save it with numpy.save(path, "
             "numpy.ascontiguousarray(array))");
    }
}

std::size_t count_elements(const std::filesystem::path& path, const NpyHeader& header) {
    std::size_t count = 1;
    if (std::ranges::find(header.shape, std::uint64_t{0}) != header.shape.end()) return 0;
    for (const std::uint64_t size : header.shape) {
        if (__builtin_mul_overflow(count, size, &count) || count > PTRDIFF_MAX / sizeof(float)) {
            fail(path, "claims a shape that no memory holds; the file is damaged, copy it again");
        }
    }
    return count;
}

std::vector<float> read_values(const std::filesystem::path& path, ByteSource& source,
                               std::size_t count) {
    std::vector<float> values;
    while (values.size() < count) {
        const std::size_t begin = values.size();
        try {
            values.resize(begin + std::min(count - begin, std::max(growth_elements, begin)));
        } catch (const std::bad_alloc&) {
            fail(path, fmt::format("holds {} bytes, more than there is memory; free some, or use a "
                                   "smaller gradient",
                                   count * sizeof(float)));
        }
        const auto added = std::as_writable_bytes(std::span(values).subspan(begin));
        const std::size_t bytes = source.read(added);
        if (bytes != added.size()) {
            fail(path,
                 fmt::format("is truncated: {} of its {} bytes of data are missing; copy it again",
                             (count - begin) * sizeof(float) - bytes, count * sizeof(float)));
        }
    }
    std::byte surplus{};
    if (source.read({&surplus, 1}) != 0) {
        fail(path,
             fmt::format("goes on after the {} elements that its header tells of; save it again "
                         "with numpy.save, one array in a file",
                         count));
    }
    return values;
}

}  // namespace

std::vector<float> read_npy(const std::filesystem::path& path) {
    const auto source = open_source(path);
    const NpyHeader header = read_header(path, *source);
    check_type(path, header);
    return read_values(path, *source, count_elements(path, header));
}

void write_npy(const std::filesystem::path& path, std::span<const float> values) {
    constexpr std::size_t header_bytes = 128;  // a multiple of 64 aligns the data
    constexpr std::size_t length_bytes = 2;
    constexpr std::size_t text_bytes = header_bytes - preamble_bytes - length_bytes;
    const std::string dictionary =
        fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", values.size());
    std::string head(magic);
    head += {'\x01', '\x00', static_cast<char>(text_bytes), '\x00'};
    head += dictionary;
    head.resize(header_bytes - 1, ' ');
    head += '\n';

    std::ofstream file(path, std::ios::binary);
    file.write(head.data(), static_cast<std::streamsize>(head.size()));
    file.write(reinterpret_cast<const char*>(values.data()),
               static_cast<std::streamsize>(values.size_bytes()));
    file.close();
    if (!file) {
        fail(path, fmt::format("cannot be written: {}; choose a writable place with {} bytes free",
                               std::strerror(errno), head.size() + values.size_bytes()));
    }
}

}  // namespace sumwire::apps
