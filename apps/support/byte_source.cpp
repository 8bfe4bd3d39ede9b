#include "apps/support/byte_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <array>
#include <cerrno>
#include <cstring>
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
            throw InputError(fmt::format("cannot open '{}': {}; give the path of a readable .npy or "
                                         ".npy.zst file",
                                         path_, std::strerror(errno)));
        }
        struct stat status {};
        if (fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode)) {
            close(descriptor_);
            throw InputError(fmt::format(
                "'{}' is not a regular file; give the path of a .npy or .npy.zst file", path_));
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
                throw InputError(fmt::format("cannot read '{}': {}; check the disk and copy the file "
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
            if (input_.pos == input_.size && !refill()) break;
            const std::size_t before = unpacked.pos;
            const std::size_t hint = ZSTD_decompressStream(context_.get(), &unpacked, &input_);
            if (ZSTD_isError(hint)) {
                throw InputError(fmt::format("'{}' is damaged zstd: {}; copy or compress it again",
                                             file_->path(), ZSTD_getErrorName(hint)));
            }
            inside_frame_ = hint != 0;
            if (input_.pos == input_.size && unpacked.pos == before && ended_) break;
        }
        return unpacked.pos;
    }

  private:
    struct Free {
        void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
    };

    // False at the end of the file and of what the decoder still holds.
    bool refill() {
        const std::size_t count = ended_ ? 0 : file_->read(packed_);
        input_ = {packed_.data(), count, 0};
        if (count != 0) return true;
        if (!std::exchange(ended_, true)) return true;
        if (inside_frame_) {
            throw InputError(fmt::format("'{}' is truncated: it ends inside its zstd frame; copy or "
                                         "compress it again",
                                         file_->path()));
        }
        return false;
    }

    std::unique_ptr<PlainFile> file_;
    std::unique_ptr<ZSTD_DCtx, Free> context_;
    std::vector<std::byte> packed_;
    ZSTD_inBuffer input_{nullptr, 0, 0};
    bool inside_frame_ = false;
    bool ended_ = false;
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
