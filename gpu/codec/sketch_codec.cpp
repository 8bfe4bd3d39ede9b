#include <algorithm>
#include <bit>
#include <utility>

#include "gpu/codec/bloom_index.h"
#include "gpu/codec/compact.h"
#include "gpu/codec/count_sketch.h"
#include "gpu/codec/inactivation.h"
#include "gpu/codec/peeling.h"
#include "gpu/codec/round_codec.h"

namespace sumwire::gpu {

namespace {

// What memory is set aside for.
constexpr std::uint32_t usual_words = chunk_elements + chunk_elements / 2;
constexpr std::uint32_t usual_sketch_words = usual_words + usual_words / 2;
constexpr std::size_t usual_units_words = usual_words + max_unit_size + ValueCoder::slack;

// A number of elements in a byte: those below 16 as they are, larger ones rounded down to five
// significant bits. Larger numbers have larger codes.
constexpr std::uint8_t size_code(std::uint32_t n) {
    if (n < 16) return static_cast<std::uint8_t>(n);
    const auto shift = static_cast<std::uint32_t>(std::bit_width(n)) - 5;
    return static_cast<std::uint8_t>((shift << 4) + (n >> shift));
}

constexpr std::uint32_t size_of_code(std::uint8_t code) {
    if (code < 32) return code;
    return (16u + code % 16u) << (code / 16u - 1u);
}

static_assert(size_code(16) == 16 && size_code(31) == 31 && size_code(32) == 32);
static_assert(size_of_code(size_code(chunk_elements)) == chunk_elements);

// What a rank says of its own non-zeros, in three bytes of the header, of which the largest count.
// So every rank's units are well filled.
struct OwnUnits {
    static constexpr std::uint32_t one = 128;  // of fill
    static constexpr std::uint32_t well_filled = one + one / 8;

    std::uint8_t unit_size = 0;  // the first, largest, of unit_sizes that is well filled
    std::uint8_t fill = 0;       // lanes of those units for each non-zero, in 128ths, less one
    std::uint8_t elements = 0;   // size_code

    static OwnUnits of(std::span<const std::uint32_t> index) {
        const UnitCounts counts = count_units(index);
        const std::uint32_t elements = counts.back();
        if (elements == 0) return {};
        const auto fill = [&](std::size_t i) {
            return (counts[i] * unit_sizes[i] * one + elements - 1) / elements;
        };
        std::size_t size = 0;
        while (fill(size) > well_filled)
            ++size;
        return {static_cast<std::uint8_t>(size), static_cast<std::uint8_t>(fill(size) - one),
                size_code(elements)};
    }
    static OwnUnits read(std::span<const std::byte> header) {
        return {std::to_integer<std::uint8_t>(header[1]), std::to_integer<std::uint8_t>(header[2]),
                std::to_integer<std::uint8_t>(header[3])};
    }
    void write(std::span<std::byte> header) const {
        header[1] = std::byte{unit_size};
        header[2] = std::byte{fill};
        header[3] = std::byte{elements};
    }

    // For so many expected elements, but not fewer than a rank has.
    SketchShape shape(std::uint32_t expected, std::uint64_t seed) const {
        const std::uint32_t wanted = std::max(expected, size_of_code(elements));
        const std::uint32_t lanes = wanted + wanted / one * fill + wanted % one * fill / one;
        UnitCounts counts;
        for (std::size_t i = 0; i < counts.size(); ++i)
            counts[i] = (lanes + unit_sizes[i] - 1) / unit_sizes[i];
        counts.back() = wanted;
        const std::size_t best =
            best_unit_size(counts, std::min<std::size_t>(unit_size, unit_sizes.size() - 1));
        return sketch_shape(unit_sizes[best], counts[best], seed);
    }
};

class SketchCodec final : public RoundCodec {
  public:
    SketchCodec(CodecParts parts, SketchKeys keys)
        : RoundCodec(
              {.device = parts.device,
               .coder = std::move(parts.coder),
               .type = parts.type,
               .words = usual_sketch_words,
               .request_words = usual_words,
               .scratch_words = 2 * usual_units_words + 2 * max_units + blocks_of(chunk_elements)}),
          keys_(keys),
          peeling_(parts.device, max_units, max_rows),
          inactivation_(parts.device, max_units, max_rows),
          own_words_(parts.device, ValueCoder::slack),
          solutions_(parts.device, ValueCoder::slack) {
        std::span<std::uint32_t> rest = scratch();
        const auto take = [&](std::size_t words) {
            const std::span<std::uint32_t> taken = rest.first(words);
            rest = rest.subspan(words);
            return taken;
        };
        own_words_.set_home(take(usual_units_words));
        solutions_.set_home(take(usual_units_words));
        unit_memory_.keys = take(max_units);
        unit_memory_.lanes = take(max_units);
        requested_index_ = take(blocks_of(chunk_elements));
    }

  private:
    enum class Round : std::uint8_t { header, index, index_and_sketch, sketch, requests };

    Progress start() override {
        scan();
        const std::span<std::byte> sent = header(blocks_of(task().count));
        coder().write_header(all_blocks(), sent);
        if (keys_ == SketchKeys::positions && task().expected_union != ChunkTask::unknown_union) {
            round_ = Round::header;
            own_units_ = OwnUnits::of(own_index());
            own_units_.write(sent);
        } else {
            round_ = Round::index;
            bloom_ = {};
            send_index();
        }
        add_message(Combine::max_u8, sent);
        return Progress::exchange;
    }

    Progress step() override {
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

    void send_index() {
        std::ranges::copy(own_index(), index().begin());
        add_message(Combine::bit_or, index());
    }

    void send_bloom() {
        const std::span<std::uint32_t> filter = partial().first(bloom_.words);
        fill_bloom(bloom_, own_index(), filter);
        add_message(Combine::bit_or, filter);
    }

    Progress after_header() {
        const std::span<std::byte> received = header(blocks_of(task().count));
        const OwnUnits all = OwnUnits::read(received);
        OwnUnits{}.write(received);
        const std::uint32_t expected = std::min(task().expected_union, task().count);
        switch (coder().read_header(all_blocks(), received)) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(expected);
            case ValueCoder::Header::usable:
                break;
        }
        if (all.elements < own_units_.elements) return Progress::inconsistent;
        if (all.elements == 0) return finish_empty();
        shape_ = all.shape(expected, task().seed);
        bloom_ = {};
        if (shape_.unit_size == 1) {
            const std::uint32_t wanted = std::max(expected, size_of_code(all.elements));
            bloom_ = bloom_shape(wanted, task().count, task().seed);
            if (bloom_.worthwhile())
                shape_ = all.shape(wanted + false_positives(wanted, task().count), task().seed);
        }
        plain_ = shape_.words() >= task().count;
        if (plain_) bloom_ = {};
        plain_ ? encode_all() : encode_own_nonzeros();
        round_ = Round::index_and_sketch;
        clear_messages();
        bloom_.worthwhile() ? send_bloom() : send_index();
        add_message(Combine::add_i32, sent_);
        return Progress::exchange;
    }

    // No rank has anything.
    Progress finish_empty() {
        std::ranges::fill(index(), 0);
        return finish(solutions_.take(0), 0);
    }

    void encode_all() {
        sent_ = words().take(task().count);
        index_all(task().count, index());
        coder().encode(values(), index(), sent_);
    }

    void encode_own_nonzeros() {
        const std::span<std::uint32_t> own = own_words_.take(count_units(own_index()).back());
        coder().encode(values(), own_index(), own);
        sketch_words(list_units(own_index(), unit_memory()), own);
    }

    // Of the shape's unit size.
    Units unit_memory() const { return {shape_.unit_size, unit_memory_.keys, unit_memory_.lanes}; }

    void sketch_words(const Units& units, std::span<const std::uint32_t> from) {
        sent_ = words().take(shape_.words());
        make_sketch(shape_, units, from, sent_);
    }

    Progress after_index_and_sketch() {
        if (bloom_.worthwhile())
            bloom_candidates(bloom_, partial().first(bloom_.words), task().count, index());
        if (!index_is_possible()) return Progress::inconsistent;
        union_ = count_units(index()).back();
        if (plain_) return finish_plain_positions();
        return begin_peeling(list_units(index(), unit_memory()), union_);
    }

    // `sent_` has a word for each element of the chunk.
    Progress finish_plain_positions() {
        std::uint32_t stray = 0;
        for (std::uint32_t b = 0; b < index().size(); ++b) {
            if (index()[b] == full_block) continue;
            const auto block = sent_.subspan(std::size_t{b} * block_elements);
            const std::size_t size = std::min<std::size_t>(block.size(), block_elements);
            for (std::size_t i = 0; i < size; ++i)
                stray |= block[i] & ((index()[b] >> i & 1) - 1);
        }
        if (stray != 0) return Progress::inconsistent;
        const std::span<std::uint32_t> packed = solutions_.take(union_);
        gather({reinterpret_cast<const float*>(sent_.data()), sent_.size()}, index(),
               reinterpret_cast<float*>(packed.data()));
        return finish(packed, union_);
    }

    Progress after_index() {
        if (!index_is_possible()) return Progress::inconsistent;
        union_ = count_units(index()).back();
        switch (coder().read_header(all_blocks(), header(blocks_of(task().count)))) {
            case ValueCoder::Header::inconsistent:
                return Progress::inconsistent;
            case ValueCoder::Header::not_finite:
                return finish_not_finite(union_);
            case ValueCoder::Header::usable:
                break;
        }
        const std::size_t count = coder().words(index());
        if (count == ValueCoder::no_words) return Progress::inconsistent;
        if (count == 0) return finish(solutions_.take(0), union_);
        own_words_of_union_ = own_words_.take(count);
        coder().encode(values(), index(), own_words_of_union_);
        const UnitCounts counts = count_units(static_cast<std::uint32_t>(count));
        const std::size_t best = best_unit_size(counts);
        shape_ = sketch_shape(unit_sizes[best], counts[best], task().seed);
        // So few words that a sketch that peels takes more than twice their number; or so many as
        // no gradient has.
        plain_ = shape_.words() > 2 * count || shape_.rows() > max_rows;
        if (plain_) {
            sent_ = words().take(count);
            std::ranges::copy(own_words_of_union_, sent_.begin());
        } else {
            sketch_words(list_units(static_cast<std::uint32_t>(count), unit_memory()),
                         own_words_of_union_);
        }
        round_ = Round::sketch;
        clear_messages();
        add_message(Combine::add_i32, sent_);
        return Progress::exchange;
    }

    Progress after_sketch() {
        if (plain_) return finish(sent_, union_);
        const auto count = static_cast<std::uint32_t>(own_words_of_union_.size());
        return begin_peeling(list_units(count, unit_memory()), count);
    }

    Progress begin_peeling(const Units& units, std::uint32_t words) {
        units_ = units;
        word_count_ = words;
        const std::span<std::uint32_t> lanes =
            solutions_.take(std::size_t{units.count()} * units.size);
        peeling_.begin({shape_, units.keys, sent_, lanes});
        if (peeling_.peel() == 0) return finish_peeling();
        requests_ = inactivation_.choose(peeling_);
        return requests_.empty() ? complete({}) : request();
    }

    Progress request() {
        set_stalled();
        round_ == Round::index_and_sketch ? encode_requested() : copy_requested();
        round_ = Round::requests;
        clear_messages();
        add_message(Combine::add_i32, requested_);
        return Progress::exchange;
    }

    // Of the lanes of unit `i`.
    std::uint32_t lanes(std::uint32_t i) const { return units_.size == 1 ? 1 : units_.lanes[i]; }

    std::uint32_t requested_words() const {
        std::uint32_t words = 0;
        for (const std::uint32_t unit : requests_)
            words += static_cast<std::uint32_t>(std::popcount(lanes(unit)));
        return words;
    }

    void encode_requested() {
        const std::span<std::uint32_t> requested_index =
            requested_index_.first(blocks_of(task().count));
        std::ranges::fill(requested_index, 0);
        for (const std::uint32_t unit : requests_) {
            const std::uint32_t position = units_.keys[unit] * units_.size;
            requested_index[position / block_elements] |= lanes(unit) << position % block_elements;
        }
        requested_ = request_words().take(requested_words());
        coder().encode(values(), requested_index, requested_);
    }

    void copy_requested() {
        requested_ = request_words().take(requested_words());
        std::uint32_t* to = requested_.data();
        for (const std::uint32_t unit : requests_) {
            const auto words = static_cast<std::uint32_t>(std::popcount(lanes(unit)));
            to = std::copy_n(own_words_of_union_.data() + std::size_t{unit} * units_.size, words,
                             to);
        }
    }

    Progress after_requests() {
        // Whole units, in memory that nothing needs any more.
        const std::span<std::uint32_t> spread =
            own_words_.take(requests_.size() * std::size_t{units_.size});
        std::ranges::fill(spread, 0);
        std::size_t next = 0;
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            for_each_bit(lanes(requests_[i]), [&](std::uint32_t lane) {
                spread[i * units_.size + lane] = requested_[next++];
            });
        }
        return complete(spread);
    }

    Progress complete(std::span<const std::uint32_t> requested) {
        inactivation_.complete(peeling_, requested);
        return peeling_.peel() == 0 ? finish_peeling() : Progress::inconsistent;
    }

    Progress finish_peeling() {
        const std::span<std::uint32_t> solutions = peeling_.problem().solutions;
        if (!peeling_.consistent() || !pack_lanes(units_, solutions)) return Progress::inconsistent;
        const std::span<std::uint32_t> words = solutions.first(word_count_);
        // What the filter let pass beyond the union, or nearly: a sum may be zero.
        if (bloom_.worthwhile())
            union_ -= static_cast<std::uint32_t>(std::ranges::count(words, 0u));
        return finish(words, union_);
    }

    SketchKeys keys_;
    Peeling peeling_;
    Inactivation inactivation_;
    WordBuffer own_words_;
    WordBuffer solutions_;
    Units unit_memory_;
    std::span<std::uint32_t> requested_index_;

    Round round_ = Round::header;
    OwnUnits own_units_;
    bool plain_ = false;  // the words themselves instead of their sketch
    BloomShape bloom_;
    SketchShape shape_;
    Units units_;
    std::uint32_t union_ = 0;
    std::uint32_t word_count_ = 0;  // that the units hold
    std::span<std::uint32_t> sent_;
    std::span<std::uint32_t> own_words_of_union_;
    std::span<const std::uint32_t> requests_;
    std::span<std::uint32_t> requested_;
};

}  // namespace

std::unique_ptr<ChunkCodec> make_sketch_codec(CodecParts parts, SketchKeys keys) {
    return std::make_unique<SketchCodec>(std::move(parts), keys);
}

}  // namespace sumwire::gpu
