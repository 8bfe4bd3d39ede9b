#include <utility>

#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

class DenseCodec final : public RoundCodec {
  public:
    explicit DenseCodec(CodecParts parts)
        : RoundCodec({.device = parts.device,
                      .coder = std::move(parts.coder),
                      .type = parts.type,
                      .words = parts.payload_words}) {}

  private:
    enum class Round : std::uint8_t { header, values };

    Progress start() override {
        const std::span<std::byte> sent = header(blocks_of(task().count));
        if (sent.empty()) return after_header();
        round_ = Round::header;
        scan();
        coder().write_header(all_blocks(), sent);
        add_message(Combine::max_u8, sent);
        return Progress::exchange;
    }

    Progress step() override {
        return round_ == Round::header ? after_header() : finish(sent_, task().count);
    }

    Progress after_header() {
        switch (coder().read_header(all_blocks(), header(blocks_of(task().count)))) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(task().count);
            case ValueCoder::Header::usable:
                break;
        }
        coder().dense_index(task().count, index());
        round_ = Round::values;
        return send_values(task().count, sent_);
    }

    Round round_ = Round::header;
    std::span<std::uint32_t> sent_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_dense_codec(CodecParts parts) {
    return std::make_unique<DenseCodec>(std::move(parts));
}

}  // namespace sumwire::gpu
