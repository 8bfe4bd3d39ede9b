#include <utility>

#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

class PackedCodec final : public RoundCodec {
  public:
    explicit PackedCodec(CodecParts parts)
        : RoundCodec({.device = parts.device,
                      .coder = std::move(parts.coder),
                      .type = parts.type,
                      .words = parts.payload_words}) {}

  private:
    enum class Round : std::uint8_t { level, index, values };

    Progress start() override {
        round_ = Round::level;
        scan();
        summarise(own_index(), task().count, level());
        add_message(Combine::bit_or, level_words());
        if (!coder().header_is_by_block()) send_header(0);
        return Progress::exchange;
    }

    Progress step() override {
        switch (round_) {
            case Round::level:
                return after_level();
            case Round::index:
                return after_index();
            case Round::values:
                return finish(sent_, union_);
        }
        return Progress::inconsistent;
    }

    void send_header(std::uint32_t blocks) {
        sent_header_ = header(blocks);
        if (sent_header_.empty()) return;
        coder().write_header(level().occupied, sent_header_);
        add_message(Combine::max_u8, sent_header_);
    }

    Progress after_level() {
        if (!level_is_possible(level(), own_index(), task().count)) return Progress::inconsistent;
        clear_messages();
        partial_ = partial().first(partial_blocks(level()));
        take_partial(own_index(), level(), partial_);
        if (!partial_.empty()) add_message(Combine::bit_or, partial_);
        if (coder().header_is_by_block()) send_header(population(level().occupied));
        if (messages().empty()) return after_index();
        round_ = Round::index;
        return Progress::exchange;
    }

    Progress after_index() {
        put_together(level(), partial_, task().count, index());
        if (!index_is_possible()) return Progress::inconsistent;
        union_ = population(index());
        switch (coder().read_header(level().occupied, sent_header_)) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(union_);
            case ValueCoder::Header::usable:
                break;
        }
        round_ = Round::values;
        return send_values(union_, sent_);
    }

    Round round_ = Round::level;
    std::span<std::byte> sent_header_;
    std::span<std::uint32_t> partial_;
    std::uint32_t union_ = 0;
    std::span<std::uint32_t> sent_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_packed_codec(CodecParts parts) {
    return std::make_unique<PackedCodec>(std::move(parts));
}

}  // namespace sumwire::gpu
