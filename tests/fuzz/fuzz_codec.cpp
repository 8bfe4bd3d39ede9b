// A rank whose network answers with anything: the codec ends with a result or says that what came
// back contradicts itself, reads and writes within bounds, and leaves the values alone unless it is
// done.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "gpu/codec/chunk_codec.h"

namespace {

using namespace sumwire::gpu;

// Takes what a fuzzer wrote, and zeros behind its end.
class Input {
  public:
    explicit Input(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}

    std::uint32_t number(std::size_t size) {
        std::uint32_t value = 0;
        fill(std::as_writable_bytes(std::span(&value, 1)).first(size));
        return value;
    }

    void fill(std::span<std::byte> out) {
        const std::size_t some = std::min(out.size(), bytes_.size());
        if (some != 0) std::memcpy(out.data(), bytes_.data(), some);
        std::ranges::fill(out.subspan(some), std::byte{0});
        bytes_ = bytes_.subspan(some);
    }

    bool empty() const { return bytes_.empty(); }

  private:
    std::span<const std::uint8_t> bytes_;
};

// What a message becomes: what this rank sent, changed at some places; or bytes of the input.
void answer(Input& input, std::span<std::byte> message) {
    const std::uint32_t how = input.number(1);
    if (how % 4 == 0) return;
    if (how % 4 == 1) {
        input.fill(message);
        return;
    }
    for (std::uint32_t i = 0; i < how / 4 && !message.empty(); ++i) {
        std::byte& byte = message[input.number(2) % message.size()];
        const auto other = static_cast<std::byte>(input.number(1));
        byte = how % 4 == 2 ? byte | other : byte ^ other;
    }
}

// Memory whose ends the sanitizer watches.
class HeapDevice final : public Device {
  public:
    std::string name() const override { return "heap"; }

  protected:
    Allocation do_allocate(std::size_t bytes) override {
        auto* const data = static_cast<std::byte*>(::operator new(bytes, alignment));
        std::memset(data, 0, bytes);
        return {data, bytes, false};
    }
    void do_deallocate(std::span<std::byte> bytes) noexcept override {
        ::operator delete(bytes.data(), alignment);
    }

  private:
    static constexpr std::align_val_t alignment{4096};
};

// Making a codec takes longer than a chunk does, and they are made to be used again.
ChunkCodec* codec_of(const CodecConfig& config) {
    using Key = std::tuple<Codec, Arithmetic, std::uint32_t, DataType, bool, bool>;
    static HeapDevice device;
    static std::map<Key, std::unique_ptr<ChunkCodec>> codecs;
    constexpr std::size_t kept = 24;
    if (codecs.size() > kept) codecs.clear();
    auto& codec = codecs[{config.codec, config.arithmetic, config.world_size, config.type,
                          config.extrema, config.sums_only}];
    if (!codec) codec = make_chunk_codec(device, config);
    return codec.get();
}

void check(bool holds) {
    if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    Input input({data, size});
    CodecConfig config;
    config.codec = static_cast<Codec>(input.number(1) % 3);
    config.arithmetic = static_cast<Arithmetic>(input.number(1) % 3);
    config.type = static_cast<DataType>(input.number(1) % 6);
    const std::uint32_t kind = input.number(1) % 8;
    config.extrema = kind == 0;
    config.sums_only = kind == 1;
    constexpr std::uint32_t world_sizes[] = {1, 2, 4, 300, 1024};
    config.world_size = world_sizes[input.number(2) % std::size(world_sizes)];
    ChunkTask task;
    task.count = 1 + input.number(2) % 3000;
    task.seed = input.number(4);
    task.expected_union = input.number(1) % 3 == 0 ? ChunkTask::unknown_union : input.number(2);
    task.reduction = static_cast<Reduction>(input.number(1) % 2 + (config.extrema ? 2 : 0));

    std::vector<std::byte> values(task.count * size_of(config.type));
    const std::uint32_t given = input.number(2);
    input.fill(std::span(values).first(std::min<std::size_t>(given, values.size())));
    const std::vector<std::byte> before = values;
    task.values = values.data();

    ChunkCodec* codec = nullptr;
    try {
        codec = codec_of(config);
    } catch (const std::invalid_argument&) {
        return 0;
    }
    Progress progress = codec->begin(task);
    check(progress == Progress::exchange);
    for (unsigned round = 0; progress == Progress::exchange; ++round) {
        check(round < ChunkCodec::max_rounds);
        check(!codec->messages().empty());
        check(values == before);
        for (const Message& message : codec->messages())
            answer(input, message.bytes);
        progress = codec->advance();
    }
    check(progress == Progress::done || values == before);
    return 0;
}
