#include <utility>

#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

class DenseCodec final : public RoundCodec {
  public:
    DenseCodec(Device& device, std::unique_ptr<ValueCoder> coder, std::size_t payload_words)
        : RoundCodec(device, std::move(coder), {.words = payload_words}) {}

    Progress advance() override {
        return round_ == Round::header ? after_header() : finish(sent_, task().count);
    }

  private:
    enum class Round : std::uint8_t { header, values };

    Progress start() override {
        mark_own_nonzeros();
        if (header().empty()) return after_header();
        round_ = Round::header;
        coder().write_header(values(), own_index(), header());
        add_message(Combine::max_u8, header());
        return Progress::exchange;
    }

    Progress after_header() {
        switch (coder().read_header(header(), task().count)) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(task().count);
            case ValueCoder::Header::usable:
                break;
        }
        coder().dense_index(task().count, index());
        if (!index_is_possible()) return Progress::inconsistent;
        const std::size_t count = coder().words(index());
        if (count == 0) return finish({}, task().count);
        sent_ = words().take(count);
        if (!coder().encode(values(), index(), sent_)) return Progress::inconsistent;
        round_ = Round::values;
        clear_messages();
        add_message(coder().combine(), sent_);
        return Progress::exchange;
    }

    Round round_ = Round::header;
    std::span<std::uint32_t> sent_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_dense_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                             std::size_t payload_words) {
    return std::make_unique<DenseCodec>(device, std::move(coder), payload_words);
}

}  // namespace sumwire::gpu
