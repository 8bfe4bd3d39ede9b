#include "gpu/codec/round_codec.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "gpu/codec/carve.h"
#include "gpu/codec/float_bits.h"

namespace sumwire::gpu {

namespace {

constexpr std::size_t index_words = blocks_of(chunk_elements);

}  // namespace

RoundCodec::RoundCodec(Device& device, std::unique_ptr<ValueCoder> coder, const Sizes& sizes)
    : coder_(std::move(coder)), words_(device), request_words_(device) {
    const std::size_t header_bytes = coder_->header_bytes(chunk_elements);
    const std::size_t payload_bytes =
        carved_bytes<std::uint32_t>(index_words) + carved_bytes<std::byte>(header_bytes) +
        carved_bytes<std::uint32_t>(sizes.words) + carved_bytes<std::uint32_t>(sizes.request_words);
    const std::size_t own_bytes = carved_bytes<std::uint32_t>(index_words) +
                                  carved_bytes<float>(chunk_elements) +
                                  carved_bytes<std::uint32_t>(sizes.scratch_words);
    memory_ = device.allocate(payload_bytes + own_bytes);
    payload_ = memory_.bytes().first(payload_bytes);

    std::span<std::byte> memory = memory_.bytes();
    index_ = carve<std::uint32_t>(memory, index_words);
    header_ = carve<std::byte>(memory, header_bytes);
    words_.set_home(carve<std::uint32_t>(memory, sizes.words));
    request_words_.set_home(carve<std::uint32_t>(memory, sizes.request_words));
    own_index_ = carve<std::uint32_t>(memory, index_words);
    results_ = carve<float>(memory, chunk_elements);
    scratch_ = carve<std::uint32_t>(memory, sizes.scratch_words);
}

Progress RoundCodec::begin(const ChunkTask& task) {
    task_ = task;
    union_size_ = 0;
    stalled_ = false;
    clear_messages();
    return start();
}

void RoundCodec::mark_own_nonzeros() {
    index_values(values(), coder_->minus_zero(), own_index());
}

bool RoundCodec::index_is_possible() {
    return is_union_of(index(), own_index(), task_.count);
}

void RoundCodec::add_message(Combine combine, std::span<std::byte> bytes) {
    messages_[message_count_++] = {combine, bytes};
}

void RoundCodec::add_message(Combine combine, std::span<std::uint32_t> words) {
    add_message(combine, std::as_writable_bytes(words));
}

Progress RoundCodec::finish(std::span<const std::uint32_t> words, std::uint32_t union_size) {
    const std::span<float> results = results_.first(population(index()));
    if (!coder_->decode(words, index(), task_.reduction, results)) return Progress::inconsistent;
    scatter(results, index(), {task_.values, task_.count});
    union_size_ = union_size;
    return Progress::done;
}

Progress RoundCodec::finish_not_finite(std::uint32_t union_size) {
    std::fill_n(task_.values, task_.count, std::bit_cast<float>(quiet_nan_bits));
    union_size_ = union_size;
    return Progress::done;
}

}  // namespace sumwire::gpu
