#include <algorithm>
#include <utility>

#include "gpu/codec/count_sketch.h"
#include "gpu/codec/inactivation.h"
#include "gpu/codec/peeling.h"
#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

// What memory is set aside for.
constexpr std::uint32_t usual_words = chunk_elements + chunk_elements / 2;
constexpr std::uint32_t usual_counters = usual_words + usual_words / 2;

class SketchCodec final : public RoundCodec {
  public:
    SketchCodec(Device& device, std::unique_ptr<ValueCoder> coder, SketchKeys keys)
        : RoundCodec(device, std::move(coder),
                     {.words = usual_counters,
                      .request_words = usual_words,
                      .scratch_words = 2 * usual_words + chunk_elements}),
          keys_(keys),
          peeling_(device, usual_words, usual_counters),
          inactivation_(device, usual_words, usual_counters),
          own_words_(device),
          solutions_(device) {
        own_words_.set_home(scratch().first(usual_words));
        solutions_.set_home(scratch().subspan(usual_words, usual_words));
        positions_ = scratch().last(chunk_elements);
    }

    Progress advance() override {
        switch (round_) {
            case Round::header:
                return after_header();
            case Round::index:
                return after_index();
            case Round::index_and_sketch:
                return after_index_and_sketch();
            case Round::sketch:
                return after_sketch();
            case Round::requests:
                return after_requests();
        }
        return Progress::inconsistent;
    }

  private:
    enum class Round : std::uint8_t { header, index, index_and_sketch, sketch, requests };

    Progress start() override {
        mark_own_nonzeros();
        coder().write_header(values(), own_index(), header());
        if (keys_ == SketchKeys::positions && task().expected_union != ChunkTask::unknown_union) {
            round_ = Round::header;
        } else {
            round_ = Round::index;
            send_index();
        }
        add_message(Combine::max_u8, header());
        return Progress::exchange;
    }

    void send_index() {
        std::ranges::copy(own_index(), index().begin());
        add_message(Combine::bit_or, index());
    }

    Progress after_header() {
        const std::uint32_t expected = std::min(task().expected_union, task().count);
        switch (coder().read_header(header(), task().count)) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(expected);
            case ValueCoder::Header::usable:
                break;
        }
        const std::uint32_t counters = sketch_counters(expected);
        plain_ = counters >= task().count;
        if (!(plain_ ? encode_all() : encode_own_nonzeros(counters))) return Progress::inconsistent;
        round_ = Round::index_and_sketch;
        clear_messages();
        send_index();
        add_message(Combine::add_i32, sent_);
        return Progress::exchange;
    }

    bool encode_all() {
        sent_ = words().take(task().count);
        index_all(task().count, index());
        return coder().encode(values(), index(), sent_);
    }

    bool encode_own_nonzeros(std::uint32_t counters) {
        const std::uint32_t own = population(own_index());
        const std::span<std::uint32_t> own_words = own_words_.take(own);
        if (!coder().encode(values(), own_index(), own_words)) return false;
        list_positions(own_index(), positions_);
        sketch_words(counters, {positions_.first(own)}, own_words);
        return true;
    }

    void sketch_words(std::uint32_t counters, const Keys& keys,
                      std::span<const std::uint32_t> from) {
        shape_ = {counters / 3, task().seed};
        sent_ = words().take(counters);
        make_sketch(shape_, keys, from, sent_);
    }

    Progress after_index_and_sketch() {
        if (!index_is_possible()) return Progress::inconsistent;
        union_ = population(index());
        list_positions(index(), positions_);
        if (plain_) return finish_plain_positions();
        return begin_peeling({positions_.first(union_)}, union_);
    }

    // `sent_` has a word for each element of the chunk.
    Progress finish_plain_positions() {
        const std::span<std::uint32_t> packed = solutions_.take(union_);
        for (std::uint32_t i = 0; i < union_; ++i) {
            packed[i] = std::exchange(sent_[positions_[i]], 0);
        }
        const bool explained =
            std::ranges::all_of(sent_, [](std::uint32_t word) { return word == 0; });
        return explained ? finish(packed, union_) : Progress::inconsistent;
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
        const std::span<std::uint32_t> own_words = own_words_.take(count);
        if (!coder().encode(values(), index(), own_words)) return Progress::inconsistent;
        own_words_of_union_ = own_words;
        const std::uint32_t counters = sketch_counters(static_cast<std::uint32_t>(count));
        // So few words that a sketch that peels takes more than twice their number.
        plain_ = counters > 2 * count;
        if (plain_) {
            sent_ = words().take(count);
            std::ranges::copy(own_words, sent_.begin());
        } else {
            sketch_words(counters, {}, own_words);
        }
        round_ = Round::sketch;
        clear_messages();
        add_message(Combine::add_i32, sent_);
        return Progress::exchange;
    }

    Progress after_sketch() {
        if (plain_) return finish(sent_, union_);
        return begin_peeling({}, own_words_of_union_.size());
    }

    Progress begin_peeling(const Keys& keys, std::size_t unknowns) {
        peeling_.begin({shape_, keys, sent_, solutions_.take(unknowns)});
        return peeling_.peel() == 0 ? finish_peeling() : request();
    }

    Progress request() {
        set_stalled();
        if (round_ == Round::index_and_sketch) {
            own_words_of_union_ = own_words_.take(union_);
            if (!coder().encode(values(), index(), own_words_of_union_)) {
                return Progress::inconsistent;
            }
        }
        requests_ = inactivation_.choose(peeling_);
        requested_ = request_words().take(requests_.size());
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            requested_[i] = own_words_of_union_[requests_[i]];
        }
        round_ = Round::requests;
        clear_messages();
        add_message(Combine::add_i32, requested_);
        return Progress::exchange;
    }

    Progress after_requests() {
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            peeling_.supply(requests_[i], requested_[i]);
        }
        return peeling_.peel() == 0 ? finish_peeling() : Progress::inconsistent;
    }

    Progress finish_peeling() {
        if (!peeling_.consistent()) return Progress::inconsistent;
        return finish(peeling_.problem().solutions, union_);
    }

    SketchKeys keys_;
    Peeling peeling_;
    Inactivation inactivation_;
    WordBuffer own_words_;
    WordBuffer solutions_;
    std::span<std::uint32_t> positions_;

    Round round_ = Round::header;
    bool plain_ = false;  // the words themselves instead of their sketch
    SketchShape shape_;
    std::uint32_t union_ = 0;
    std::span<std::uint32_t> sent_;
    std::span<std::uint32_t> own_words_of_union_;
    std::span<const std::uint32_t> requests_;
    std::span<std::uint32_t> requested_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_sketch_codec(Device& device, std::unique_ptr<ValueCoder> coder,
                                              SketchKeys keys) {
    return std::make_unique<SketchCodec>(device, std::move(coder), keys);
}

}  // namespace sumwire::gpu
