#include <algorithm>
#include <utility>

#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

class PackedCodec final : public RoundCodec {
  public:
    PackedCodec(Device& device, std::unique_ptr<ValueCoder> coder, std::size_t payload_words)
        : RoundCodec(device, std::move(coder), {.words = payload_words}) {}

    Progress advance() override {
        return round_ == Round::index ? after_index() : finish(sent_, union_);
    }

  private:
    enum class Round : std::uint8_t { index, values };

    Progress start() override {
        round_ = Round::index;
        mark_own_nonzeros();
        std::ranges::copy(own_index(), index().begin());
        add_message(Combine::bit_or, index());
        if (!header().empty()) {
            coder().write_header(values(), own_index(), header());
            add_message(Combine::max_u8, header());
        }
        return Progress::exchange;
    }

    Progress after_index() {
        if (!index_is_possible()) return Progress::inconsistent;
        union_ = population(index());
        switch (coder().read_header(header(), task().count)) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(union_);
            case ValueCoder::Header::usable:
                break;
        }
        const std::size_t count = coder().words(index());
        if (count == ValueCoder::no_words) return Progress::inconsistent;
        if (count == 0) return finish({}, union_);
        sent_ = words().take(count);
        if (!coder().encode(values(), index(), sent_)) return Progress::inconsistent;
        round_ = Round::values;
        clear_messages();
        add_message(coder().combine(), sent_);
        return Progress::exchange;
    }

    Round round_ = Round::index;
    std::uint32_t union_ = 0;
    std::span<std::uint32_t> sent_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_packed_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                              std::size_t payload_words) {
    return std::make_unique<PackedCodec>(device, std::move(coder), payload_words);
}

}  // namespace sumwire::gpu
