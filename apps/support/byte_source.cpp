#include "apps/support/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "apps/support/npy.h"

namespace sumwire::apps {
namespace {

class PlainFile : public ByteSource {
  public:
    explicit PlainFile(const std::filesystem::path& path)
        : path_(path.string()), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
        if (descriptor_ < 0) {
            throw InputError(
                fmt::format("cannot open '{}': {}; give the path of a readable .npy or "
                            ".npy.zst file",
                            path_, std::strerror(errno)));
        }
        struct stat status {};
        if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
            close(descriptor_);
            throw InputError(
                fmt::format("'{}' is {}; give the path of a .npy or .npy.zst file", path_,
                            S_ISDIR(status.st_mode) ? "a directory" : "not a regular file"));
        }
    }
    ~PlainFile() override { close(descriptor_); }

    std::size_t read(std::span<std::byte> out) override {
        std::size_t filled = 0;
        while (filled < out.size()) {
            const ssize_t count = ::read(descriptor_, out.data() + filled, out.size() - filled);
            if (count == 0) break;
            if (count > 0) {
                filled += static_cast<std::size_t>(count);
            } else if (errno != EINTR) {
                throw InputError(
                    fmt::format("cannot read '{}': {}; check the disk and copy the file "
                                "again",
                                path_, std::strerror(errno)));
            }
        }
        return filled;
    }

    void rewind() { lseek(descriptor_, 0, SEEK_SET); }
    const std::string& path() const { return path_; }

  private:
    std::string path_;
    int descriptor_;
};

class ZstdFile : public ByteSource {
  public:
    explicit ZstdFile(std::unique_ptr<PlainFile> file)
        : file_(std::move(file)), context_(ZSTD_createDCtx()), packed_(ZSTD_DStreamInSize()) {
        if (context_ == nullptr) throw std::bad_alloc();
    }

    std::size_t read(std::span<std::byte> out) override {
        ZSTD_outBuffer unpacked{out.data(), out.size(), 0};
        while (unpacked.pos < unpacked.size) {
            if (input_.pos == input_.size && !holds_more_ && !refill()) break;
            const std::size_t hint = ZSTD_decompressStream(context_.get(), &unpacked, &input_);
            if (ZSTD_isError(hint)) {
                throw InputError(
                    fmt::format("'{}' cannot be unpacked with zstd: {}; copy it again, or "
                                "compress it again with zstd",
                                file_->path(), ZSTD_getErrorName(hint)));
            }
            inside_frame_ = hint != 0;
            holds_more_ = inside_frame_ && unpacked.pos == unpacked.size;
        }
        return unpacked.pos;
    }

  private:
    struct Free {
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };

    // False at the end of the file.
    bool refill() {
        input_ = {packed_.data(), file_->read(packed_), 0};
        if (input_.size == 0 && inside_frame_) {
            throw InputError(
                fmt::format("'{}' is truncated: it ends inside its zstd frame; copy it "
                            "again, or compress it again with zstd",
                            file_->path()));
        }
        return input_.size != 0;
    }

    std::unique_ptr<PlainFile> file_;
    std::unique_ptr<ZSTD_DCtx, Free> context_;
    std::vector<std::byte> packed_;
    ZSTD_inBuffer input_{nullptr, 0, 0};
    bool inside_frame_ = false;
    bool holds_more_ = false;  // the decoder may, because it filled all it was given
};

constexpr std::array zstd_magic{std::byte{0x28}, std::byte{0xb5}, std::byte{0x2f}, std::byte{0xfd}};

}  // namespace

std::unique_ptr<ByteSource> open_source(const std::filesystem::path& path) {
    auto file = std::make_unique<PlainFile>(path);
    std::array<std::byte, zstd_magic.size()> magic{};
    const bool packed = file->read(magic) == magic.size() && magic == zstd_magic;
    file->rewind();
    if (packed) return std::make_unique<ZstdFile>(std::move(file));
    return file;
}

}  // namespace sumwire::apps
